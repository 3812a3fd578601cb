"""The Lovász extension along a sorted order, and its gradient."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.counts import quotient_steps
from setwise.kernels.jit import kernel
from setwise.kernels.sorting import BLOCK, ERRORS, block_end, order_block

Array = NDArray[Any]


@kernel
def modular_hinge(scores: Array, labels: Array, offsets: Array, costs: Array, gradient: Array) -> Array:
    """``sum_i costs_i (u_i)_+`` of every set, (n,), the extension of a sum of costs; adds its gradient. O(total)."""
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
    errors: Array, gains: Array, items: Array, labels: Array, starts: Array, start: Array, gradient: Array
) -> Array:
    """Values ``(start_i + sum_j u_(j) gain_j)_+`` of each set, (n,) float64; O(m). LH Eq. 33 and 35.

    ``gradient`` (total,), all 0, receives ``-gain_j`` for positive and ``+gain_j`` for negative decisions of the sets
    whose value is above 0 (a flip of sign s_i moves ``u_i = 1 - s_i (2 y_i - 1)``).
    """
    n = len(starts) - 1
    values = np.zeros(n, np.float64)
    for i in range(n):
        a, b = starts[i], starts[i + 1]
        t = start[i] + _inner(errors[a:b], gains[a:b])
        if t > 0.0:
            values[i] = t
            _scatter(gains[a:b], items[a:b], labels[a:b], gradient)
    return values


@kernel
def _scatter(gains: Array, items: Array, labels: Array, gradient: Array) -> None:
    for j in range(len(gains)):
        gradient[items[j] & 0x7FFFFFFF] = gains[j] * (1.0 - 2.0 * labels[j])


@kernel
def _inner(a: Array, b: Array) -> float:
    """``<a, b>`` in float64; four running sums, for one would wait for its own additions."""
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


@kernel
def quotient_hinge(
    keys: Array, scores: Array, starts: Array, offsets: Array,
    top: Array, bottom: Array, start: Array, gradient: Array,
) -> Array:  # fmt: skip
    """The same for the quotient ``(t0 + t1 fn + t2 fp) / (b0 + b1 fn + b2 fp)``, straight from sorted keys; O(m).

    One pass without arrays in between: keys hold place, label and float32 error of each decision. Keys of float64
    ``scores`` (total,) are put in exact order on the way. ``top``, ``bottom`` (n, 3) as in
    :func:`setwise.kernels.counts.quotient_gains`. For increasing losses, whose value can not fall below 0.
    """
    n = len(starts) - 1
    values = np.zeros(n, np.float64)
    bits, gains, labels = np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.float64), np.empty(BLOCK, np.float64)
    falls = np.empty(BLOCK, np.float64)
    for i in range(n):
        total, misses, first = start[i], 0, starts[i]
        while first < starts[i + 1]:
            last = block_end(keys, first, starts[i + 1])
            m, block = last - first, keys[first:last]
            if m > len(gains):
                bits, falls = np.empty(m, np.uint32), np.empty(m, np.float64)
                gains, labels = np.empty(m, np.float64), np.empty(m, np.float64)
            if scores.itemsize == 8:
                order_block(block, scores, offsets[i], ERRORS, falls)
            else:
                _decode_errors(block, bits, falls)
            misses = _quotient_block(block, first - starts[i], misses, top[i], bottom[i], start[i], labels, gains)
            total -= _inner(falls[:m], gains[:m])
            for j in range(m):
                place = np.int64((block[j] & np.uint64(0xFFFFFFFF)) >> np.uint64(1))
                gradient[offsets[i] + place] = gains[j] * (1.0 - 2.0 * labels[j])
            first = last
        values[i] = total
    return values


@kernel
def _quotient_block(
    keys: Array, before: int, misses: int, top: Array, bottom: Array, origin: float, labels: Array, gains: Array
) -> int:
    """Gains of the next decisions in order, after ``before`` mistakes of which ``misses`` are positives."""
    for j in range(len(keys)):
        label = int(keys[j] & np.uint64(1))
        labels[j] = label
        gains[j] = misses
        misses += label
    quotient_steps(before, top, bottom, origin, labels[: len(keys)], gains[: len(keys)])
    return misses


@kernel
def _decode_errors(keys: Array, bits: Array, falls: Array) -> None:
    """Minus the float32 errors of the keys."""
    values = bits.view(np.float32)
    for j in range(len(keys)):
        falling = np.uint32(keys[j] >> np.uint64(32))
        negative = np.uint32(np.int32(falling) >> np.int32(31))
        bits[j] = np.uint32(falling ^ np.uint32(~negative & np.uint32(0x7FFFFFFF)))
    for j in range(len(keys)):
        falls[j] = -values[j]
