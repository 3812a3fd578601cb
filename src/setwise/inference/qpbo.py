"""Roof duality: a bound, and labels that are certain, for networks of two labels whose edges have any sign.

Networks of two labels have one form: a score of each node and one of each edge, whatever the batch and the loss.
"""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.attributes import cached_property
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Floats, Ints, Values, as_count, as_scores
from setwise.core.inference import Inference, Maximizer, Solutions, Takes
from setwise.core.networks import Graphs, Network
from setwise.inference.components import each_component
from setwise.inference.max_flow import BLOCK, TwoLabels, blocks
from setwise.inference.message_passing import NETWORKS, outweighing
from setwise.kernels.cuts import close, cut, cut_bounds, double, persistent, recut, settle
from setwise.kernels.max_flow import SearchForest, new_forest
from setwise.kernels.segments import segment_sums
from setwise.kernels.threads import map_units

PARTS = 32
"""In a round of improvement the nodes are fixed in so many parts or fewer."""


@final
@dataclass(frozen=True)
class QPBO(Inference):
    """``max_y l(y) + <s, phi(y)>`` for modular losses l on networks of two labels, whose edges have any scores.

    The bound is the roof dual (Hammer, Hansen and Simeone 1984; Kolmogorov and Rother 2007): half the value of a
    minimum cut of a network in which each node has a mate, its contrary. Where the cut gives a node and its mate
    different labels, all best labelings have that label (:meth:`persistent`). Further nodes get labels together where
    these keep the bound. The rest follow their own scores and their neighbors, and are then improved: in random order
    nodes keep their label, some at once, and the cut says which labels the others have then (Rother et al. 2007).
    No round of this makes the labeling worse.

    Where all edges attract, it is ``MaxFlow`` at twice the work. ``Graphs``, and ``ClassGraphs`` of two labels.

    Parameters
    ----------
    rounds : the number of rounds of improvement, each of which takes some cuts

    Raises
    ------
    TypeError : for ``rounds`` that are no whole number
    ValueError : for ``rounds`` below 0
    Refusal : from :meth:`prepare`, for more than two labels, batches other than networks, losses that are not modular,
        slack rescaling

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.core.bound_loss import BoundLoss
    >>> from setwise.inference import QPBO
    >>> pair = Graphs(np.array([False, False]), np.array([0, 2]), np.array([[0, 1]]))
    >>> found = QPBO().prepare(BoundLoss(pair)).maximize([1.0, 0.5, -2.0])  # the edge loses 2 where labels agree
    >>> print(found.labels, found.values)  # the truth has the score -2, this labeling 1
    [ True False] [3.]
    """

    rounds: int = 5

    name: ClassVar[str] = "qpbo"
    about: ClassVar[str] = "roof duality of networks of two labels"
    approximate: ClassVar[bool] = True
    takes: ClassVar[Takes] = NETWORKS

    def __post_init__(self) -> None:
        as_count(self.rounds, "rounds", low=0)

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        batch = bound_loss.batch
        assert isinstance(batch, Network)
        if batch.n_labels != 2:
            return f"QPBO refuses {batch.n_labels} labels: it takes two. Use TreeReweightedMessages or AlphaExpansion."
        if len(batch.edges) >= 2**29:
            return f"QPBO refuses {len(batch.edges)} edges: it takes fewer than 2^29. Take fewer sets at once."
        return None

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return each_component(bound_loss, lambda parts: _QPBO(self, parts))

    def persistent(self, bound_loss: BoundLoss, scores: ArrayLike) -> NDArray[np.int8]:
        """The labels (total,) that all best labelings have, and -1 where roof duality tells nothing."""
        self.prepare(bound_loss)
        return _QPBO(self, bound_loss).persistent(as_scores(scores, bound_loss.batch.n_scores))


@final
class _QPBO(Maximizer):
    def __init__(self, method: QPBO, bound_loss: BoundLoss) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, False
        self._problem, self._rounds = TwoLabels(bound_loss), method.rounds

    @cached_property
    def _blocks(self) -> "list[_MateNetwork]":
        batch, edges = self._problem.batch, self._problem.edges
        return [_MateNetwork(edges, batch.offsets, *ends) for ends in blocks(edges, batch.total, BLOCK)]

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch = self._problem.batch
        bounds = self._bounds(scores)
        labels = np.empty(batch.total, dtype=np.int8)
        map_units(lambda block: block.label(labels, self._rounds), self._blocks)
        return self.solved(scores, labels.astype(bool if isinstance(batch, Graphs) else np.int64), bounds)

    def persistent(self, scores: Floats) -> NDArray[np.int8]:
        """The labels that all best labelings have, -1 for others."""
        self._bounds(scores)
        labels = np.empty(self._problem.batch.total, dtype=np.int8)
        for block in self._blocks:
            block.persistent(labels)
        return labels

    def _bounds(self, scores: Floats) -> Values:
        """Cuts all blocks, and returns the bound of each set."""
        problem, batch = self._problem, self._problem.batch
        own, weights = problem.scores(scores)
        nodes, added = problem.force(own, weights)
        roofs = np.zeros(len(batch))
        map_units(lambda block: block.cut(nodes, weights), self._blocks)
        for block in self._blocks:
            block.add_bounds(roofs)
        # The cut counts every node twice, and from labels that no edge dislikes.
        lost = problem.of_sets(np.minimum(weights, 0.0))
        bounds = 0.5 * (roofs + segment_sums(nodes, batch.offsets)) - lost - added
        return bounds + problem.at_zero(scores)


