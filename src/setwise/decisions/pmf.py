"""The distribution of a count, without its tails."""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from setwise.core.attributes import cached_property
from setwise.core.checks import Values
from setwise.kernels.poisson_binomial import count_by_pairs

TINY = 1e-20
"""Probabilities below this at the ends of a distribution are dropped."""

BLOCK, LEAF = 8192, 32
"""The positives among so many decisions are counted without Fourier transforms, and among so many one by one."""

NOISE = 1e-17
"""Fast Fourier transforms leave noise of this size, below which nothing is known of the tails."""


@final
@dataclass(frozen=True, eq=False)
class Pmf:
    """``Pr(count = low + j) = pmf[j]``, and nearly 0 elsewhere."""

    low: int
    pmf: Values

    @cached_property
    def numbers(self) -> Values:
        """The possible counts, as floats."""
        return self.low + np.arange(len(self.pmf), dtype=np.float64)

    @property
    def mean(self) -> float:
        """The mean."""
        return float(self.numbers @ self.pmf)

    def at(self, number: int) -> float:
        """The probability of this number."""
        place = number - self.low
        return float(self.pmf[place]) if 0 <= place < len(self.pmf) else 0.0


def count_of(q: Values) -> Pmf:
    """The number of positives among independent decisions with probabilities ``q`` (p,); about O(p log p)."""
    if len(q) <= BLOCK:
        low, pmf = count_by_pairs(q, LEAF, TINY)
        return Pmf(int(low), pmf)
    half = len(q) // 2
    return trimmed(convolved(count_of(q[:half]), count_of(q[half:])))


def convolved(a: Pmf, b: Pmf) -> Pmf:
    """The sum of two independent counts."""
    if min(len(a.pmf), len(b.pmf)) <= 64:
        return Pmf(a.low + b.low, np.convolve(a.pmf, b.pmf))
    size = len(a.pmf) + len(b.pmf) - 1
    fast = next_fast_len(size, real=True)
    product = irfft(rfft(a.pmf, fast) * rfft(b.pmf, fast), fast)[:size]
    return Pmf(a.low + b.low, np.maximum(product, 0.0))


def trimmed(a: Pmf) -> Pmf:
    """The distribution without the probabilities at its ends that are mere noise."""
    inside = np.flatnonzero(a.pmf > NOISE)
    first, last = int(inside[0]), int(inside[-1])
    return Pmf(a.low + first, a.pmf[first : last + 1])


def tail_of(variance: float, spare: float) -> float:
    """How far a count is from its mean, to one side, with a probability of at most ``spare`` (Bernstein).

    A sum of decisions is r above its mean with a probability of at most ``exp(-r^2 / (2 (variance + r / 3)))``.
    """
    third = -np.log(spare) / 3.0
    return float(third + np.sqrt(third * (third + 6.0 * max(variance, 0.0))))
