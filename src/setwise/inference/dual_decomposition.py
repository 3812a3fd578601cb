"""Dual decomposition: a loss of counts and a network agree by multipliers, which gives a bound (DD section 3)."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.arrays import Bools, Floats, Values
from setwise.core.checks import as_count
from setwise.core.counts import Counts
from setwise.core.graphs import Graphs
from setwise.core.inference import Inference, Maximizer, Solutions
from setwise.core.sets import Sets
from setwise.core.structure import Structure
from setwise.core.terms import Mistakes
from setwise.inference.bundle import Bundle
from setwise.inference.counts.search import CountSearch
from setwise.inference.max_flow import MaxFlow, unfit_for_graphs
from setwise.kernels.threads import map_units

CLOSE = 1e-9
"""The search ends where the planes say that the bound can fall by no more than this share of its scale."""

EQUAL = 1e-12
"""Value and bound that differ by this share are equal but for rounding."""


@final
@dataclass(frozen=True)
class DualDecomposition(Inference):
    """``max_y l(y) + <s, phi(y)>`` for losses of counts, on networks whose edges have scores of 0 or above.

    For any multipliers m, one for each node, ``max_y [<s, phi(y)> + <m, y>] + max_y [l(y) - <m, y>]`` is an upper bound
    (DD section 3): the first maximum is a minimum cut, the second one a search over counts. A bundle method lowers it,
    first with two multipliers, one for all positives and one for all negatives, then with one for each node. All
    labelings that the maxima find are candidates. Where the best one does not reach the lowest bound, the solution is
    not exact, and the bound says how much better another one may be.

    Parameters
    ----------
    max_iter : the largest number of evaluations of the bound of a set; each is a cut, which begins with the last one
    """

    max_iter: int = 200

    name: ClassVar[str] = "dual_decomposition"
    about: ClassVar[str] = "cuts and a search over counts agree by multipliers"
    approximate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_count(self.max_iter, "max_iter")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        why = unfit_for_graphs(self, structure, slack)
        if why is not None:
            return why
        if structure.batch.known is not None:
            return "DualDecomposition refuses labels that are not known. Use MaxFlow and Hamming(), or leave them out."
        rest = structure.split()[1].terms
        if len(rest) != 1 or not isinstance(rest[0], Counts) or rest[0].areas is not None:
            return f"DualDecomposition refuses {structure!r}: it is no function of counts. Use MaxFlow and Hamming()."
        return None

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return _DualDecomposition(self, structure)


@final
class _DualDecomposition(Maximizer):
    def __init__(self, method: DualDecomposition, structure: Structure) -> None:
        self.method, self.structure, self.slack = method, structure, False
        self._max_iter, self._sets = method.max_iter, range(len(structure.batch))
        self._units = [_Set(structure.take(np.array([i]))) for i in self._sets]

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        spans = self.structure.batch.score_offsets

        def one(i: int) -> _Search:
            own = np.asarray(scores[spans[i] : spans[i + 1]], dtype=np.float64)
            return _Search(self._units[i], own, float(tol[i]), self._max_iter).run()

        found = map_units(one, self._sets)
        labels = np.concatenate([search.labels for search in found])
        return self.solved(scores, labels, np.array([search.bound for search in found]))


@final
class _Set:
    """One set: its network with the modular part of the loss, and the remainder over independent decisions."""

    def __init__(self, structure: Structure) -> None:
        graphs = structure.batch
        assert isinstance(graphs, Graphs)
        costs, rest = structure.split()
        modular = () if costs is None else (Mistakes(costs),)
        sets = Sets(graphs.truth, graphs.offsets)
        self.graphs, self._structure = graphs, structure
        self._network = MaxFlow().prepare(Structure(graphs, modular))
        self._loss = CountSearch().prepare(Structure(sets, rest.terms, rest.source))

    def evaluate(self, scores: Values, multipliers: Values) -> tuple[float, Bools, Bools]:
        """The bound for given multipliers, and the labels of the cut and of the search."""
        moved = scores.copy()
        moved[self.graphs.node_places] += multipliers
        # Both are relative to the target, where the multipliers cancel.
        network, loss = self._network.maximize(moved), self._loss.maximize(-multipliers)
        return float(network.bounds[0] + loss.bounds[0]), network.labels, loss.labels

    def value(self, scores: Values, labels: Bools) -> float:
        """The value of labels, relative to the target."""
        return float(self._structure.values(labels)[0] + self.graphs.won(scores, labels)[0])


@final
class _Search:
    """The descent on the bound of one set.

    Attributes
    ----------
    labels, best : the best labels so far, and their value
    bound : the lowest bound so far
    """

    def __init__(self, one: _Set, scores: Values, tol: float, most: int) -> None:
        self.labels: Bools = one.graphs.truth
        self.best, self.bound = one.value(scores, self.labels), np.inf
        self._one, self._scores, self._tol, self._left = one, scores, tol, most
        # Multipliers that reverse a node are as large as its scores.
        self._scale = 1e-3 / one.graphs.total + float(np.abs(scores).max())

    def run(self) -> "_Search":
        """Lower the bound with two multipliers, then with one for each node."""
        truth = self._one.graphs.truth
        sides = np.column_stack([truth, ~truth]).astype(np.float64)
        two = self._lower(np.zeros(2), sides)
        if not self._done:
            self._lower(sides @ two, None)
        return self

    @property
    def _done(self) -> bool:
        """Whether value and bound are close enough, or no evaluations are left."""
        close = max(self._tol, EQUAL * (1.0 + abs(self.best)))
        return self._left <= 0 or self.bound - self.best <= close

    def _lower(self, start: Values, sides: Values | None) -> Values:
        """Lower the bound from a start, with the multipliers ``sides @ x``, or x itself; returns the best x."""
        bundle = Bundle(start, self._scale)
        while not self._done and bundle.decrease > CLOSE * self._scale:
            value, slope = self._at(bundle.point if sides is None else sides @ bundle.point)
            bundle.add(value, slope if sides is None else slope @ sides)
        return bundle.centre

    def _at(self, multipliers: Values) -> tuple[float, Values]:
        """The bound and its slope; both labelings are candidates."""
        self._left -= 1
        bound, *found = self._one.evaluate(self._scores, multipliers)
        self.bound = min(self.bound, bound)
        for labels in found:
            value = self._one.value(self._scores, labels)
            if value > self.best:
                self.best, self.labels = value, labels
        return bound, found[0].astype(np.float64) - found[1]
