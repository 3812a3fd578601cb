"""Log-partition functions of bags whose number of positives is known up to a range, and their marginals.

Also means and ascent, label by label, of independent labels under cuts and a function of their number.

The positives of m decisions with scores s are as likely as ``exp <s, y>``; allowed are labelings with a number of
positives in ``low..high``. A shift of all scores by theta, which changes nothing but factors ``exp(theta c)`` of the
counts c, moves the mean of the count into the range (exponential tilting), so that no probability that is needed is
tiny. The distribution of the tilted count comes from its characteristic function ``phi(t) = prod_i (1 - q_i + q_i
e^(it))`` at the nodes ``t_j = 2 pi j / M`` of a discrete Fourier transform, and that of the count of all others from
``phi(t) / (1 - q_i + q_i e^(it))``. With V the variance of the count, ``|phi(t)| <= exp(-2 V sin(t / 2)^2)``, and by
Bernstein's inequality counts farther than r from the mean have a probability of at most ``2 exp(-r^2 / (2 V + 2 r /
3))``. So a period M of about ``16 sqrt(V)`` and about 30 nodes, for any number of decisions, lose probabilities of
``exp(-EXPONENT)`` and no more: O(m) for a bag, where forward-backward takes O(m count).
"""

from typing import Any

import numpy as np

from setwise.kernels.jit import Array, kernel
from setwise.kernels.poisson_binomial import add_decision

EXPONENT = 32.0
"""Probabilities below exp(-32), 1.3e-14, are left out."""

CLOSE = 0.25
"""The mean of the count is moved to within this many standard deviations of the range."""

HUGE = 1e6
"""Sums of scores up to this and a shift keep ten digits behind the point."""

BLOCK = 512
"""So many decisions stay in the first-level cache while all nodes are added up for each."""


@kernel
def count_partitions(scores: Array, starts: Array, low: Array, high: Array, values: Array, means: Array) -> None:
    """Writes ``log sum_{y: low_b <= |y| <= high_b} exp <s, y>`` of every bag, (B,), and all means of y_i, (entries,).

    Bag b has the ``scores`` (entries,) at ``starts[b]:starts[b + 1]``, and ``0 <= low_b <= high_b`` reaches up to its
    size. O(entries).
    """
    for b in range(len(low)):
        first, last = starts[b], starts[b + 1]
        values[b] = _partition(scores[first:last], low[b], high[b], means[first:last])


@kernel
def _partition(s: Array, low: int, high: int, means: Array) -> Any:
    m = len(s)
    if low <= 0 and high >= m:
        return _tilted(s, 0.0, 0.0, means)[0]
    if high <= 0:
        means[:] = 0.0
        return 0.0
    if low >= m:
        means[:] = 1.0
        return s.sum()
    total, mean, variance = _tilted(s, 0.0, 0.0, means)
    pivot, shift, anchor, slack = 0.0, 0.0, low, CLOSE * np.sqrt(variance)
    if mean < low - slack or mean > high + slack:
        anchor = low if mean < low else high
        # Shifts of huge scores would be rounded, so these are compared with the score that belongs to the count.
        pivot = np.partition(s, m - anchor)[m - anchor] if max(s.max(), -s.min()) > HUGE else 0.0
        shift = _shift(s, pivot, anchor, means)
        total, mean, variance = _tilted(s, pivot, shift, means)
    # The sum of the weighted probabilities is that over labelings, divided by exp(total), and by exp(-tilt anchor).
    inside = _window(s, pivot, shift, low, high, anchor, mean, variance, means)
    return total + (pivot - shift) * anchor + np.log(inside)


