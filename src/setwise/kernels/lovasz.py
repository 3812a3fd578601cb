"""The Lovász extension along a sorted order, and its gradient."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]


def margin_errors(scores: Array, labels: Array) -> tuple[Array, bool]:
    """``u_i = 1 - s_i (2 y_i - 1)`` (LH Eq. 34) in the dtype of the scores, (total,), and whether all are finite."""
    errors = np.empty_like(scores)
    return errors, _margin_errors(scores, labels, errors)


@kernel
def _margin_errors(scores: Array, labels: Array, errors: Array) -> bool:
    one, two = scores.dtype.type(1), scores.dtype.type(2)
    finite = True
    for j in range(len(scores)):
        errors[j] = one - scores[j] * (two * scores.dtype.type(labels[j]) - one)
    for j in range(len(scores)):
        finite &= abs(scores[j]) < np.inf
    return finite


@kernel
def lovasz_bounds(
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
