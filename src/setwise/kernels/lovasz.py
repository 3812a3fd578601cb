"""The Lovász hinge along sorted margin errors, and its gradient with respect to the scores (LH 4.2)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.counts import consecutive_gains
from setwise.kernels.jit import kernel, plain_first, require_length
from setwise.kernels.sorting import BLOCK, block_end, order_runs

Array = NDArray[Any]


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


@plain_first(_plain_quotient_values)
@kernel
def quotient_values(
    keys: Array, scores: Array, starts: Array, offsets: Array, line: Array,
    top: Array, bottom: Array, start: Array, gradient: Array,
) -> Array:  # fmt: skip
    """Returns ``start + sum_j e_(j) gain_j`` of a quotient of counts for every set, (n,), from sorted keys.

    The quotient is ``(t0 + t1 fn + t2 fp) / (b0 + b1 fn + b2 fp)``, and the errors are those of the ``line`` (2, 4) of
    :mod:`setwise.kernels.extension`. This is :func:`lovasz_values` in one pass of O(m)
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
