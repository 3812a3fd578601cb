"""Decisions for large sets and losses that are no quotients: branch and bound over the number predicted, certified."""

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.checks import Ints, Values
from setwise.decisions.distributions import CountRuns, CountSplits
from setwise.decisions.formula import Formula
from setwise.decisions.large_sets import BySizes, bound_of_interval, expected, fewest

WORK = 1 << 30
"""After so many values of the loss the search stops, with the bound that it has."""

NODE = 1 << 15
"""The other work for an interval, the distributions at its end, counts as so many values of the loss."""

GUESSES = 4096
"""So many numbers are tried with both counts near their means, to find one near the best."""

COARSE, FINE = 16, 512
"""A count is divided into so many blocks where an interval is too wide for its bound to matter, and at most into."""

FEW = 64
"""Counts with about so many values are not divided into blocks."""

ROUNDING = 1e-11
"""A bound on the rounding of expected losses, relative to the largest loss."""


@final
@dataclass(frozen=True, eq=False)
class ByBounds(BySizes):
    """``min_k E f(k, tp, fn)`` for an increasing loss, up to ``tol``.

    If k..K are predicted, there are no fewer false negatives than with K, and no fewer false positives than with k. So
    a smaller loss of the counts of K is below all expected losses of this interval of numbers, see
    :func:`bound_of_interval`. The interval of the least bound is halved until no bound is below the best known expected
    loss by more than ``tol``. Costs that are the same for all truths have exact expectations, which are added.

    Parameters
    ----------
    formula : the loss, which increases
    tol : the gap at which the search may stop
    """

    formula: Formula
    tol: float

    def least(self, q: Values, cuts: Ints) -> tuple[int, float, float]:
        return _Search(self.formula, q, self.tol).run(cuts)


