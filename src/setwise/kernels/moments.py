"""Bounds of expected quotients of counts, by means and variances."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]


@kernel
def expected_quotient(
    size: float, hit: float, spread: float, miss: float, rest: float, top: Array, bottom: Array
) -> Any:
    """Returns nearly ``E[A / D]`` for ``size`` predicted decisions; see :func:`bounds_by_moments`.

    tp has the mean ``hit`` and the variance ``spread``, fn has ``miss`` and ``rest``. With A and D linear in tp and fn,
    and D = d0 where both are 0,

        A / D = a0 / d0 + (a1 - d1 a0 / d0) tp / D + (a2 - d2 a0 / d0) fn / D.

    ``E[tp / D]`` is the sum of the ``q_i E[1 / D | y_i = 1]``, and of the last factor the mean over i is taken, by the
    mean m and the variance of D, as ``1 / m + Var / m^3``. So it is good for few expected positives too.
    """
    # With P = tp + fn and fp = size - tp.
    a0, d0 = top[0] + top[3] * size, bottom[0] + bottom[3] * size
    a1, a2 = top[1] - top[3], top[1] + top[2]
    d1, d2 = bottom[1] - bottom[3], bottom[1] + bottom[2]
    mean, var = d0 + d1 * hit + d2 * miss, d1 * d1 * spread + d2 * d2 * rest
    if d0 <= 0.0:
        # Without a constant both means are relative to that of D.
        if mean <= 0.0:
            return 0.0
        a = a0 + a1 * hit + a2 * miss
        return (a + (a * var / mean - (a1 * d1 * spread + a2 * d2 * rest)) / mean) / mean
    # The mean over the positives of the chance that a decision is one.
    q1 = 1.0 - spread / hit if hit > 0.0 else 0.0
    q2 = 1.0 - rest / miss if miss > 0.0 else 0.0
    m1, m2 = mean + d1 * (1.0 - q1), mean + d2 * (1.0 - q2)
    v1, v2 = max(var - d1 * d1 * q1 * (1.0 - q1), 0.0), max(var - d2 * d2 * q2 * (1.0 - q2), 0.0)
    found = a0 / d0
    if m1 > 0.0:
        found += (a1 - d1 * a0 / d0) * hit * (1.0 + v1 / m1 / m1) / m1
    if m2 > 0.0:
        found += (a2 - d2 * a0 / d0) * miss * (1.0 + v2 / m2 / m2) / m2
    return found


@kernel
def bounds_by_moments(
    q: Array,
    top: Array,
    bottom: Array,
    none: float,
    without: Array,
    largest: float,
    rounding: float,
    lower: Array,
    upper: Array,
    guess: Array,
) -> None:
    """Writes bounds of the expected losses of predicting the first k = 0..p, and guesses between them, (p + 1,); O(p).

    The loss is ``A / D``, linear functions of 1, P, fn and fp with the coefficients ``top`` and ``bottom`` (4,). With m
    the mean of D,

        0 <= E[A / D] - (E[A] / m - Cov(A, D) / m^2) <= largest Var(D) / m^2.

    With the probability ``none`` nothing is positive, and then the loss is ``without`` (p + 1,).
    """
    p = len(q)
    if len(without) != p + 1 or len(lower) != p + 1 or len(upper) != p + 1 or len(guess) != p + 1:
        raise ValueError("there must be one number for each k")
    total, variance = 0.0, 0.0
    for i in range(p):
        total += q[i]
        variance += q[i] * (1.0 - q[i])
    tp, spread = 0.0, 0.0
    # With P = tp + fn and fp = k - tp.
    a1, a2 = top[1] - top[3], top[1] + top[2]
    d1, d2 = bottom[1] - bottom[3], bottom[1] + bottom[2]
    for k in range(p + 1):
        if k > 0:
            tp += q[k - 1]
            spread += q[k - 1] * (1.0 - q[k - 1])
        a0, d0 = top[0] + top[3] * k, bottom[0] + bottom[3] * k
        fn, rest = max(total - tp, 0.0), max(variance - spread, 0.0)
        a, m = a0 + a1 * tp + a2 * fn, d0 + d1 * tp + d2 * fn
        m = m if m > 0.0 else 1.0
        at_zero = a0 / (d0 if d0 > 0.0 else 1.0)
        # Where nothing is predicted and nothing is positive, the quotient may be 0/0, and the loss is 0 or more.
        shift = none * (without[k] - max(at_zero, 0.0)) if k > 0 else -none * max(0.0, at_zero)
        low = a / m - (a1 * d1 * spread / m + a2 * d2 * rest / m) / m + shift
        share = (d1 * d1 * spread / m + d2 * d2 * rest / m) / m
        high = low + largest * share + max(-shift, 0.0)
        near = expected_quotient(k, tp, spread, fn, rest, top, bottom) + shift
        # Tiny means have variances relative to their squares that leave float64: then the bounds say nothing.
        lower[k] = max(low - rounding, 0.0) if np.isfinite(low) else 0.0
        upper[k] = min(high + rounding, largest) if np.isfinite(high) else largest
        guess[k] = max(min(near, upper[k]), lower[k]) if np.isfinite(near) else lower[k]
