"""The numbers predicted that may be best where a range of probabilities is known one by one, or is equal ones."""

from typing import final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.decisions.by_window import expected
from setwise.decisions.formula import Formula
from setwise.decisions.halves import Halves
from setwise.decisions.level_bounds import LevelBounds
from setwise.decisions.levels import Around, Levels
from setwise.decisions.pmf import TINY, Pmf, convolved, tail_of, trimmed

WORK = 1 << 30
"""Expected losses that need more values of the loss are bounded by moments."""


@final
class Region:
    """The numbers predicted that may be best: all above a range of probabilities and some of it.

    Parameters
    ----------
    formula : the loss
    found : what lies around the range
    """

    def __init__(self, formula: Formula, found: Around) -> None:
        self.formula, self.found = formula, found

    @cached_property
    def halves(self) -> Halves:
        """The probabilities of the range."""
        return Halves(np.repeat(self.found.inside, self.found.times)[::-1].copy())

    def least(self, bounds: LevelBounds, above: Levels, below: Levels, tol: float) -> tuple[int, float, float]:
        """The best number predicted, its expected loss, and a lower bound of the least one.

        ``above`` and ``below`` are the levels that are not in the range.
        """
        means, variances, first = self.halves.means, self.halves.variances, self.found.above
        hit, spread = above.means.sum() + means, above.variances.sum() + variances
        miss, rest = below.means.sum() + (means[-1] - means), below.variances.sum() + (variances[-1] - variances)
        lower, upper = bounds.at(first + np.arange(len(means)), hit, spread, miss, rest)
        best = tried = int(upper.argmin())
        lower[tried], upper[tried] = self.known(tried, lower[tried], upper[tried])
        for i in np.argsort(lower, kind="stable").tolist():
            if lower[i] >= upper[best] - tol:
                break
            if i != tried:
                lower[i], upper[i] = self.known(i, lower[i], upper[i])
            if upper[i] < upper[best]:
                best = i
        return first + best, float(upper[best]), float(lower.min())

    def known(self, i: int, lower: float, upper: float) -> tuple[float, float]:
        """Both bounds of the expected loss where the first i of the range are predicted.

        They are equal, or the given ones where that takes too long.
        """
        hits, misses = self._counts(i)
        easy = self.formula.counts.affine or self.formula.affine_beside_misses
        if not easy and len(hits.pmf) * len(misses.pmf) > WORK and np.isfinite(upper):
            return lower, upper
        value = expected(self.formula, hits, misses, self.found.above + i)
        return value, value

    def value(self, i: int) -> float:
        """The expected loss where the first i of the range are predicted."""
        return expected(self.formula, *self._counts(i), self.found.above + i)

    def _counts(self, i: int) -> tuple[Pmf, Pmf]:
        """The positives among what is predicted, and among all others."""
        top, rest = self._inside(i)
        return trimmed(convolved(self.found.hits, top)), trimmed(convolved(self.found.misses, rest))

    def _inside(self, i: int) -> tuple[Pmf, Pmf]:
        """The positives among the first i of the range, and among its others."""
        if len(self.found.inside) > 1:
            return self.halves.first(i), self.halves.others(i)
        # Of equal probabilities there may be very many.
        q = float(self.found.inside.max(initial=0.0))
        return binomial(i, q), binomial(int(self.found.times.sum()) - i, q)


def binomial(n: int, q: float) -> Pmf:
    """The number of positives among n decisions of the same probability, without its tails; O(sqrt(n))."""
    if n == 0 or q in (0.0, 1.0):
        return Pmf(n if q == 1.0 else 0, np.ones(1))
    mode, reach = min(int((n + 1) * q), n), int(tail_of(n * q * (1.0 - q), TINY)) + 2
    # Each probability is a multiple of that of its neighbor nearer to the most probable number.
    up = np.arange(mode, min(mode + reach, n), dtype=np.float64)
    down = np.arange(mode, max(mode - reach, 0), -1, dtype=np.float64)
    more = np.cumprod((n - up) / (up + 1.0) * (q / (1.0 - q)))
    fewer = np.cumprod(down / (n - down + 1.0) * ((1.0 - q) / q)) if len(down) else down
    pmf = np.concatenate((fewer[::-1], [1.0], more))
    return Pmf(mode - len(down), pmf / pmf.sum())


def range_of(levels: Levels, first: int, last: int) -> tuple[float, float]:
    """The least and the largest probability of the levels from one end to another one; of one before an only end."""
    if first < last:
        return float(levels.least[last - 1]), float(levels.most[first])
    at = float(levels.least[first - 1]) if first else np.inf
    return at, at


def cut_of(found: Around, size: int, high: float = 1.0) -> tuple[float, int | None, int]:
    """The threshold that predicts ``size`` decisions, its ties, and this number, from what lies around a range."""
    if size <= found.above:
        return (high, 0, size) if size else (np.inf, None, size)
    ends = np.cumsum(found.times[::-1])
    at = int(np.searchsorted(ends, size - found.above))
    number, left = int(found.times[::-1][at]), size - found.above - int(ends[at])
    return float(found.inside[::-1][at]), None if left == 0 else number + left, size