@final
class _MateNetwork:
    """Some nodes of a batch, which no edge leaves, with the network of them and their mates."""

    def __init__(self, edges: Ints, offsets: Ints, first: int, last: int) -> None:
        self._nodes, self._n = slice(first, last), last - first
        self._edges = np.flatnonzero((edges[:, 0] >= first) & (edges[:, 0] < last))
        self._ends = edges[self._edges] - first
        sets = np.searchsorted(offsets, [first, last - 1], side="right") - 1
        self._sets = slice(int(sets[0]), int(sets[1]) + 1)
        own = np.clip(offsets[sets[0] : sets[1] + 2], first, last) - first
        self._offsets = np.concatenate([own, own[1:] + self._n])
        self._weights: Values | None = None

    def cut(self, nodes: Values, weights: Values) -> None:
        """A minimum cut, found from the last one where the edges have the same scores."""
        own, pairs = nodes[self._nodes], weights[self._edges]
        self._scores = np.concatenate([own, -own])
        if self._weights is not None and np.array_equal(self._weights, pairs):
            self._again(self._scores)
            return
        if self._weights is None or not np.array_equal(self._weights < 0.0, pairs < 0.0):
            self._network, self._places, self._mirrors = double(self._ends, pairs >= 0.0, self._n)
            self._forest: SearchForest = new_forest(self._network, 2 * self._n)
            self._capacities = np.empty(len(self._forest.capacities))
        self._capacities[self._places] = np.abs(pairs)[:, None]
        cut(self._network, self._forest, self._capacities, self._scores)
        self._weights, self._last = pairs, self._scores

    @property
    def _strength(self) -> Values:
        """A score of each node that outweighs its own and all its edges, (n,)."""
        assert self._weights is not None
        return outweighing(np.abs(self._scores[: self._n]), self._ends, np.abs(self._weights))

    def _again(self, scores: Values) -> None:
        """The cut for other scores, from the last one."""
        recut(self._network, self._forest, self._capacities, scores, np.flatnonzero(self._last != scores))
        self._last = scores

    def add_bounds(self, roofs: Values) -> None:
        """Add the values of the cut to those of the sets."""
        both = np.zeros(len(self._offsets) - 1)
        cut_bounds(self._network, self._forest, self._capacities, self._scores, self._offsets, both)
        roofs[self._sets] += both.reshape(2, -1).sum(axis=0)

    def persistent(self, labels: NDArray[np.int8]) -> None:
        """Write the labels of the cut, and -1 for nodes that it leaves open."""
        persistent(self._forest, labels[self._nodes])

    def label(self, labels: NDArray[np.int8], rounds: int) -> None:
        """Write labels of all nodes."""
        own = labels[self._nodes]
        persistent(self._forest, own)
        if (own >= 0).all():
            return
        marks, stack = np.empty((2, 2 * self._n), dtype=np.int32)
        close(self._network, self._forest, self._mirrors, own, marks, stack)
        if (own >= 0).all():
            return
        settle(self._network, self._capacities, self._scores, own)
        for seed in range(rounds):
            self._improve(own, np.random.default_rng(seed).permutation(self._n))
            settle(self._network, self._capacities, self._scores, own)

    def _improve(self, labels: NDArray[np.int8], order: Ints) -> None:
        """Fix nodes to their labels in an order, and give the others the labels that are then certain."""
        n, scores, certain, strength = self._n, self._scores, np.empty_like(labels), self._strength
        self._again(self._scores)
        for _ in range(PARTS + 1):
            persistent(self._forest, certain)
            labels[:] = np.where(certain >= 0, certain, labels)
            fixed = order[certain[order] < 0][: -(-n // PARTS)]
            scores = scores.copy()
            push = np.where(labels[fixed] == 1, strength[fixed], -strength[fixed])
            scores[fixed], scores[fixed + n] = push, -push
            self._again(scores)