@kernel
def _tilted(s: Array, pivot: float, shift: float, means: Array) -> tuple[float, float, float]:
    """Returns ``sum log(1 + exp z)``, ``z = s - pivot + shift``, and mean and variance of the count; writes means."""
    total, mean, variance = 0.0, 0.0, 0.0
    for first in range(0, len(s), BLOCK):
        # One logarithm of a product, of at most 2^BLOCK, in place of one for each factor.
        product = 1.0
        for i in range(first, min(first + BLOCK, len(s))):
            z = (s[i] - pivot) + shift
            # The exponential of a number up to 0 does not overflow.
            e = np.exp(-abs(z))
            p = 1.0 / (1.0 + e)
            total += max(z, 0.0)
            product *= 1.0 + e
            means[i] = p if z >= 0.0 else e * p
            mean += means[i]
            variance += e * p * p
        total += np.log(product)
    return total, mean, variance


@kernel
def _shift(s: Array, pivot: float, count: int, means: Array) -> Any:
    """Returns the shift at which the mean is nearly the count: Newton's method on its logit, which is nearly linear."""
    m = len(s)
    goal = np.log(count / (m - count))
    # All probabilities are at most count / m at the one end, and at least that at the other.
    low, high = goal - (s.max() - pivot), goal - (s.min() - pivot)
    shift = min(max(0.0, low), high)
    for _ in range(200):
        _, mean, variance = _tilted(s, pivot, shift, means)
        # Where the variance is nearly 0, 1e-9 lets a mean that differs by rounding alone be near enough.
        if abs(mean - count) <= CLOSE * np.sqrt(variance) + 1e-9:
            break
        if mean < count:
            low = shift
        else:
            high = shift
        odds = np.log(mean / (m - mean)) - goal
        step = odds * mean * (m - mean) / (m * variance)
        shift -= step
        # Far from the goal the mean may be 0 or m to rounding.
        if not (low < shift < high):
            shift = 0.5 * (low + high)
            if shift <= low or shift >= high:
                break
    return shift


@kernel
def _window(
    s: Array, pivot: float, shift: float, low: int, high: int, anchor: int, mean: float, variance: float, means: Array
) -> float:
    """Returns ``sum_c w_c Pr(count = c)`` over the range, ``w_c = exp(tilt (anchor - c))``, and writes the means there.

    ``tilt = shift - pivot``, and ``means`` holds the tilted probabilities when it comes in.
    """
    m, reach = len(s), EXPONENT / 3.0 + np.sqrt(EXPONENT * EXPONENT / 9.0 + 2.0 * EXPONENT * variance)
    first, last = int(max(np.floor(mean - reach), 0.0)), int(min(np.ceil(mean + reach), 1.0 * m))
    # An odd period, so that no node is pi, at which the factor of a probability of one half is 0.
    period = (last - first + 1) | 1
    nodes = _nodes(period, variance)
    angle = 2.0 * np.pi / period
    cosines, sines = _multiples(angle, nodes)
    real, imaginary = _characteristic(means, cosines, sines)
    inside, tilt, low, high = 0.0, shift - pivot, max(low, first), min(high, last)
    # From the largest weight on, so that none overflows.
    way, start = (1, low) if tilt >= 0.0 else (-1, high)
    size, ratio = np.exp(tilt * (anchor - start)), np.exp(-abs(tilt))
    from_cosines, from_sines = _multiples(angle * start, nodes)
    for j in range(nodes):
        x, y = _geometric(
            size * from_cosines[j], -size * from_sines[j], ratio * cosines[j], -way * ratio * sines[j], high - low + 1
        )
        weight = (1.0 if j == 0 else 2.0) / period
        a, b = weight * (real[j] * x - imaginary[j] * y), weight * (real[j] * y + imaginary[j] * x)
        inside += a
        # The count of the others is smaller by one.
        real[j], imaginary[j] = a * cosines[j] - b * sines[j], a * sines[j] + b * cosines[j]
    _others(means, cosines, sines, real, imaginary, inside)
    return inside


