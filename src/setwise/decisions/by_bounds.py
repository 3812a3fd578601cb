"""Decisions for large sets: branch and bound over the number predicted, with a certified gap."""

from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import final

import numpy as np

from setwise.core.arrays import Values
from setwise.decisions.by_sizes import BySizes
from setwise.decisions.by_window import expected
from setwise.decisions.formula import Formula
from setwise.decisions.intervals import bound_of_interval
from setwise.decisions.pmf import Pmf, convolved, count_of, trimmed

SEGMENTS, SHORTEST = 512, 256
"""Decisions are counted in at most this number of segments, of at least so many decisions."""

WORK = 1 << 29
"""After so many values of the loss the search stops, with the bound that it has."""

GUESSES = 4096
"""So many numbers are tried with both counts at their means, to find one near the best."""

ROUNDING = 1e-11
"""A bound on the rounding of expected losses, relative to the largest loss."""


@final
@dataclass(frozen=True, eq=False)
class ByBounds(BySizes):
    """``min_k E f(k, tp, fn)`` for an increasing loss, up to ``tol``.

    If k..K are predicted, there are no fewer false negatives than with K, and no fewer false positives than with k. So
    ``E f(fn_K, fp_k, P, N)`` is below all expected losses of this interval of numbers. The interval of the least bound
    is halved until no bound is below the best known expected loss by more than ``tol``.

    Parameters
    ----------
    formula : the loss, which increases
    tol : the gap at which the search may stop
    """

    formula: Formula
    tol: float

    def least(self, q: Values) -> tuple[int, float, float]:
        return _Search(self.formula, q, self.tol).run()


@final
@dataclass(frozen=True, eq=False)
class _Halves:
    """The numbers of positives among the first k decisions, and among the others, for any k; probabilities fall."""

    q: Values

    @cached_property
    def length(self) -> int:
        """The length of a segment; the distributions at the ends of all segments are kept."""
        return max(SHORTEST, -(-len(self.q) // SEGMENTS))

    @cached_property
    def _ends(self) -> tuple[list[Pmf], list[Pmf]]:
        """The counts before and after each end of a segment."""
        parts = [count_of(self.q[a : a + self.length]) for a in range(0, len(self.q), self.length)]
        none = Pmf(0, np.ones(1))
        before, after = [none], [none]
        for part in parts:
            before.append(trimmed(convolved(before[-1], part)))
        for part in reversed(parts):
            after.append(trimmed(convolved(after[-1], part)))
        return before, after[::-1]

    def first(self, k: int) -> Pmf:
        """The positives among the first k."""
        a = k // self.length
        return trimmed(convolved(self._ends[0][a], count_of(self.q[a * self.length : k])))

    def others(self, k: int) -> Pmf:
        """The positives among all but the first k."""
        b = -(-k // self.length)
        return trimmed(convolved(self._ends[1][b], count_of(self.q[k : b * self.length])))


class _Search:
    """The search for one set."""

    def __init__(self, formula: Formula, q: Values, tol: float) -> None:
        self.formula, self.q, self.tol, self.halves = formula, q, tol, _Halves(q)
        self.means, self.variances = (np.concatenate(([0.0], np.cumsum(x))) for x in (q, q * (1.0 - q)))
        # The mass that a bound may leave out costs a hundredth of the gap.
        self.spare = float(np.clip(0.005 * tol / max(formula.largest, 1e-300), 1e-12, 1e-6))
        self.rounding = ROUNDING * formula.largest
        self.work = 0

    def run(self) -> tuple[int, float, float]:
        """The best number found, its expected loss, and a lower bound of the least one."""
        best = self._guess()
        value = self._value(best)
        nodes = [(0.0, 0, len(self.q))]
        # A single number has its own expected loss as bound, so it is never split.
        while nodes[0][0] < value - self.tol and self.work < WORK:
            lower, low, high = heappop(nodes)
            middle = (low + high) // 2
            for a, b in ((low, middle), (middle + 1, high)):
                bound = self._value(a) if a == b else max(lower, self._bound(a, b))
                if a == b and bound < value:
                    best, value = a, bound
                heappush(nodes, (bound, a, b))
        return best, value, min(value, nodes[0][0] - self.rounding)

    def _guess(self) -> int:
        """A number whose loss is least where both counts are at their means, first on a grid, then around it."""
        p = len(self.q)
        low, high = 0, p
        while True:
            grid = np.unique(np.linspace(low, high, GUESSES).astype(np.int64))
            tp, fn = np.rint(self.means[grid]), np.rint(self.means[-1] - self.means[grid])
            k = grid.astype(np.float64)
            at = int(self.formula.at(k, np.minimum(tp, k), np.minimum(fn, p - k)).argmin())
            if high - low < GUESSES:
                return int(grid[at])
            low, high = int(grid[max(at - 1, 0)]), int(grid[min(at + 1, len(grid) - 1)])

    def _value(self, k: int) -> float:
        """The expected loss of predicting the first k."""
        first, others = self.halves.first(k), self.halves.others(k)
        self.work += len(first.pmf) * len(others.pmf)
        return expected(self.formula, first, others, k)

    def _bound(self, low: int, high: int) -> float:
        """A lower bound of the expected losses of predicting low..high, low < high."""
        top, rest = self._cut(self.halves.first(low)), self._cut(self.halves.others(high))
        found, work = bound_of_interval(self.formula, (low, high), top, rest, self._between(low, high))
        self.work += work
        return found * (1.0 - self.spare)

    def _cut(self, count: Pmf) -> Pmf:
        """The count without tails of the mass that a bound may leave out."""
        sums = np.cumsum(count.pmf)
        first = int(np.searchsorted(sums, 0.5 * self.spare))
        last = int(np.searchsorted(sums, sums[-1] - 0.5 * self.spare))
        return Pmf(count.low + first, count.pmf[first : last + 1])

    def _between(self, low: int, high: int) -> tuple[int, int]:
        """The least and the largest number of positives among the decisions low..high-1, but for ``spare``."""
        mean, variance = self.means[high] - self.means[low], max(self.variances[high] - self.variances[low], 0.0)
        # Bernstein: a sum is r away from its mean with a probability of at most 2 exp(-r^2 / (2 (variance + r / 3))).
        third = np.log(2.0 / self.spare) / 3.0
        reach = third + np.sqrt(third * (third + 6.0 * variance)) + 1e-9 * len(self.q)
        return max(0, int(np.floor(mean - reach))), min(high - low, int(np.ceil(mean + reach)))
