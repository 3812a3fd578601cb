"""Counts in blocks of neighboring values, and normal bounds of the distribution of a count."""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import ndtr

from setwise.core.checks import Values
from setwise.decisions.pmf import Pmf, tail_of

BERRY_ESSEEN = 0.56
"""The constant of the inequality for sums of independent summands of different distributions (Shevtsova 2010)."""


@final
@dataclass(frozen=True, eq=False)
class Blocks:
    """Runs of neighboring values of a count, with the least and the largest value of each, and its probability."""

    low: Values
    high: Values
    mass: Values

    @classmethod
    def of(cls, count: Pmf, width: int, spare: float = 0.0) -> "Blocks":
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
    def above(cls, n: int, mean: float, variance: float, width: int, spare: float) -> "Blocks":
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

    def exchanged(self, n: int) -> "Blocks":
        """The negatives among n decisions, if these are the positives."""
        return Blocks(n - self.high, n - self.low, self.mass)
