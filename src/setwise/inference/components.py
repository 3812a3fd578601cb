"""The connected components of networks are problems of their own where the loss is a sum over their nodes.

Maximizers of networks are asked for the same scores again and again, with other moves of the scores of nodes.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, final

import numpy as np

from setwise.core.bound_loss import BoundLoss, LabelCosts
from setwise.core.checks import Bools, Floats, Ints, Values, as_parts, as_scores
from setwise.core.inference import Maximizer, Solutions, as_base_values, as_forced
from setwise.core.networks import Graphs, Network
from setwise.core.terms import Mistakes
from setwise.kernels.segments import segment_sums


class MoveSearch(Protocol):
    """``max_y l(y) + <s, phi(y) - target> + <m, y>`` for fixed scores s and any moves m of the scores of nodes."""

    def solve(self, moves: Values) -> tuple[Bools, Values]:
        """The labels (total,) that were found, and the bound of each set, (n,)."""

    def settle(self, moves: Values, most: Values) -> tuple[Bools, Values, Values]:
        """The same, but the bounds are for other moves from -most to most, which come last, (total,).

        For these the labels are still the best, and they go as far against the labels as is known to be possible.
        """


class MovableMaximizer(Maximizer):
    """A maximizer with a short way for moves: what depends on the scores alone is computed once."""

    @abstractmethod
    def moving(self, scores: Floats) -> MoveSearch:
        """The maximum for these scores, ready for moves."""


@final
@dataclass(frozen=True, eq=False)
class MovingScores:
    """The maximum by any method of inference, from the start for each move."""

    maximizer: Maximizer
    scores: Values

    def solve(self, moves: Values) -> tuple[Bools, Values]:
        graphs, scores = self.maximizer.bound_loss.batch, self.scores.copy()
        assert isinstance(graphs, Graphs)
        scores[graphs.node_places] += moves
        found = self.maximizer.solve(scores, np.zeros(len(graphs)))
        # Solutions count from the target, which takes its share of the moves along.
        return found.labels, found.bounds + segment_sums(moves * graphs.truth, graphs.offsets)

    def settle(self, moves: Values, most: Values) -> tuple[Bools, Values, Values]:
        return *self.solve(moves), moves


def moving(maximizer: Maximizer, scores: Floats) -> MoveSearch:
    """The maximum for these scores, ready for moves: by a short way where the maximizer has one."""
    if isinstance(maximizer, MovableMaximizer):
        return maximizer.moving(scores)
    return MovingScores(maximizer, scores.astype(np.float64))


def each_component(bound_loss: BoundLoss, make: Callable[[BoundLoss], Maximizer]) -> Maximizer:
    """The maximizer that ``make`` binds, to the connected components as sets of their own where the loss is modular.

    A component then has a value, a bound and a certificate of its own. Large scores elsewhere do not drown them.

    Parameters
    ----------
    bound_loss : a loss; batches of other kinds are bound as they are
    make : binds a bound loss of that kind
    """
    alone = _split_components(bound_loss)
    return make(bound_loss) if alone is bound_loss else _ByComponents(bound_loss, make(alone))


def _split_components(bound_loss: BoundLoss) -> BoundLoss:
    """The bound loss whose sets are the components, the nodes of each in their order, if there are more."""
    batch: Any = bound_loss.batch
    modular = all(isinstance(term, Mistakes | LabelCosts) for term in bound_loss.terms)
    if not isinstance(bound_loss.batch, Network) or not modular or batch.components.max() + 1 == len(batch):
        return bound_loss
    nodes, edges = _order(batch)
    place = np.empty_like(nodes)
    place[nodes] = np.arange(len(nodes))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(batch.components))])
    split: Any = replace(batch, labels=batch.labels[nodes], offsets=offsets, edges=place[batch.edges[edges]])
    if isinstance(batch, Graphs) and batch.grids is not None:
        # Each grid is a component, and grids follow one another.
        split.__dict__["grids"] = batch.grids
    terms: list[Any] = list(bound_loss.terms)
    return BoundLoss(split, tuple(replace(term, costs=term.costs[nodes]) for term in terms), bound_loss.source)


def _order(batch: Network) -> tuple[Ints, Ints]:
    """The nodes component by component, (total,), and the edges, (m,)."""
    return (
        np.argsort(batch.components, kind="stable"),
        np.argsort(batch.components[batch.edges[:, 0]], kind="stable"),
    )


@final
class _ByComponents(MovableMaximizer):
    """Maximizes each component, and puts the sets together.

    Parameters
    ----------
    bound_loss : that of the whole sets
    inner : the maximizer of the components
    """

    def __init__(self, bound_loss: BoundLoss, inner: Maximizer) -> None:
        self.method, self.bound_loss, self.slack, self._inner = inner.method, bound_loss, False, inner
        batch, alone = bound_loss.batch, inner.bound_loss.batch
        assert isinstance(batch, Network)
        assert isinstance(alone, Network)
        self.nodes, edges = _order(batch)
        self._places = np.empty(batch.n_scores, np.int64)
        self._places[alone.node_columns] = batch.node_columns[self.nodes]
        self._places[alone.edge_columns] = batch.edge_columns[edges]
        # Component c is among those of the set that owns its first node.
        self._ends = np.searchsorted(alone.offsets, batch.offsets)
        self._owners = np.repeat(np.arange(len(batch)), np.diff(self._ends))

    def take(self, parts: Ints) -> Maximizer:
        parts = as_parts(parts, len(self.bound_loss.batch))
        chosen = np.concatenate([np.arange(self._ends[i], self._ends[i + 1]) for i in parts])
        return _ByComponents(self.bound_loss.take(parts), self._inner.take(chosen))

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        return self._joined(self._inner.solve(scores[self._places], (tol / np.diff(self._ends))[self._owners]))

    def best(self, scores: Any, forced: Any) -> Solutions:
        batch = self.bound_loss.batch
        given, wanted = as_scores(scores, batch.n_scores), as_forced(forced, batch.total, batch.n_labels)
        return self._joined(self._inner.best(given[self._places], wanted[self.nodes]))

    def _joined(self, found: Solutions) -> Solutions:
        """What the components have, put together."""
        exact = np.bincount(self._owners, ~found.exact, len(self.bound_loss.batch)) == 0
        return Solutions(self.whole(found.labels), self.summed(found.values), self.summed(found.bounds), exact)

    def max_marginals(self, scores: Any, base: Values | float = 0.0) -> Values:
        given = as_scores(scores, self.bound_loss.batch.n_scores)[self._places]
        found, one = self._inner.max_marginals(given), self._inner.maximize(given)
        # The labels of any node lead to the maximum of its component.
        first = found[self._inner.bound_loss.batch.offsets[:-1]].max(axis=1)
        best = np.where(one.exact, one.values, first)
        others = self.summed(best)[self._owners] - best + as_base_values(base, len(self.bound_loss.batch))[self._owners]
        return np.asarray(self.whole(found + others[self._inner.bound_loss.batch.owners, None]))

    def moving(self, scores: Floats) -> MoveSearch:
        return _MovingComponents(self, moving(self._inner, scores[self._places]))

    def whole(self, of_nodes: Any) -> Any:
        """What the nodes have, in the order of the whole sets."""
        out = np.empty_like(of_nodes)
        out[self.nodes] = of_nodes
        return out

    def summed(self, values: Values) -> Values:
        """The sums over the components of each set."""
        return segment_sums(values, self._ends)


@final
@dataclass(frozen=True, eq=False)
class _MovingComponents:
    """The moves of whole sets, handed on to their components."""

    whole: _ByComponents
    inner: MoveSearch

    def solve(self, moves: Values) -> tuple[Bools, Values]:
        labels, bounds = self.inner.solve(moves[self.whole.nodes])
        return self.whole.whole(labels), self.whole.summed(bounds)

    def settle(self, moves: Values, most: Values) -> tuple[Bools, Values, Values]:
        labels, bounds, settled = self.inner.settle(moves[self.whole.nodes], most[self.whole.nodes])
        return self.whole.whole(labels), self.whole.summed(bounds), self.whole.whole(settled)
