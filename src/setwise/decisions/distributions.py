"""The distribution of a count, without its tails; in blocks of neighboring values; and of the first k decisions."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtr

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


BERRY_ESSEEN = 0.56
"""The constant of the inequality for sums of independent summands of different distributions (Shevtsova 2010)."""


@final
@dataclass(frozen=True, eq=False)
class CountRuns:
    """Runs of neighboring values of a count, with the least and the largest value of each, and its probability."""

    low: Values
    high: Values
    mass: Values

    @classmethod
    def of(cls, count: Pmf, width: int, spare: float = 0.0) -> "CountRuns":
        """Blocks of ``width`` values, the last one maybe shorter, without tails of a mass of at most ``spare``."""
        pmf, first = count.pmf, 0
        if spare > 0.0:
            sums = np.cumsum(pmf)
            first = int(np.searchsorted(sums, 0.5 * spare))
            pmf = pmf[first : int(np.searchsorted(sums, sums[-1] - 0.5 * spare)) + 1]
        starts = np.arange(0, len(pmf), width)
        ends = np.minimum(starts + width, len(pmf)) - 1
        low = np.float64(count.low + first)
        return cls(low + starts, low + ends, np.add.reduceat(pmf, starts))

    @classmethod
    def above(cls, n: int, mean: float, variance: float, width: int, spare: float) -> "CountRuns":
        """Values of a count that is stochastically larger than that of n decisions, but for a mass of ``spare``.

        By the Berry-Esseen inequality ``Pr(count <= x)`` is at least ``Phi((x - mean) / sd) - 0.56 / sd``, because a
        decision has a third absolute moment of at most its variance. Only the larger end of a block is meant.
        """
        sd, slack = float(np.sqrt(variance)), 1e-9 * n
        reach = tail_of(variance, spare) + slack
        x = np.append(np.arange(np.floor(mean - 5.0 * sd), mean + reach, width), np.ceil(mean + reach))
        sums = ndtr((x - mean - slack) / sd) - BERRY_ESSEEN / sd - 1e-9
        sums[-1] = 1.0 - spare
        at = np.minimum(x, n)
        return cls(at, at, np.diff(np.clip(sums, 0.0, 1.0 - spare), prepend=0.0))

    def exchanged(self, n: int) -> "CountRuns":
        """The negatives among n decisions, if these are the positives."""
        return CountRuns(n - self.high, n - self.low, self.mass)


SEGMENTS, SHORTEST = 512, 256
"""Decisions are counted in at most this number of segments, of at least so many decisions."""

NORMAL, WIDE = 2500.0, 16
"""Counts of at least this variance, in blocks of at least so many values, are bounded by normal distributions."""


@final
@dataclass(frozen=True, eq=False)
class CountSplits:
    """The positives among the first k decisions and among the others, whose probabilities ``q`` (p,) fall.

    ``whole`` keeps all values of a count, so that its blocks have two ends.
    """

    q: Values
    whole: bool = False
    # The counts before each end of a segment, and after each from the last one, as far as they were asked for.
    _before: list[Pmf] = field(init=False, default_factory=lambda: [Pmf(0, np.ones(1))])
    _after: list[Pmf] = field(init=False, default_factory=lambda: [Pmf(0, np.ones(1))])

    @cached_property
    def means(self) -> Values:
        """The expected number of positives among the first k, (p+1,)."""
        return np.concatenate(([0.0], np.cumsum(self.q)))

    @cached_property
    def variances(self) -> Values:
        """The variance of the number of positives among the first k, (p+1,); it grows."""
        return np.concatenate(([0.0], np.cumsum(self.q * (1.0 - self.q))))

    @cached_property
    def length(self) -> int:
        """The length of a segment; the distributions at the ends of segments are kept."""
        return max(SHORTEST, -(-len(self.q) // SEGMENTS))

    def first(self, k: int) -> Pmf:
        """The positives among the first k."""
        size, known = self.length, self._before
        for a in range(len(known) - 1, k // size):
            known.append(trimmed(convolved(known[-1], count_of(self.q[a * size : (a + 1) * size]))))
        return trimmed(convolved(known[k // size], count_of(self.q[k // size * size : k])))

    def others(self, k: int) -> Pmf:
        """The positives among all but the first k."""
        size, known, p = self.length, self._after, len(self.q)
        last = -(-p // size)
        b = -(-k // size)
        for a in range(last - len(known), b - 1, -1):
            known.append(trimmed(convolved(known[-1], count_of(self.q[a * size : (a + 1) * size]))))
        return trimmed(convolved(known[last - b], count_of(self.q[k : min(b * size, p)])))

    def top(self, k: int, width: int, spare: float) -> CountRuns:
        """The positives among the first k in blocks of ``width`` values, without a mass of ``spare``."""
        variance = float(self.variances[k])
        if self._normal(variance, width):
            return CountRuns.above(k, float(self.means[k]), variance, width, spare)
        return CountRuns.of(self.first(k), width, spare)

    def rest(self, k: int, width: int, spare: float) -> CountRuns:
        """The same for the positives among all but the first k."""
        n, variance = len(self.q) - k, float(self.variances[-1] - self.variances[k])
        if self._normal(variance, width):
            negatives = n - float(self.means[-1] - self.means[k])
            return CountRuns.above(n, negatives, variance, width, spare).exchanged(n)
        return CountRuns.of(self.others(k), width, spare)

    def _normal(self, variance: float, width: int) -> bool:
        return variance >= NORMAL and width >= WIDE and not self.whole