class _Search:
    """The search for one set."""

    def __init__(self, formula: Formula, q: Values, tol: float) -> None:
        self.formula, self.curved, self.q, self.tol = formula, formula.without_costs, q, tol
        self.halves = CountSplits(q, not self.curved.diluted)
        # The mass that a bound may leave out of both counts, and of the positives inside the interval.
        largest = max(self.curved.largest, 1e-300)
        self.spare, self.rare = (float(np.clip(x * tol / largest, 1e-12, 1e-3)) for x in (0.003, 0.03))
        self.lost = self.rare * largest
        self.rounding = ROUNDING * formula.largest
        self.work = 0

    @cached_property
    def costs(self) -> Values:
        return self.formula.expected_costs(self.halves.means)

    @cached_property
    def cheapest(self) -> int:
        """The number predicted at which these costs are least; they fall before it and grow after it."""
        return int(self.costs.argmin())

    def run(self, cuts: Ints) -> tuple[int, float, float]:
        """The best number found among ``cuts``, its expected loss, and a lower bound of the least one."""
        best = _first_from(cuts, self._guess())
        value = self._value(best)
        nodes, closed = [(0.0, 0, len(self.q))], np.inf
        while nodes and nodes[0][0] < value - self.tol and self.work < WORK:
            lower, low, high = heappop(nodes)
            middle = (low + high) // 2
            for a, b in ((low, middle), (middle + 1, high)):
                if _first_from(cuts, a) > b:
                    continue
                bound = max(lower, self._bound(a, b, value - self.tol))
                if a == b and bound < value - self.tol:
                    # A single number has its own expected loss as bound, so it is never split.
                    bound = self._value(a)
                    if bound < value:
                        best, value = a, bound
                    closed = min(closed, bound)
                else:
                    heappush(nodes, (bound, a, b))
        lower = min(closed, nodes[0][0] - self.rounding if nodes else np.inf)
        return best, value, min(value, lower)

    def _guess(self) -> int:
        """A number whose loss is least where both counts are near their means, first on a grid, then around it."""
        p, means = len(self.q), self.halves.means
        low, high = 0, p
        while True:
            grid = np.unique(np.linspace(low, high, GUESSES).astype(np.int64))
            k, losses = grid.astype(np.float64), np.zeros(len(grid))
            # A mixture of the two whole numbers next to each mean has this mean.
            for up in (False, True):
                for more in (False, True):
                    (tp, share), (fn, other) = _whole(means[grid], up), _whole(means[-1] - means[grid], more)
                    losses += share * other * self.formula.at(k, np.minimum(tp, k), np.minimum(fn, p - k))
            at = int(losses.argmin())
            if high - low < GUESSES:
                return int(grid[at])
            low, high = int(grid[max(at - 1, 0)]), int(grid[min(at + 1, len(grid) - 1)])

    def _value(self, k: int) -> float:
        """The expected loss of predicting the first k."""
        first, others = self.halves.first(k), self.halves.others(k)
        self.work += NODE if self.formula.counts.affine else len(first.pmf) * len(others.pmf)
        return expected(self.formula, first, others, k)

    def _bound(self, low: int, high: int, wanted: float = np.inf) -> float:
        """A lower bound of the expected losses of predicting low..high, as fine as it takes to reach ``wanted``."""
        means, variances = self.halves.means, self.halves.variances
        inside, mean, variance = self.q[low:high], means[high] - means[low], variances[high] - variances[low]
        # What the positives between may deviate is better lost on the larger class.
        if 2.0 * mean <= high - low:
            end, number, most = high, low + fewest(inside, mean, variance, self.rare), 0
        else:
            end, number, most = low, low, high - low - fewest(1.0 - inside, high - low - mean, variance, self.rare)
        costs = float(self.costs[min(max(self.cheapest, low), high)])
        top, rest = self._blocks(number, most, end, wanted - costs)
        found, work = bound_of_interval(self.curved, number, most, top, rest)
        self.work += work + NODE
        # Losses are not negative, so a part of the mass gives a lower bound.
        return max(0.0, found - self.lost) + costs

    def _blocks(self, number: int, most: int, end: int, wanted: float) -> tuple[CountRuns, CountRuns]:
        """The counts among the first decisions up to ``end``, and among the others, in blocks."""
        halves, p = self.halves, len(self.q)
        tp, fn = halves.means[end], halves.means[-1] - halves.means[end]
        spread = np.sqrt(halves.variances[end]), np.sqrt(halves.variances[-1] - halves.variances[end])
        # The loss at the means of both counts, one standard deviation off either, and with the mistakes of one number.
        t = np.clip(np.array([tp, tp + spread[0], tp - spread[0], tp, tp, tp]), 0.0, end)
        f = np.clip(np.array([fn, fn, fn, fn + spread[1], fn - spread[1], fn]), 0.0, p - end)
        t, f = np.rint(t), np.rint(f)
        k, m = np.array([number] * 5 + [end], dtype=np.float64), np.array([most] * 5 + [0.0])
        at = self.curved.of(np.maximum(f - m, 0.0), np.maximum(k - t, 0.0), t + f)
        # Blocks may lose a third of what the loss at the means leaves, or else a part of what the interval loses.
        spare = max((at[0] - wanted) / 3.0, (at[5] - at[0]) / 4.0)
        widths = []
        for change, sd in zip((at[2] - at[1], at[3] - at[4]), spread, strict=True):
            # Half a block is lost on each of both counts.
            width = 2.0 * spare * sd / (abs(change) + 1e-300)
            coarse = 12.0 * sd / COARSE + 1.0 if 12.0 * sd > FEW else 1.0
            widths.append(int(np.clip(width, min(12.0 * sd / FINE + 1.0, coarse), coarse)))
        return (halves.top(end, widths[0], self.spare), halves.rest(end, widths[1], self.spare))


def _first_from(cuts: Ints, k: int) -> int:
    """The first cut from k on."""
    return int(cuts[np.searchsorted(cuts, k)])


def _whole(means: Values, up: bool) -> tuple[Values, Values]:
    """The whole numbers above or below the means, and the shares that make the mean."""
    low = np.floor(means)
    return (low + 1.0, means - low) if up else (low, 1.0 - (means - low))
