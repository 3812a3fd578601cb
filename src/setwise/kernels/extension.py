"""The Lovász extension of a quotient of counts at errors of decisions, from scores and codes, set by set.

The error of a decision is linear in its score: a line (2, 2) holds ``base`` and ``slope`` of the negatives and of the
positives, and an error is ``base + slope * score``. Codes are 1 for positives, 0 for negatives, and -1 for decisions
that do not count.
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

MARGINS = np.array([[1.0, 1.0], [1.0, -1.0]])
"""Margin errors: ``1 + s`` for negatives and ``1 - s`` for positives."""

PROBABILITIES = np.array([[0.0, 1.0], [1.0, -1.0]])
"""Errors of a probability s of being positive: s for negatives and ``1 - s`` for positives."""

GIVEN = np.array([[0.0, 1.0], [0.0, 1.0]])
"""The scores are the errors."""

UNIT = 1 << 16
"""Sets are sorted in groups of about this number of decisions, whose keys stay in the second-level cache."""

NO_KEY = ~np.uint64(0)
"""The mark of a decision without a key."""

LEAST = 0x7FFFFFFE
"""The falling bits of the least error above 0."""


@kernel
def count_codes(codes: Array, offsets: Array) -> Array:
    """Returns the numbers of negatives and of positives of every set, (n, 2) int64; O(total)."""
    require_length(codes, offsets)
    out = np.zeros((len(offsets) - 1, 2), np.int64)
    for i in range(len(offsets) - 1):
        negatives, positives = 0, 0
        for code in codes[offsets[i] : offsets[i + 1]]:
            negatives += code == 0
            positives += code == 1
        out[i, 0], out[i, 1] = negatives, positives
    return out


@kernel
def survey(scores: Array, codes: Array, offsets: Array, low: float, high: float) -> tuple[Array, bool]:
    """Returns the same, and whether all scores that count are in ``[low, high]``, which NaN is not; O(total)."""
    require_length(scores, offsets)
    inside = True
    for i in range(len(offsets) - 1):
        a, b = offsets[i], offsets[i + 1]
        inside &= _inside(scores[a:b], codes[a:b], scores.dtype.type(low), scores.dtype.type(high))
    return count_codes(codes, offsets), inside


@kernel
def _inside(scores: Array, codes: Array, low: Any, high: Any) -> bool:
    inside = True
    for j in range(len(scores)):
        inside &= ((scores[j] >= low) & (scores[j] <= high)) | (codes[j] < 0)
    return inside


def quotient_extension(
    scores: Array, codes: Array, offsets: Array, line: Array, positives: Array, top: Array, bottom: Array, start: Array,
) -> tuple[Array, Array]:  # fmt: skip
    """Returns ``start + sum_j (e_(j))_+ gain_j`` of every set, (n,), and its gradient (total,); O(m log m).

    The errors e are sorted down, and gains are those of ``(t0 + t1 fn + t2 fp) / (b0 + b1 fn + b2 fp)`` with the
    coefficients ``top`` and ``bottom`` (n, 3), which must increase. ``start`` (n,) is the value of no mistake, and
    ``positives`` (n,) the numbers of positives. Only the m decisions whose gain may differ from 0 are sorted. As many
    threads as are available share the sets; the result does not depend on them.
    """
    gradient, values = np.zeros(len(scores), scores.dtype), np.empty(len(start))

    def work(units: Iterator[tuple[int, int]]) -> None:
        keys = np.empty(0, np.uint64)
        for first, last in units:
            part, ends = slice(first, last), offsets[first : last + 1]
            if len(keys) < ends[-1] - ends[0]:
                keys = np.empty(ends[-1] - ends[0], np.uint64)
            starts = np.zeros(last - first + 1, np.int64)
            _pack_errors(scores, codes, ends, line, positives[part], top[part], bottom[part], keys, starts)
            ordered = sort_packed(keys[: starts[-1]], starts)
            values[part] = quotient_values(
                ordered, scores, starts, ends, line, top[part], bottom[part], start[part], gradient
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
def _pack_errors(
    scores: Array, codes: Array, offsets: Array, line: Array, positives: Array, top: Array, bottom: Array,
    keys: Array, starts: Array,
) -> None:  # fmt: skip
    """Writes the keys of the errors above 0 of every set, without those whose gain is 0 for sure; O(total).

    ``starts`` (n+1,) receives the offsets of their segments. Sets whose quotient is always 0 have no keys.
    """
    require_length(scores, offsets)
    require_length(codes, offsets)
    kept, room = 0, np.empty(BLOCK, np.uint64)
    for i in range(len(offsets) - 1):
        a, b = offsets[i], offsets[i + 1]
        starts[i + 1] = kept
        if not top[i].any():
            continue
        # Negatives with a smaller error than all positives gain nothing, so they need no key.
        limit = np.uint32(LEAST)
        if _settles(positives[i], top[i], bottom[i]):
            limit = min(limit, _last_bits(scores[a:b], codes[a:b], line))
        for c in range(a, b, BLOCK):
            d = min(c + BLOCK, b)
            _block_keys(scores[c:d], codes[c:d], line, limit, c - a, room)
            # Close the gaps without a branch: a key that is not kept is overwritten by the next.
            for key in room[: d - c]:
                keys[kept] = key
                kept += key != NO_KEY
        starts[i + 1] = kept


@kernel
def _settles(positives: int, top: Array, bottom: Array) -> bool:
    """Returns whether a quotient stays as it is once all positives are missed, whatever its number of fp > 0."""
    up = (top[0] + top[1] * positives) * bottom[2]
    down = top[2] * (bottom[0] + bottom[1] * positives)
    # Both are equal for Tversky, but they are rounded on different ways.
    return bool(abs(up - down) <= 1e-15 * abs(down))


@kernel
def _last_bits(scores: Array, codes: Array, line: Array) -> Any:
    """Returns the falling bits of the least error of a positive; without positives, of the largest of a negative."""
    kind = scores.dtype.type
    base, slope = kind(line[0, 0]), kind(line[0, 1])
    more_base, more_slope = kind(line[1, 0] - line[0, 0]), kind(line[1, 1] - line[0, 1])
    # Bits are compared, and not floats: this loop compiles to vector instructions.
    last = np.uint32(0)
    for j in range(len(scores)):
        y = kind(codes[j])
        bits = falling_bits((base + y * more_base) + (slope + y * more_slope) * scores[j])
        last = max(last, bits if codes[j] == 1 else np.uint32(0))
    if last > 0:
        return last
    first = np.uint32(0xFFFFFFFF)
    for j in range(len(scores)):
        if codes[j] == 0:
            first = min(first, falling_bits(base + slope * scores[j]))
    return first


@kernel
def _block_keys(scores: Array, codes: Array, line: Array, limit: Any, first: int, keys: Array) -> None:
    """Writes a key for each decision of a block that begins at place ``first`` of its set, or ``NO_KEY``."""
    kind = scores.dtype.type
    base, slope = kind(line[0, 0]), kind(line[0, 1])
    more_base, more_slope = kind(line[1, 0] - line[0, 0]), kind(line[1, 1] - line[0, 1])
    for j in range(len(scores)):
        y = kind(codes[j])
        bits = falling_bits((base + y * more_base) + (slope + y * more_slope) * scores[j])
        bound = np.uint32(LEAST) if codes[j] == 1 else limit
        key = np.uint64(bits) << np.uint64(32) | np.uint64(2 * (first + j) + codes[j])
        keys[j] = key if (bits <= bound) & (codes[j] >= 0) else NO_KEY
