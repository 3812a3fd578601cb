"""The Lovász extension of a quotient of counts at errors of decisions, from scores and codes, set by set.

The error of a decision is linear in its score: a line (2, 4) holds ``level``, ``base``, ``slope`` and ``wrap`` of the
negatives and of the positives, and an error is ``level + base + slope * score``, and ``wrap`` more where its sign is
minus, with the same level and wrap for both. In float32 errors are sorted without their level, because a sum with it
would round small scores to the same number. Codes are 1 for positives, 0 for negatives, and -1 for decisions that do
not count.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel, require_length
from setwise.kernels.large_sort import SHARED
from setwise.kernels.lovasz import quotient_values
from setwise.kernels.sorting import BLOCK, falling_bits, sort_packed
from setwise.kernels.threads import available, share_units

Array = NDArray[Any]

MARGINS = np.array([[1.0, 0.0, 1.0, 0.0], [1.0, 0.0, -1.0, 0.0]])
"""Margin errors: ``1 + s`` for negatives and ``1 - s`` for positives."""

PROBABILITIES = np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 1.0, -1.0, 0.0]])
"""Errors of a probability s of being positive: s for negatives and ``1 - s`` for positives."""

# A sum with 0 would lose the sign of -0; one with -0 changes nothing.
FOLDED = np.array([[-0.0, -0.0, 1.0, 1.0], [-0.0, -0.0, -1.0, 1.0]])
"""The same errors of a probability that is folded as in :mod:`setwise.kernels.folding`."""

GIVEN = np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
"""The scores are the errors."""

PIECE = 4096
"""So many decisions stay in the first-level cache while several things are counted of them."""

UNIT = 1 << 16
"""Sets are sorted in groups of about this number of decisions, whose keys stay in the second-level cache."""

NO_KEY = ~np.uint64(0)
"""The mark of a decision without a key."""

MINUS_HALF = 0x3F000000
"""The bits of a wrapped error of 1/2 whose sign is minus."""

NO_LIMIT = 0xFFFFFFFE
"""The limit of sets all of whose errors above 0 are sorted."""


@kernel
def _held(scores: Array, line: Array) -> tuple[Any, Any, Any, Any, Any]:
    """Returns base and slope of the errors that keys hold, of negatives and of positives, and what turns their bits.

    Keys hold all of the level in float64, and nothing of it in float32.
    """
    kind = scores.dtype.type
    level = line[0, 0] if scores.itemsize == 8 else -0.0
    # What is wrapped and has the sign minus comes first then.
    turn = np.uint32(0x80000000) if line[0, 3] else np.uint32(0)
    return kind(level + line[0, 1]), kind(line[0, 2]), kind(level + line[1, 1]), kind(line[1, 2]), turn


@kernel
def _error_bits(score: Any, base: Any, slope: Any, turn: Any) -> Any:
    """Returns bits above 0 that fall as the error rises."""
    bits = falling_bits(base + slope * score)
    if turn > 0:
        # That of a wrapped 1 would be 0, which says that a set has no keys.
        bits = max(np.uint32(bits ^ turn), np.uint32(1))
        # A wrapped 1/2 has two signs, but is one error.
        bits = np.uint32(~bits) if bits == MINUS_HALF else bits
    return bits


@kernel
def _least_bits(scores: Array, line: Array) -> Any:
    """Returns the bits of the least error above 0."""
    zero = np.float32(0.0 if scores.itemsize == 8 else 0.0 - line[0, 0])
    return np.uint32((falling_bits(zero) ^ _held(scores, line)[4]) - np.uint32(1))


@kernel
def count_codes(codes: Array, offsets: Array) -> Array:
    """Returns the numbers of negatives and of positives of every set, (n, 2) int64; O(total)."""
    require_length(codes, offsets)
    out = np.zeros((len(offsets) - 1, 2), np.int64)
    for i in range(len(offsets) - 1):
        _count(codes[offsets[i] : offsets[i + 1]], out[i])
    return out


@kernel
def survey(
    scores: Array, codes: Array, offsets: Array, line: Array, low: float, high: float
) -> tuple[Array, Array, bool]:
    """Returns the same, the bits of the last gain (n,), and whether scores are in ``[low, high]``; O(total).

    Negatives with larger bits of their error have an error below those of all positives. Scores that do not count may
    be anything, others not even NaN.
    """
    require_length(scores, offsets)
    require_length(codes, offsets)
    n = len(offsets) - 1
    counts, last, inside = np.zeros((n, 2), np.int64), np.zeros(n, np.uint32), True
    for i in range(n):
        # All that is asked of a block of decisions is read from the first-level cache.
        for a in range(offsets[i], offsets[i + 1], PIECE):
            b = min(a + PIECE, offsets[i + 1])
            inside &= _inside(scores[a:b], codes[a:b], scores.dtype.type(low), scores.dtype.type(high))
            last[i] = max(last[i], _last_bits(scores[a:b], codes[a:b], line))
            _count(codes[a:b], counts[i])
        if counts[i, 1] == 0:
            last[i] = _first_bits(scores[offsets[i] : offsets[i + 1]], codes[offsets[i] : offsets[i + 1]], line)
    return counts, last, inside


@kernel
def _count(codes: Array, counts: Array) -> None:
    negatives, positives = 0, 0
    for code in codes:
        negatives += code == 0
        positives += code == 1
    counts[0] += negatives
    counts[1] += positives


@kernel
def _inside(scores: Array, codes: Array, low: Any, high: Any) -> bool:
    inside = True
    for j in range(len(scores)):
        inside &= ((scores[j] >= low) & (scores[j] <= high)) | (codes[j] < 0)
    return inside


@kernel
def _last_bits(scores: Array, codes: Array, line: Array) -> Any:
    """Returns the falling bits of the least error of a positive, or 0 without positives."""
    _, _, base, slope, turn = _held(scores, line)
    # Bits are compared, and not floats: this loop compiles to vector instructions.
    last = np.uint32(0)
    for j in range(len(scores)):
        bits = _error_bits(scores[j], base, slope, turn)
        last = max(last, bits if codes[j] == 1 else np.uint32(0))
    return last


@kernel
def _first_bits(scores: Array, codes: Array, line: Array) -> Any:
    """Returns the falling bits of the largest error of a negative."""
    base, slope, _, _, turn = _held(scores, line)
    first = np.uint32(0xFFFFFFFF)
    for j in range(len(scores)):
        if codes[j] == 0:
            first = min(first, _error_bits(scores[j], base, slope, turn))
    return first


def quotient_extension(
    scores: Array, codes: Array, offsets: Array, line: Array, limits: Array, top: Array, bottom: Array, start: Array,
) -> tuple[Array, Array]:  # fmt: skip
    """Returns ``start + sum_j (e_(j))_+ gain_j`` of every set, (n,), and its gradient (total,); O(m log m).

    The errors e are sorted down, and gains are those of ``(t0 + t1 fn + t2 fp) / (b0 + b1 fn + b2 fp)`` with the
    coefficients ``top`` and ``bottom`` (n, 3), which must increase. ``start`` (n,) is the value of no mistake, and
    ``limits`` (n,) are those of :func:`limits_of`, or all ``NO_LIMIT``. Only the m decisions within them are sorted.
    As many threads as are available share the sets; the result does not depend on them.
    """
    gradient, values = np.zeros(len(scores), scores.dtype), np.empty(len(start))

    def work(units: Iterator[tuple[int, int]]) -> None:
        keys = np.empty(0, np.uint64)
        for first, last in units:
            part, segments = slice(first, last), offsets[first : last + 1]
            if len(keys) < segments[-1] - segments[0]:
                keys = np.empty(segments[-1] - segments[0], np.uint64)
            starts = np.zeros(last - first + 1, np.int64)
            _pack_errors(scores, codes, segments, line, limits[part], keys, starts)
            ordered = sort_packed(keys[: starts[-1]], starts)
            values[part] = quotient_values(
                ordered, scores, starts, segments, line, top[part], bottom[part], start[part], gradient
            )

    units = _units(offsets)
    if len(scores) < SHARED or len(units) == 1 or available() == 1:
        # A single set is sorted by all threads.
        work(iter(units))
    else:
        share_units(work, units)
    return values, gradient


def _units(offsets: Array) -> list[tuple[int, int]]:
    """Groups of consecutive sets of about ``UNIT`` decisions: the first set, and the one after the last."""
    if offsets[-1] <= UNIT:
        return [(0, len(offsets) - 1)]
    found, first = [], 0
    while first < len(offsets) - 1:
        last = max(int(np.searchsorted(offsets, offsets[first] + UNIT, side="right")) - 1, first + 1)
        found.append((first, last))
        first = last
    return found


@kernel
def limits_of(positives: Array, last: Array, top: Array, bottom: Array) -> Array:
    """Returns the largest bits at which a negative of each set has a key, (n,) uint32; 0 for sets without any key.

    Where a quotient stays as it is once all positives are missed, negatives with a smaller error gain nothing.
    """
    out = np.full(len(positives), NO_LIMIT, np.uint32)
    for i in range(len(positives)):
        up = (top[i, 0] + top[i, 1] * positives[i]) * bottom[i, 2]
        down = top[i, 2] * (bottom[i, 0] + bottom[i, 1] * positives[i])
        # Both are equal for Tversky, but they are rounded on different ways.
        if abs(up - down) <= 1e-15 * abs(down):
            out[i] = min(out[i], last[i])
        if not top[i].any():
            out[i] = 0
    return out


@kernel
def _pack_errors(
    scores: Array, codes: Array, offsets: Array, line: Array, limits: Array, keys: Array, starts: Array
) -> None:
    """Writes the keys of the errors above 0 of every set, of negatives up to its limit; O(total).

    ``starts`` (n+1,) receives the offsets of their segments.
    """
    require_length(scores, offsets)
    require_length(codes, offsets)
    kept, room = 0, np.empty(BLOCK, np.uint64)
    least = _least_bits(scores, line)
    for i in range(len(offsets) - 1):
        a, b = offsets[i], offsets[i + 1]
        if limits[i] > 0:
            for c in range(a, b, BLOCK):
                d = min(c + BLOCK, b)
                _block_keys(scores[c:d], codes[c:d], line, least, min(least, limits[i]), c - a, room)
                # Close the gaps without a branch: a key that is not kept is overwritten by the next.
                for key in room[: d - c]:
                    keys[kept] = key
                    kept += key != NO_KEY
        starts[i + 1] = kept


@kernel
def _block_keys(scores: Array, codes: Array, line: Array, least: Any, limit: Any, first: int, keys: Array) -> None:
    """Writes a key for each decision of a block that begins at place ``first`` of its set, or ``NO_KEY``."""
    negative_base, negative_slope, positive_base, positive_slope, turn = _held(scores, line)
    for j in range(len(scores)):
        positive = codes[j] == 1
        base, slope = positive_base if positive else negative_base, positive_slope if positive else negative_slope
        bits = _error_bits(scores[j], base, slope, turn)
        bound = least if positive else limit
        key = np.uint64(bits) << np.uint64(32) | np.uint64(2 * (first + j) + codes[j])
        keys[j] = key if (bits <= bound) & (codes[j] >= 0) else NO_KEY
