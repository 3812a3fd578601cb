"""The Lovász hinge and the Lovász extension along sorted errors, with their gradients (LH 4.2).

Of a quotient of counts the extension is computed from scores and codes, set by set.

The error of a decision is linear in its score: a line (2, 4) holds ``level``, ``base``, ``slope`` and ``wrap`` of the
negatives and of the positives, and an error is ``level + base + slope * score``, and ``wrap`` more where its sign is
minus, with the same level and wrap for both. In float32 errors are sorted without their level, because a sum with it
would round small scores to the same number. Codes are 1 for positives, 0 for negatives, and -1 for decisions that do
not count.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from setwise.kernels.counts import consecutive_gains
from setwise.kernels.jit import Array, interpreted_first, kernel, plain_first, source
from setwise.kernels.segments import owners_of, plain_count_true, plain_require_length, require_length
from setwise.kernels.sorting import BLOCK, SHARED, block_end, falling_bits, order_runs, plain_falling_bits, sort_packed
from setwise.kernels.threads import available, share_units


def _plain_modular_hinge(scores: Array, labels: Array, offsets: Array, costs: Array, gradient: Array) -> Array:
    for each in (scores, labels, costs):
        plain_require_length(each, offsets)
    a, b = offsets[0], offsets[-1]
    sign = 2.0 * labels[a:b] - 1.0
    errors = 1.0 - scores[a:b] * sign
    hits = np.flatnonzero(errors > 0.0)
    gradient[a + hits] -= costs[a + hits] * sign[hits]
    return np.bincount(owners_of(offsets)[hits], costs[a + hits] * errors[hits], len(offsets) - 1).astype(np.float64)


@plain_first(_plain_modular_hinge)
@kernel
def modular_hinge(scores: Array, labels: Array, offsets: Array, costs: Array, gradient: Array) -> Array:
    """Returns ``sum_i costs_i (u_i)_+`` of every set, (n,), with ``u_i = 1 - s_i (2 y_i - 1)``; O(total).

    This is the Lovász hinge of a sum of costs (LH Prop. 7). Its gradient is added to ``gradient`` (total,).
    """
    require_length(scores, offsets)
    require_length(labels, offsets)
    require_length(costs, offsets)
    values = np.zeros(len(offsets) - 1, np.float64)
    for i in range(len(offsets) - 1):
        total = 0.0
        for j in range(offsets[i], offsets[i + 1]):
            sign = 2.0 * labels[j] - 1.0
            error = 1.0 - scores[j] * sign
            if error > 0.0:
                total += costs[j] * error
                gradient[j] -= costs[j] * sign
        values[i] = total
    return values


@kernel
def lovasz_values(
    errors: Array, gains: Array, items: Array, labels: Array, starts: Array, at_empty: Array, gradient: Array
) -> Array:
    """Returns ``(l_i(none) + sum_j u_(j) gain_j)_+`` of every set, (n,) float64; O(m). LH Eq. 33 and 35.

    ``at_empty`` (n,) is the loss without mistakes, ``l_i(none)``. ``gradient`` (total,) must be all 0 on entry; in the
    sets whose value is above 0 it receives ``-gain_j`` for positive and ``+gain_j`` for negative decisions, the
    derivative of ``u_j = 1 - s_j (2 y_j - 1)`` times the gain.
    """
    n = len(starts) - 1
    values = np.zeros(n, np.float64)
    for i in range(n):
        a, b = starts[i], starts[i + 1]
        value = at_empty[i] + _inner(errors[a:b], gains[a:b])
        # Where the sum is clipped at 0, a subgradient is 0 (LH Definition 6).
        if value > 0.0:
            values[i] = value
            _scatter(gains[a:b], items[a:b], labels[a:b], gradient)
    return values


@kernel
def _scatter(gains: Array, items: Array, labels: Array, gradient: Array) -> None:
    """Writes the gain of each decision, with the sign of its class, to its place in the gradient."""
    for j in range(len(gains)):
        # The mask tells the compiler that no place is negative, so it leaves out the test for places from the end.
        gradient[items[j] & 0x7FFFFFFF] = gains[j] * (1.0 - 2.0 * labels[j])


@kernel
def _inner(a: Array, b: Array) -> float:
    """Returns ``<a, b>`` in float64."""
    # There are four running sums, because each addition to a single one would wait for the last.
    t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
    m = len(a) // 4 * 4
    for j in range(0, m, 4):
        t0 += a[j] * b[j]
        t1 += a[j + 1] * b[j + 1]
        t2 += a[j + 2] * b[j + 2]
        t3 += a[j + 3] * b[j + 3]
    for j in range(m, len(a)):
        t0 += a[j] * b[j]
    return (t0 + t1) + (t2 + t3)


def _plain_quotient_values(
    keys: Array, scores: Array, starts: Array, offsets: Array, line: Array,
    top: Array, bottom: Array, start: Array, gradient: Array,
) -> Array:  # fmt: skip
    values = np.zeros(len(starts) - 1)
    for i, (a, b) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        values[i] = start[i]
        upper = keys[a:b] >> np.uint64(32)
        negative_errors = _plain_negative_errors(keys[a:b], scores, offsets[i], line)
        if ((negative_errors[1:] < negative_errors[:-1]) & (upper[1:] == upper[:-1])).any() and scores.itemsize == 8:
            order = np.lexsort((negative_errors, upper))
            keys[a:b], negative_errors = keys[a:b][order], negative_errors[order]
        low = keys[a:b] & np.uint64(0xFFFFFFFF)
        labels, places = (low & np.uint64(1)).astype(np.float64), offsets[i] + (low >> np.uint64(1)).astype(np.int64)
        gains = _plain_gains(labels, top[i], bottom[i], start[i])
        gradient[places] = gains * (line[0, 2] + (line[1, 2] - line[0, 2]) * labels)
        # Blocks end where the upper halves change: no run of equal ones is cut.
        ends = np.append(np.flatnonzero(upper[1:] != upper[:-1]) + 1, b - a)
        first = 0
        while first < b - a:
            last = ends[np.searchsorted(ends, min(first + BLOCK, b - a))]
            values[i] -= _plain_inner(negative_errors[first:last], gains[first:last])
            first = last
    return values


def _plain_inner(a: Array, b: Array) -> float:
    m = len(a) // 4 * 4
    products = np.append(0.0, a * b)
    t = [np.cumsum(np.append(0.0, products[1 + j : 1 + m : 4]))[-1] for j in range(4)]
    t[0] = np.cumsum(np.append(t[0], products[1 + m :]))[-1]
    return float((t[0] + t[1]) + (t[2] + t[3]))


def _plain_negative_errors(keys: Array, scores: Array, first: int, line: Array) -> Array:
    """Minus the errors of the decisions of the keys, (m,) float64."""
    if scores.itemsize == 8:
        low = keys & np.uint64(0xFFFFFFFF)
        own = line[(low & np.uint64(1)).astype(np.int64)].T
        error = (own[0] + own[1]) + own[2] * scores[first + (low >> np.uint64(1)).astype(np.int64)]
        return -(error + own[3] * (np.copysign(1.0, error) < 0.0))
    falling = (keys >> np.uint64(32)).astype(np.uint32) ^ np.uint32(0x80000000 if line[0, 3] else 0)
    bits = np.where(falling >> np.uint32(31), falling, ~falling & np.uint32(0x7FFFFFFF))
    wrap = np.where(bits >> np.uint32(31), line[0, 3], 0.0)
    return -(line[0, 0] + bits.view(np.float32).astype(np.float64) + wrap)


def _plain_gains(labels: Array, top: Array, bottom: Array, origin: float) -> Array:
    """What :func:`setwise.kernels.counts.consecutive_gains` writes for all mistakes of a set, (m,)."""
    (t0, t1, t2), (b0, b1, b2), m = top, bottom, len(labels)
    fn = np.cumsum(labels) - labels
    fp = np.arange(m) - fn
    t, b = t2 + labels * (t1 - t2), b2 + labels * (b1 - b2)
    n, d = t0 + t1 * fn + t2 * fp, b0 + b1 * fn + b2 * fp
    out: Array = (t * d - b * n) / (d * (d + b))
    if m and b0 == 0.0:
        out[0] = ((t0 + t1) / (b0 + b1) if labels[0] else (t0 + t2) / (b0 + b2)) - origin
    return out


@plain_first(_plain_quotient_values, large=1 << 14, counted=2)
@kernel
def quotient_values(
    keys: Array, scores: Array, starts: Array, offsets: Array, line: Array,
    top: Array, bottom: Array, start: Array, gradient: Array,
) -> Array:  # fmt: skip
    """Returns ``start + sum_j e_(j) gain_j`` of a quotient of counts for every set, (n,), from sorted keys.

    The quotient is ``(t0 + t1 fn + t2 fp) / (b0 + b1 fn + b2 fp)``, and the errors are those of the ``line`` (2, 4) of
    :mod:`setwise.kernels.lovasz`. This is :func:`lovasz_values` in one pass of O(m)
    without arrays in between: keys hold the place and the label of each decision, and its float32 error without the
    level. Keys of float64 ``scores`` hold the float32 of the whole error, and are put in exact order on the way.
    ``top`` and ``bottom`` (n, 3) are as in :func:`setwise.kernels.counts.quotient_gains`. The loss must be increasing,
    so that the value can not fall below 0.
    """
    n = len(starts) - 1
    values = np.zeros(n, np.float64)
    bits, gains, labels = np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.float64), np.empty(BLOCK, np.float64)
    negative_errors = np.empty(BLOCK, np.float64)
    slope, more_slope = line[0, 2], line[1, 2] - line[0, 2]
    for i in range(n):
        value, misses, first = start[i], np.int64(0), starts[i]
        while first < starts[i + 1]:
            last = block_end(keys, first, starts[i + 1])
            m, block = last - first, keys[first:last]
            # A run of equal keys is never cut, so a block may be longer than usual.
            if m > len(gains):
                bits, negative_errors = np.empty(m, np.uint32), np.empty(m, np.float64)
                gains, labels = np.empty(m, np.float64), np.empty(m, np.float64)
            if scores.itemsize == 8:
                _read_errors(block, scores, offsets[i], line, negative_errors)
                order_runs(block, negative_errors)
            else:
                _decode_errors(block, line, bits, negative_errors)
            misses = _quotient_block(block, first - starts[i], misses, top[i], bottom[i], start[i], labels, gains)
            value -= _inner(negative_errors[:m], gains[:m])
            # The low half of a key is twice the place of the decision in its set, plus its label.
            for j in range(m):
                place = np.int64((block[j] & np.uint64(0xFFFFFFFF)) >> np.uint64(1))
                gradient[offsets[i] + place] = gains[j] * (slope + more_slope * labels[j])
            first = last
        values[i] = value
    return values


@kernel
def _read_errors(keys: Array, scores: Array, first: int, line: Array, negative_errors: Array) -> None:
    """Writes minus the float64 errors of the decisions of the keys, whose places begin at ``first``."""
    for j in range(len(keys)):
        low = keys[j] & np.uint64(0xFFFFFFFF)
        label = np.int64(low & np.uint64(1))
        s = scores[first + np.int64(low >> np.uint64(1))]
        error = (line[label, 0] + line[label, 1]) + line[label, 2] * s
        negative_errors[j] = -(error + line[label, 3] * (np.copysign(1.0, error) < 0.0))


@kernel
def _quotient_block(
    keys: Array, before: int, misses: int, top: Array, bottom: Array, origin: float, labels: Array, gains: Array
) -> int:
    """Writes the gains of a block of mistakes, after ``before`` others of which ``misses`` are positives.

    Returns the number of positives up to the end of the block.
    """
    for j in range(len(keys)):
        label = int(keys[j] & np.uint64(1))
        labels[j] = label
        gains[j] = misses
        misses += label
    consecutive_gains(before, top, bottom, origin, labels[: len(keys)], gains[: len(keys)])
    return misses


@kernel
def _decode_errors(keys: Array, line: Array, bits: Array, negative_errors: Array) -> None:
    """Writes minus the errors, whose float32 without the level are in the upper halves of the keys."""
    values, level, wrap = bits.view(np.float32), line[0, 0], line[0, 3]
    turn = np.uint32(0x80000000) if wrap else np.uint32(0)
    for j in range(len(keys)):
        falling = np.uint32(keys[j] >> np.uint64(32)) ^ turn
        negative = np.uint32(np.int32(falling) >> np.int32(31))
        bits[j] = np.uint32(falling ^ np.uint32(~negative & np.uint32(0x7FFFFFFF)))
    # The float32 are read through a view, in a loop of its own: both loops compile to vector instructions.
    for j in range(len(keys)):
        negative_errors[j] = -(level + np.float64(values[j]) + (wrap if bits[j] >> np.uint32(31) else 0.0))


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

NO_KEY = np.uint32(0xFFFFFFFF)
"""What is written in place of the bits of decisions without a key."""

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


def _plain_error_bits(scores: Array, line: Array, positive: Array | bool) -> Array:
    """The bits of :func:`_error_bits` of each score, (m,) uint32."""
    negative_base, negative_slope, positive_base, positive_slope, turn = source(_held)(scores, line)
    base, slope = np.where(positive, positive_base, negative_base), np.where(positive, positive_slope, negative_slope)
    bits = plain_falling_bits(base + slope * scores)
    if turn > 0:
        bits = np.maximum(bits ^ turn, np.uint32(1))
        bits = np.where(bits == np.uint32(MINUS_HALF), ~bits, bits)
    return bits


def _plain_least_bits(scores: Array, line: Array) -> Any:
    """The bits of :func:`_least_bits`."""
    zero = np.array([0.0 if scores.itemsize == 8 else 0.0 - line[0, 0]])
    return (plain_falling_bits(zero)[0] ^ source(_held)(scores, line)[4]) - np.uint32(1)


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
        for c in range(offsets[i], offsets[i + 1], PIECE):
            negatives, positives = _count(codes[c : min(c + PIECE, offsets[i + 1])])
            out[i, 0] += negatives
            out[i, 1] += positives
    return out


def _plain_survey(scores: Array, codes: Array, offsets: Array, line: Array) -> tuple[Array, Array]:
    plain_require_length(scores, offsets)
    counts = np.zeros((3, len(offsets) - 1))
    counts[:2] = [plain_count_true(codes == code, offsets) for code in (0, 1)]
    counts[2] = np.where(counts[0] + counts[1] == 0, 1.0, counts[0])
    least, last = _plain_least_bits(scores, line), np.zeros(counts.shape[1], np.uint32)
    for i, (a, b) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        if counts[1, i] == 0:
            bits = _plain_error_bits(scores[a:b], line, False)[codes[a:b] == 0]
            last[i] = bits.min(initial=NO_KEY)
        for c in range(a, b if counts[1, i] else a, PIECE):
            if last[i] <= least:
                d = min(c + PIECE, b)
                bits = _plain_error_bits(scores[c:d], line, True)[codes[c:d] == 1]
                last[i] = bits.max(initial=last[i])
    return counts, last


@plain_first(_plain_survey)
@kernel
def survey(scores: Array, codes: Array, offsets: Array, line: Array) -> tuple[Array, Array]:
    """Returns counts of every set, (3, n) float64, and the bits of its last gain, (n,) uint32; O(total).

    The counts are the numbers of negatives and of positives, and of negatives once more, with 1 for sets in which
    nothing counts: a loss need not be defined for those. Negatives with larger bits of their error have an error below
    those of all positives. Once a positive has no error above 0, others are not looked at, for nothing beyond it has a
    key.
    """
    require_length(scores, offsets)
    require_length(codes, offsets)
    n, least = len(offsets) - 1, _least_bits(scores, line)
    counts, last = np.zeros((3, n)), np.zeros(n, np.uint32)
    for i in range(n):
        a, b = offsets[i], offsets[i + 1]
        for c in range(a, b, PIECE):
            d = min(c + PIECE, b)
            negatives, positives = _count(codes[c:d])
            counts[0, i] += negatives
            counts[1, i] += positives
            if last[i] <= least:
                last[i] = max(last[i], _last_bits(scores[c:d], codes[c:d], line))
        if counts[1, i] == 0:
            last[i] = _first_bits(scores[a:b], codes[a:b], line)
        counts[2, i] = 1.0 if counts[0, i] + counts[1, i] == 0 else counts[0, i]
    return counts, last


@kernel
def _count(codes: Array) -> tuple[Any, Any]:
    """Returns the numbers of negatives and of positives of a piece."""
    # Numbers of 32 bits are added faster than larger ones.
    negatives, positives = np.int32(0), np.int32(0)
    for code in codes:
        negatives = np.int32(negatives + np.int32(code == 0))
        positives = np.int32(positives + np.int32(code == 1))
    return negatives, positives


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
    low: float = -np.inf, high: float = np.inf,
) -> tuple[Array, Array, bool]:  # fmt: skip
    """Returns ``start + sum_j (e_(j))_+ gain_j`` of every set, (n,), and its gradient (total,); O(m log m).

    The errors e are sorted down, and gains are those of ``(t0 + t1 fn + t2 fp) / (b0 + b1 fn + b2 fp)`` with the
    coefficients ``top`` and ``bottom`` (n, 3), which must increase. ``start`` (n,) is the value of no mistake, and
    ``limits`` (n,) are those of :func:`limits_of`, or all ``NO_LIMIT``. Only the m decisions within them are sorted.
    As many threads as are available share the sets; the result does not depend on them.

    The last result is whether all scores that count are finite and in ``[low, high]``; the others are for such scores.
    """
    gradient, units = np.zeros(len(scores), scores.dtype), _units(offsets)
    if len(units) == 1:
        # A single set is sorted by all threads.
        keys = np.empty(len(scores), np.uint64)
        found = _of_unit(scores, codes, offsets, line, limits, top, bottom, start, low, high, keys, gradient)
        return found[0], gradient, found[1]
    values, proper = np.empty(len(start)), []

    def work(units: Iterator[tuple[int, int]]) -> None:
        keys = np.empty(0, np.uint64)
        for first, last in units:
            part, segments = slice(first, last), offsets[first : last + 1]
            if len(keys) < segments[-1] - segments[0]:
                keys = np.empty(segments[-1] - segments[0], np.uint64)
            given = limits[part], top[part], bottom[part], start[part]
            values[part], fit = _of_unit(scores, codes, segments, line, *given, low, high, keys, gradient)
            proper.append(fit)

    if len(scores) < SHARED or available() == 1:
        work(iter(units))
    else:
        share_units(work, units)
    return values, gradient, all(proper)


def _of_unit(
    scores: Array, codes: Array, offsets: Array, line: Array, limits: Array, top: Array, bottom: Array, start: Array,
    low: float, high: float, keys: Array, gradient: Array,
) -> tuple[Array, bool]:  # fmt: skip
    """Values of a group of sets, and whether their scores are proper; writes to the ``gradient`` of all sets."""
    starts = np.zeros(len(offsets), np.int64)
    proper = _pack_errors(scores, codes, offsets, line, limits, low, high, keys, starts)
    ordered = sort_packed(keys[: starts[-1]], starts)
    return quotient_values(ordered, scores, starts, offsets, line, top, bottom, start, gradient), proper


def _units(offsets: Array) -> list[tuple[int, int]]:
    """Groups of consecutive sets of about ``UNIT`` decisions: the first set, and the one after the last."""
    if len(offsets) == 2 or offsets[-1] <= UNIT:
        return [(0, len(offsets) - 1)]
    found, first = [], 0
    while first < len(offsets) - 1:
        last = max(int(np.searchsorted(offsets, offsets[first] + UNIT, side="right")) - 1, first + 1)
        found.append((first, last))
        first = last
    return found


@interpreted_first
@kernel
def limits_of(counts: Array, last: Array, only_present: bool, top: Array, bottom: Array, start: Array) -> Array:
    """Returns the largest bits at which a negative of each set has a key, (n,) uint32; 0 for sets without any key.

    Where a quotient stays as it is once all positives are missed, negatives with a smaller error gain nothing. Sets in
    which nothing counts, or without positives if ``only_present``, have no key, and their ``start`` becomes 0.
    """
    out = np.full(len(start), NO_LIMIT, np.uint32)
    for i in range(len(start)):
        negatives, positives = counts[0, i], counts[1, i]
        up = (top[i, 0] + top[i, 1] * positives) * bottom[i, 2]
        down = top[i, 2] * (bottom[i, 0] + bottom[i, 1] * positives)
        # Both are equal for Tversky, but they are rounded on different ways.
        if abs(up - down) <= 1e-15 * abs(down):
            out[i] = min(out[i], last[i])
        left_out = positives == 0 and (only_present or negatives == 0)
        if left_out:
            start[i] = 0.0
        if left_out or not top[i].any():
            out[i] = 0
    return out


def _plain_pack_errors(
    scores: Array, codes: Array, offsets: Array, line: Array, limits: Array, low: float, high: float,
    keys: Array, starts: Array,
) -> bool:  # fmt: skip
    plain_require_length(scores, offsets)
    plain_require_length(codes, offsets)
    kind, most, owners = scores.dtype.type, np.finfo(scores.dtype).max, owners_of(offsets)
    inside, places = slice(offsets[0], offsets[-1]), np.arange(offsets[0], offsets[-1]) - offsets[owners]
    scores, codes = scores[inside], codes[inside]
    proper = (scores >= kind(max(low, -most))) & (scores <= kind(min(high, most)))
    least, positive = _plain_least_bits(scores, line), codes == 1
    bits, limit = _plain_error_bits(scores, line, positive), np.minimum(least, limits)[owners]
    kept = (bits <= np.where(positive, least, limit)) & (codes >= 0) & (limit > 0)
    found = (bits.astype(np.uint64) << np.uint64(32) | (2 * places + codes).astype(np.uint64))[kept]
    keys[: len(found)] = found
    starts[1:] = np.cumsum(np.bincount(owners[kept], minlength=len(offsets) - 1))
    return bool((proper | (codes < 0)).all())


@plain_first(_plain_pack_errors)
@kernel
def _pack_errors(
    scores: Array, codes: Array, offsets: Array, line: Array, limits: Array, low: float, high: float,
    keys: Array, starts: Array,
) -> bool:  # fmt: skip
    """Writes the keys of the errors above 0 of every set, of negatives up to its limit; O(total).

    ``starts`` (n+1,) receives the offsets of their segments. Returns whether scores are finite and in ``[low, high]``;
    those that do not count may be anything, others not even NaN.
    """
    require_length(scores, offsets)
    require_length(codes, offsets)
    kind, least, proper = scores.dtype.type, _least_bits(scores, line), True
    most = np.finfo(kind).max
    lowest, highest = kind(max(low, -most)), kind(min(high, most))
    kept, bits, places = 0, np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.uint32)
    for i in range(len(offsets) - 1):
        a, b, limit = offsets[i], offsets[i + 1], min(least, limits[i])
        for c in range(a, b, BLOCK):
            d = min(c + BLOCK, b)
            proper &= _inside(scores[c:d], codes[c:d], lowest, highest)
            if limit > 0:
                _block_bits(scores[c:d], codes[c:d], line, least, limit, bits)
                kept += _write_keys(bits[: d - c], codes[c:d], c - a, places, keys[kept:])
        starts[i + 1] = kept
    return proper


@kernel
def _inside(scores: Array, codes: Array, low: Any, high: Any) -> bool:
    """Returns whether the scores of a block that count are in ``[low, high]``."""
    odd = np.int32(0)
    for j in range(len(scores)):
        inside = np.int32(scores[j] >= low) & np.int32(scores[j] <= high)
        odd = np.int32(odd + np.int32(np.int32(codes[j] >= 0) > inside))
    return bool(odd == 0)


@kernel
def _block_bits(scores: Array, codes: Array, line: Array, least: Any, limit: Any, bits: Array) -> None:
    """Writes the bits of the error of each decision of a block, or ``NO_KEY``."""
    negative_base, negative_slope, positive_base, positive_slope, turn = _held(scores, line)
    for j in range(len(scores)):
        positive = codes[j] == 1
        base, slope = positive_base if positive else negative_base, positive_slope if positive else negative_slope
        found, bound = _error_bits(scores[j], base, slope, turn), least if positive else limit
        bits[j] = found if (found <= bound) & (codes[j] >= 0) else NO_KEY


@kernel
def _write_keys(bits: Array, codes: Array, first: int, places: Array, keys: Array) -> int:
    """Writes the keys of a block that begins at place ``first`` of its set, and returns their number."""
    # An index without a sign is not tested for places from the end.
    kept = np.uint32(0)
    for j in range(len(bits)):
        # Close the gaps without a branch: a place that is not kept is overwritten by the next.
        places[kept] = j
        kept += np.uint32(bits[j] != NO_KEY)
    for k in range(kept):
        j = places[k]
        keys[k] = np.uint64(bits[j]) << np.uint64(32) | np.uint64(2 * (first + j) + codes[j])
    return int(kept)
