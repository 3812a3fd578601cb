"""The numbers of positives among the first k decisions, and among the others, for any k."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.checks import Values
from setwise.decisions.blocks import Blocks
from setwise.decisions.pmf import Pmf, convolved, count_of, trimmed

SEGMENTS, SHORTEST = 512, 256
"""Decisions are counted in at most this number of segments, of at least so many decisions."""

NORMAL, WIDE = 2500.0, 16
"""Counts of at least this variance, in blocks of at least so many values, are bounded by normal distributions."""


@final
@dataclass(frozen=True, eq=False)
class Halves:
    """The positives among the first k decisions and among the others, whose probabilities ``q`` (p,) fall.

    ``whole`` keeps all values of a count, so that its blocks have two ends.
    """

    q: Values
    whole: bool = False

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

    @cached_property
    def _before(self) -> list[Pmf]:
        """The counts before each end of a segment, as far as they were asked for."""
        return [Pmf(0, np.ones(1))]

    @cached_property
    def _after(self) -> list[Pmf]:
        """The counts after each end of a segment, from the last one, as far as they were asked for."""
        return [Pmf(0, np.ones(1))]

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

    def top(self, k: int, width: int, spare: float) -> Blocks:
        """The positives among the first k in blocks of ``width`` values, without a mass of ``spare``."""
        variance = float(self.variances[k])
        if self._normal(variance, width):
            return Blocks.above(k, float(self.means[k]), variance, width, spare)
        return Blocks.of(self.first(k), width, spare)

    def rest(self, k: int, width: int, spare: float) -> Blocks:
        """The same for the positives among all but the first k."""
        n, variance = len(self.q) - k, float(self.variances[-1] - self.variances[k])
        if self._normal(variance, width):
            negatives = n - float(self.means[-1] - self.means[k])
            return Blocks.above(n, negatives, variance, width, spare).exchanged(n)
        return Blocks.of(self.others(k), width, spare)

    def _normal(self, variance: float, width: int) -> bool:
        return variance >= NORMAL and width >= WIDE and not self.whole
