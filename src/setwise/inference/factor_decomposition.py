"""Dual decomposition of several loss factors: a network and all factors agree by multipliers, which give a bound."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.arrays import Bools, Values
from setwise.core.checks import as_count
from setwise.core.inference import Inference, Maximizer
from setwise.core.structure import Structure
from setwise.inference.decomposition.bundle import Bundle
from setwise.inference.factors import Factored, unfit_for_factors
from setwise.inference.repair import Repair
from setwise.inference.set_by_set import SetBySet, each_set

CLOSE = 1e-9
"""The search ends where the planes say that the bound can fall by no more than this share of its scale."""

HOPELESS = 0.02
"""It ends too where the bound can fall by no more than this share of its distance from the best value."""

EQUAL = 1e-12
"""Value and bound that differ by this share are equal but for rounding."""


@final
@dataclass(frozen=True)
class FactorDecomposition(Inference):
    """``max_y sum_f l_f(y) + <s, phi(y)>`` for losses of counts, boxes and paths, on networks or independent decisions.

    Each factor f has one multiplier for each of its entries, and any multipliers m give the upper bound
    ``max_y [<s, phi(y)> + sum_f <m_f, y>] + sum_f max_y [l_f(y) - <m_f, y>]``. A bundle method lowers it, first with
    one multiplier for each box and for each class of a count, then with one for each entry. Labelings that the maxima
    find are candidates. Where a box allows given numbers alone, they are moved to one that it allows, one best label at
    a time, and labels along paths change one by one as long as that gains. Labels that are not known have no loss of
    counts. Where the best candidate does not reach the lowest bound, the solution is not exact. A search begins with
    the multipliers and the labels of the last one.

    Parameters
    ----------
    max_iter : the largest number of evaluations of the bound of a set
    """

    max_iter: int = 200

    name: ClassVar[str] = "factor_decomposition"
    about: ClassVar[str] = "cuts and several loss factors agree by multipliers"
    approximate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_count(self.max_iter, "max_iter")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        return unfit_for_factors(self, structure, slack)

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        sets = [Factored(one) for one in each_set(structure)]
        return SetBySet(self, structure, sets, lambda one, scores, tol: _Search(one, scores, tol, self.max_iter).run())


@final
class _Search:
    """The descent on the bound of one set.

    Attributes
    ----------
    labels, best : the best labels so far, and their value
    bound : the lowest bound so far
    """

    def __init__(self, one: Factored, scores: Values, tol: float, most: int) -> None:
        self.labels: Bools = one.batch.truth
        self.best, self.bound = one.value(scores, self.labels), np.inf
        self._one, self._scores, self._tol, self._left = one, scores, tol, most
        self._repair = Repair.of(one.structure, scores)
        # Multipliers that reverse a node are as large as its scores.
        self._scale = 1e-3 / one.batch.total + float(np.abs(scores).max())

    def run(self) -> "_Search":
        """Lower the bound with a few multipliers, then with one for each entry."""
        one = self._one
        few, every, labels = one.last or (np.zeros(one.sides.shape[1]), None, self.labels)
        self._see(labels)
        splits = any(factor.splits for factor in one.factors)
        if every is None or not splits:
            few = self._lower(few, one.sides)
        if not self._done and splits:
            every = self._lower(one.sides @ few if every is None else every, None)
        one.last = few, every, self.labels
        return self

    def _see(self, labels: Bools) -> None:
        """Take labels that are better than the best ones so far."""
        value = self._one.value(self._scores, labels)
        if value > self.best:
            self.best, self.labels = value, labels

    def _hopeless(self, decrease: float) -> bool:
        """Whether the bound can fall by so little that it will not meet the best value."""
        gap = self.bound - self.best
        return decrease <= max(CLOSE * self._scale, HOPELESS * gap if np.isfinite(gap) else 0.0)

    @property
    def _done(self) -> bool:
        """Whether value and bound are close enough, or no evaluations are left."""
        if self.best == -np.inf:
            return self._left <= 0
        close = max(self._tol, EQUAL * (1.0 + abs(self.best)))
        return self._left <= 0 or self.bound - self.best <= close

    def _lower(self, start: Values, sides: Values | None) -> Values:
        """Lower the bound from a start, with the multipliers ``sides @ x``, or x itself; returns the best x."""
        if not len(start):
            self._at(np.zeros(len(self._one.nodes)))
            return start

        def at(x: Values) -> tuple[float, Values]:
            value, slope = self._at(x if sides is None else sides @ x)
            return value, slope if sides is None else slope @ sides

        value, slope = at(start)
        goal = self.best if self.best > -np.inf else value - self._scale * float(slope @ slope)
        bundle = Bundle(start, value, slope, goal)
        while not self._done and not self._hopeless(bundle.decrease):
            bundle.add(*at(bundle.point))
        return bundle.centre

    def _at(self, multipliers: Values) -> tuple[float, Values]:
        """The bound and its slope; the labelings that it finds are candidates."""
        self._left -= 1
        bound, network, entries = self._one.bound(self._scores, multipliers)
        self.bound = min(self.bound, bound)
        for labels in self._one.candidates(network, entries):
            for mended in self._repair.candidates(labels):
                self._see(mended)
        return bound, network[self._one.nodes].astype(np.float64) - entries