@kernel
def _nodes(period: int, variance: float) -> int:
    """Returns the number of nodes from 0 on at which the characteristic function is not negligible."""
    sine = np.sqrt(EXPONENT / (2.0 * variance)) if 2.0 * variance > EXPONENT else 1.0
    return min(int(2.0 * np.arcsin(sine) * period / (2.0 * np.pi)) + 1, (period + 1) // 2)


@kernel
def _characteristic(q: Array, cosines: Array, sines: Array) -> tuple[Array, Array]:
    """Returns the real and imaginary parts of ``prod_i (1 - q_i + q_i e^(it))`` at each node."""
    real, imaginary = np.ones(len(cosines)), np.zeros(len(cosines))
    for i in range(len(q)):
        p, rest = q[i], 1.0 - q[i]
        for j in range(len(cosines)):
            x, y = rest + p * cosines[j], p * sines[j]
            a, b = real[j], imaginary[j]
            real[j] = a * x - b * y
            imaginary[j] = a * y + b * x
    return real, imaginary


@kernel
def _multiples(angle: float, n: int) -> tuple[Array, Array]:
    """Returns the cosines and sines of ``0, angle, 2 angle, ..``, (n,) each, by rotation."""
    cosines, sines = np.empty(n), np.empty(n)
    cosine, sine = np.cos(angle), np.sin(angle)
    x, y = 1.0, 0.0
    for j in range(n):
        cosines[j], sines[j] = x, y
        x, y = x * cosine - y * sine, x * sine + y * cosine
    return cosines, sines


@kernel
def _geometric(x: float, y: float, a: float, b: float, n: int) -> tuple[float, float]:
    """Returns the sum of n terms of the geometric series that begins with ``x + iy`` and has the ratio ``a + ib``."""
    real, imaginary = 0.0, 0.0
    for _ in range(n):
        real += x
        imaginary += y
        x, y = x * a - y * b, x * b + y * a
    return real, imaginary


@kernel
def _others(q: Array, cosines: Array, sines: Array, real: Array, imaginary: Array, inside: float) -> None:
    """Turns each probability into ``q_i Re sum_j h_j / (1 - q_i + q_i e^(i t_j)) / inside``, h being the two arrays."""
    sums = np.empty(BLOCK)
    for first in range(0, len(q), BLOCK):
        block = q[first : first + BLOCK]
        size = len(block)
        sums[:] = 0.0
        for j in range(len(cosines)):
            cosine, sine, a, b = cosines[j], sines[j], real[j], imaginary[j]
            for i in range(size):
                x, y = 1.0 - block[i] + block[i] * cosine, block[i] * sine
                sums[i] += (a * x + b * y) / (x * x + y * y)
        for i in range(size):
            # Rounding may carry the sum of the nodes a little out of the range of probabilities.
            block[i] = min(max(block[i] * sums[i] / inside, 0.0), 1.0)


@kernel
def number_of_ones(q: Array, left_out: int, pmf: Array) -> None:
    """Writes the distribution of the number of ones among independent labels, (p + 1,); one may be left out; O(p^2)."""
    pmf[:] = 0.0
    pmf[0] = 1.0
    length = np.int64(1)
    for i in range(len(q)):
        if i != left_out:
            add_decision(pmf, length, q[i])
            length += 1


@kernel
def climb(network: Any, weights: Array, unary: Array, table: Array, q: Array) -> None:
    """Sets each probability ``q_i`` in turn to ``1 / (1 + exp(E f(y_i = 1) - E f(y_i = 0)))``, in place.

    ``weights`` (arcs,) are those of the edges of the cuts, and ``table`` (p + 1,) is the function of the number, or is
    empty. O(m), and O(p^3) with a table.
    """
    pmf = np.zeros(len(table))
    for i in range(len(q)):
        gain = -unary[i]
        for arc in range(network.first[i], network.first[i + 1]):
            gain += weights[arc] * (1.0 - 2.0 * q[network.heads[arc]])
        if len(table) > 0:
            number_of_ones(q, i, pmf)
            for k in range(len(q)):
                gain += pmf[k] * (table[k + 1] - table[k])
        # Large gains would overflow on one of the two sides.
        if gain > 0.0:
            small = np.exp(-gain)
            q[i] = small / (1.0 + small)
        else:
            q[i] = 1.0 / (1.0 + np.exp(gain))
