"""Maximum flow: the best labeling of networks of two labels with attracting edges, for modular losses.

The nodes and edges of graphs become networks of cuts, in blocks that no edge leaves.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.batch import Places, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Floats, Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.inference import NO_SPLIT, Inference, Maximizer, Solutions, Takes, as_base_values
from setwise.core.networks import ClassGraphs, Graphs, Grids, boxes
from setwise.core.pages import NETWORKS_REFUSE
from setwise.core.terms import Mistakes
from setwise.inference.components import MovableMaximizer, each_component
from setwise.inference.message_passing import label_costs, outweighing
from setwise.kernels.cuts import cut, cut_bounds, cut_losses, read_labels, recut
from setwise.kernels.max_flow import new_forest
from setwise.kernels.networks import Arcs, Lattice, arcs, lattice
from setwise.kernels.segments import segment_sums
from setwise.kernels.threads import map_units


class FlowNetwork(ABC):
    """The network of the nodes ``first:last``, which no edge leaves.

    Attributes
    ----------
    first, last : the nodes
    edges : the positions of their edges among those of the batch
    network : the layout of the arcs
    """

    first: int
    last: int
    edges: Places
    network: Arcs | Lattice

    @abstractmethod
    def place(self, weights: Values, capacities: Values) -> None:
        """Write the weight of each edge as the capacity of its two arcs."""


def wirings(graphs: Graphs, size: int) -> list[FlowNetwork]:
    """The networks of blocks of about ``size`` nodes: of lattices where the graphs are grids, else of lists of arcs."""
    # Sequences gain nothing from a lattice, which would be compiled for them alone.
    if graphs.grids is not None and graphs.grids.shapes.shape[1] > 1:
        return [_GridStack(graphs.grids, first, last) for first, last in graphs.grids.runs(size)]
    return [ArcNetwork(graphs.edges, *ends) for ends in blocks(graphs.edges, graphs.total, size)]


@final
class ArcNetwork(FlowNetwork):
    """A list of arcs. The edges end in ``ends`` (m, 2), counted from the first node, and their arcs are ``places``."""

    network: Arcs

    def __init__(self, edges: Ints, first: int, last: int) -> None:
        self.first, self.last = first, last
        self.edges = np.flatnonzero((edges[:, 0] >= first) & (edges[:, 0] < last))
        self.ends = edges[self.edges] - first
        self.network, self.places = arcs(self.ends, last - first)

    def place(self, weights: Values, capacities: Values) -> None:
        capacities[self.places] = weights[:, None]


@final
class _GridStack(FlowNetwork):
    """Grids of one shape on top of each other: no capacities join them, as none leave their sides."""

    def __init__(self, grids: Grids, first: int, last: int) -> None:
        self.first, self.last = int(grids.offsets[first]), int(grids.offsets[last])
        self.edges = slice(int(grids.edge_offsets[first]), int(grids.edge_offsets[last]))
        self._count, self._shape = last - first, tuple(grids.shapes[first].tolist())
        self._boxes = boxes(self._shape, grids.neighbors)
        self.network: Lattice = lattice(self._shape, grids.neighbors)

    def place(self, weights: Values, capacities: Values) -> None:
        rows, shifts, at = weights.reshape(self._count, -1), self.network.shifts, 0
        table = capacities.reshape(-1, len(shifts))
        n, pad = self.last - self.first, self.network.pad
        for k, box in enumerate(self._boxes):
            for way, shift in ((2 * k, 0), (2 * k + 1, int(shifts[2 * k]))):
                # The arc back begins where the arc there ends.
                column = table[pad + shift : pad + shift + n, way].reshape(self._count, *self._shape)
                inside = column[:, *box]
                inside[...] = rows[:, at : at + inside[0].size].reshape(inside.shape)
            at += inside[0].size


def blocks(edges: Ints, total: int, size: int) -> list[tuple[int, int]]:
    """The first node of each block of ``size`` nodes or more, and the one after its last; no edge joins two blocks."""
    crossing = np.zeros(total + 1, dtype=np.int64)
    np.add.at(crossing, edges.min(axis=1) + 1, 1)
    np.add.at(crossing, edges.max(axis=1) + 1, -1)
    free = np.flatnonzero(np.cumsum(crossing) == 0)
    found, last = list[tuple[int, int]](), 0
    while last < total:
        # The last end is free, for no edge leaves all nodes; a rest that is small joins the block before it.
        first, at = last, np.searchsorted(free, last + size)
        last = int(free[at]) if at < len(free) and total - free[at] >= size else total
        found.append((first, last))
    return found


BLOCK = 20_000
"""Graphs are cut together until they have so many nodes; threads share these blocks."""

ROUNDING = 1e-12
"""Scores of edges below 0 by this share of the largest score are taken for 0: sums of a start and of steps round so."""


GRAPHS = Takes(
    Graphs,
    "{kind}: it takes Graphs. Use an inference made for {kind}, such as Auto().",
    slack=NO_SPLIT,
)
"""What methods for networks of two labels take, if they know no more of it."""


@final
@dataclass(frozen=True)
class MaxFlow(Inference):
    """``max_y l(y) + sum_i s_i y_i + sum_e s_e [y_a = y_b]`` for modular losses l and edges of ``s_e >= 0``.

    Exact, by minimum cuts: the value is that of the labeling, the bound that of the flow (Boykov and Kolmogorov 2004).
    Labels that are not known cost nothing. With scores of edges below 0 the problem is no cut, and they are refused;
    learners keep them at 0 or above where the model bounds its weights. The search is fast in practice; its worst case
    is O(p^2 m) times the value of the cut, for whole numbers.

    Raises
    ------
    ValueError : from its maximizers, for scores of edges below 0
    Refusal : from :meth:`prepare`, for batches other than ``Graphs``, losses that are not modular, slack rescaling

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.core.bound_loss import BoundLoss
    >>> from setwise.inference import MaxFlow
    >>> image = Graphs.images([np.zeros((1, 3), dtype=bool)])  # three pixels in a row, and two edges
    >>> found = MaxFlow().prepare(BoundLoss(image)).maximize([2.0, -1.0, 2.0, 1.0, 1.0])
    >>> print(found.labels, found.values)  # the second pixel follows its neighbors: 2 - 1 + 2
    [ True  True  True] [3.]
    """

    name: ClassVar[str] = "max_flow"
    about: ClassVar[str] = "minimum cuts of networks of two labels"
    takes: ClassVar[Takes] = replace(
        GRAPHS, terms=Mistakes, other_terms="the loss is not a sum of one cost per mistake. Use Hamming()."
    )

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return each_component(bound_loss, lambda parts: _MaxFlow(self, parts))


def modular_part(bound_loss: BoundLoss) -> BoundLoss:
    """The costs of single mistakes alone, which cuts take."""
    return replace(bound_loss, terms=tuple(term for term in bound_loss.terms if isinstance(term, Mistakes)))


INSTEAD = "or use QPBO, or DualDecomposition(network=QPBO()) for a loss of counts."
"""What takes edges that repel in place of minimum cuts."""


def attracting(scores: Floats, edges: Floats, method: str = "MaxFlow", instead: str | None = INSTEAD) -> Values:
    """The scores of edges, a part of ``scores``, as weights of 0 or above.

    Where they repel, it raises Refusal with what to use ``instead``, or ValueError where nothing is known.
    """
    least = edges.min() if edges.size else 0.0
    if least < -ROUNDING * max(scores.max(initial=0.0), -scores.min(initial=0.0)):
        words = f"{method} needs nonnegative scores of edges; got {least:.4g}. Keep the weights of edges at 0 or above"
        if instead is None:
            raise ValueError(f"{words}.")
        raise Refusal(f"{words}, {instead}", NETWORKS_REFUSE)
    # What rounding has made of 0 is left to the bounds.
    return np.maximum(edges, 0.0, dtype=np.float64)


@final
class TwoLabels:
    """``best(y) - best(0) = sum_i s_i y_i + sum_e s_e ([y_a = y_b] - 1)`` for the scores s of nodes and of edges.

    Every table of an edge has this form: ``t(u, v) = t(0, 0) + A u + B v + s_e ([u = v] - 1)`` with
    ``s_e = (t(0, 0) + t(1, 1) - t(0, 1) - t(1, 0)) / 2``, ``A = t(1, 0) - t(0, 0) + s_e`` and
    ``B = t(0, 1) - t(0, 0) + s_e``. Independent decisions have no edges.

    Attributes
    ----------
    edges : (m, 2) the nodes of each edge
    forced : (total,) bool, the nodes to which the loss leaves one label only
    lost : (n,) what the labeling that is 0 everywhere costs, without what it may not do
    """

    def __init__(self, bound_loss: BoundLoss) -> None:
        assert isinstance(bound_loss.batch, Sets | Graphs | ClassGraphs)
        self.batch = batch = bound_loss.batch
        edgeless = np.zeros((0, 2), np.int64), np.zeros((0, 1), np.int64), np.zeros(len(batch) + 1, np.int64)
        edges = edgeless if isinstance(batch, Sets) else (batch.edges, batch.edge_columns, batch.edge_offsets)
        self.edges, self._columns, self._edge_offsets = edges
        costs = label_costs(bound_loss)
        self._to_one, to_zero = (own == -np.inf for own in costs)
        # A node of which both labels are forbidden has no best label, and the value -inf says so.
        self.forced: Bools = self._to_one != to_zero
        for own in costs:
            own[own == -np.inf] = 0.0
        self._shift = costs[1] - costs[0]
        self.lost = segment_sums(costs[0], batch.offsets)

    def scores(self, scores: Floats) -> tuple[Values, Values]:
        """The scores of the nodes, (total,), and of the edges, (m,), before labels are forced."""
        batch, s = self.batch, scores.astype(np.float64, copy=False)
        assert batch.unary is not None
        if not isinstance(batch, ClassGraphs):
            return s[batch.unary[:, 1]] + self._shift, s[self._columns[:, 0]]
        nodes, edges = s[batch.unary[:, 1]] - s[batch.unary[:, 0]] + self._shift, s[self._columns]
        if not batch.tables:
            return nodes, edges[:, 0]
        weights = 0.5 * (edges[:, 0] + edges[:, 3] - edges[:, 1] - edges[:, 2])
        for side, column in ((0, 2), (1, 1)):
            own = edges[:, column] - edges[:, 0] + weights
            nodes += np.bincount(self.edges[:, side], own, batch.total)
        return nodes, weights

    def force(self, nodes: Values, weights: Values) -> tuple[Values, Values]:
        """The scores of the nodes with those that force labels, and what these add to each set, (n,)."""
        if not self.forced.any():
            return nodes, np.zeros(len(self.batch))
        return self.forced_by(nodes, outweighing(np.abs(nodes), self.edges, np.abs(weights)))

    def forced_by(self, nodes: Values, strength: Values) -> tuple[Values, Values]:
        """The same by forces of this strength, (total,)."""
        moved = np.where(self.forced, np.where(self._to_one, strength, -strength), nodes)
        added = np.where(self.forced & self._to_one, moved - nodes, 0.0)
        return moved, segment_sums(added, self.batch.offsets)

    def of_sets(self, edges: Values) -> Values:
        """The sums over the edges of each set, (n,)."""
        return segment_sums(edges, self._edge_offsets)

    def given(self, scores: Floats) -> Values:
        """What edges whose scores were taken for 0 can win where their ends differ, (n,)."""
        return self.of_sets(np.maximum(-scores[self._columns[:, 0]].astype(np.float64), 0.0))

    def at_zero(self, scores: Floats) -> Values:
        """The value of the labeling that is 0 everywhere, without what it may not do, (n,)."""
        kind = np.int64 if isinstance(self.batch, ClassGraphs) else bool
        return self.lost + self.batch.won(scores, np.zeros(self.batch.total, dtype=kind))


class CutMaximizer(Maximizer):
    """Cuts networks of two labels; of all best labelings it finds the one of fewest positives.

    Attributes
    ----------
    problem : the scores of nodes and edges
    """

    def __init__(self, method: Inference, bound_loss: BoundLoss) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, False
        self.problem = TwoLabels(bound_loss)

    @abstractmethod
    def losses(self, scores: Floats, labels: Bools) -> Values:
        """What each node loses with the label that the last cut does not give it, (total,); inf forbids it."""

    def max_marginals(self, scores: Any, base: Values | float = 0.0) -> Values:
        found, batch = self.maximize(scores), self.bound_loss.batch
        given = np.asarray(scores)
        # Where scores of edges were taken for 0 these are bounds.
        best = (found.values + as_base_values(base, len(batch)) + self.problem.given(given))[batch.owners]
        other = best - np.maximum(self.losses(given, found.labels), 0.0)
        return np.where(found.labels[:, None] == [False, True], best[:, None], other[:, None])


@final
class _CutBlock:
    """Some nodes of graphs, which no edge leaves, with their network and its last cut."""

    def __init__(self, graphs: Graphs, wires: FlowNetwork) -> None:
        first, last = wires.first, wires.last
        self._nodes, self._edges = slice(first, last), wires.edges
        self._network, self._wires = wires.network, wires
        self._forest = new_forest(self._network, last - first)
        self._capacities = np.zeros(len(self._forest.capacities))
        self._last: tuple[Values, Values] | None = None
        sets = np.searchsorted(graphs.offsets, [first, last - 1], side="right") - 1
        self._sets = slice(int(sets[0]), int(sets[1]) + 1)
        self._offsets = np.clip(graphs.offsets[sets[0] : sets[1] + 2], first, last) - first

    def cut(self, nodes: Values, edges: Values, labels: Bools) -> None:
        """Write the labels of a minimum cut, found from the last one where the edges have the same scores.

        They are the smallest set of positives among all that are best, so they do not depend on where the search began.
        """
        own = nodes[self._nodes].copy()
        if self._last is not None and self._same(edges):
            changed = np.flatnonzero(self._last[0] != own)
            recut(self._network, self._forest, self._capacities, own, changed)
        else:
            self._wires.place(edges[self._edges], self._capacities)
            cut(self._network, self._forest, self._capacities, own)
        self._last = own, edges
        read_labels(self._network, self._forest, labels[self._nodes])

    def _same(self, edges: Values) -> bool:
        """Whether the edges have the scores of the last cut."""
        # Scores that were given once are not written to, so the same array holds the same scores.
        before = None if self._last is None else self._last[1]
        return before is not None and (before is edges or np.array_equal(before[self._edges], edges[self._edges]))

    def add_bounds(self, nodes: Values, bounds: Values) -> None:
        """Add the bounds of the values for any scores, by the flow of the last cut, to those of the sets."""
        own = bounds[self._sets]
        cut_bounds(self._network, self._forest, self._capacities, nodes[self._nodes], self._offsets, own)

    def spare(self, out: Values) -> None:
        """Write what the last flow leaves of the scores of nodes, above 0 for label 1 and below 0 for label 0."""
        own, pad = out[self._nodes], self._network.pad
        own[:] = self._forest.residues[pad : pad + len(own)]

    def lose(self, nodes: Values, labels: Bools, lost: Values) -> None:
        """Write what each node loses with the label that the last cut does not give it."""
        own = labels[self._nodes]
        cut_losses(self._network, self._forest, self._capacities, nodes[self._nodes], own, lost[self._nodes])


@final
@dataclass(frozen=True, eq=False)
class MovingCut:
    """The maximum by minimum cuts, each of which begins with the last one.

    ``nodes`` (total,) and ``edges`` (m,) are the scores with the costs of mistakes. ``forced`` (total,) says which
    nodes have no choice, None that all have one, and ``constant`` (n,) is what the bounds of the cuts lack.
    """

    graphs: Graphs
    blocks: list[_CutBlock]
    nodes: Values
    edges: Values
    forced: Bools | None
    constant: Values

    def solve(self, moves: Values) -> tuple[Bools, Values]:
        return self._labels(moves), self._bounds(moves)

    def settle(self, moves: Values, most: Values) -> tuple[Bools, Values, Values]:
        # The flow is still one without its spare scores, and each arc that the cut cuts is full, so the cut is minimal.
        labels, spare = self._labels(moves), np.empty(self.graphs.total)
        for block in self.blocks:
            block.spare(spare)
        if self.forced is not None:
            spare[self.forced] = 0.0
        moves = np.clip(moves - spare, -most, most)
        return labels, self._bounds(moves), moves

    def _labels(self, moves: Values) -> Bools:
        labels, nodes = np.empty(self.graphs.total, dtype=bool), self._moved(moves)
        map_units(lambda block: block.cut(nodes, self.edges, labels), self.blocks)
        return labels

    def _bounds(self, moves: Values) -> Values:
        bounds, nodes = self.constant.copy(), self._moved(moves)
        if self.forced is not None:
            bounds += segment_sums(np.where(self.forced & self.graphs.truth, moves, 0.0), self.graphs.offsets)
        for block in self.blocks:
            block.add_bounds(nodes, bounds)
        return bounds

    def _moved(self, moves: Values) -> Values:
        nodes = self.nodes + moves
        if self.forced is not None:
            # What forces a node must not be moved; its move is won or not, whatever the other labels are.
            nodes[self.forced] = self.nodes[self.forced]
        return nodes


@final
class _MaxFlow(CutMaximizer, MovableMaximizer):
    """Cuts the graphs in blocks of whole components."""

    def __init__(self, method: Inference, bound_loss: BoundLoss) -> None:
        assert isinstance(bound_loss.batch, Graphs)
        super().__init__(method, bound_loss)
        self._graphs = bound_loss.batch

    @cached_property
    def _zeros(self) -> Floats:
        """What the labels that are all 0 have of the scores, less what the target has, (n_scores,)."""
        graphs = self._graphs
        return graphs.encode(np.zeros(graphs.total, dtype=bool)) - graphs.target

    @cached_property
    def _blocks(self) -> list[_CutBlock]:
        return [_CutBlock(self._graphs, wires) for wires in wirings(self._graphs, BLOCK)]

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        graphs, problem, (nodes, edges, extra) = self._graphs, self.problem, self._cut_scores(scores)
        labels, bounds = np.zeros(graphs.total, dtype=bool), np.zeros(len(graphs))
        map_units(lambda block: block.cut(nodes, edges, labels), self._blocks)
        for block in self._blocks:
            block.add_bounds(nodes, bounds)
        # Cuts count from the labels that are all 0.
        zeros = segment_sums(scores * self._zeros, graphs.score_offsets)
        bounds += problem.lost + zeros + problem.given(scores) - extra
        # Forces occur in the sums as well.
        forces = segment_sums(np.where(problem.forced, np.abs(nodes), 0.0), graphs.offsets)
        return self.solved(scores, labels, bounds, np.abs(self.bound_loss.values(labels)) + forces)

    def losses(self, scores: Floats, labels: Bools) -> Values:
        lost, (nodes, _, _) = np.zeros(self._graphs.total), self._cut_scores(scores)
        map_units(lambda block: block.lose(nodes, labels, lost), self._blocks)
        return np.where(self.problem.forced, np.inf, lost)

    def moving(self, scores: Floats) -> MovingCut:
        nodes, edges, extra = self._cut_scores(scores)
        constant = self.problem.at_zero(scores) - extra + self.problem.given(scores)
        forced = self.problem.forced if self.problem.forced.any() else None
        return MovingCut(self._graphs, self._blocks, nodes, edges, forced, constant)

    def _cut_scores(self, scores: Floats) -> tuple[Values, Values, Values]:
        """The scores of the nodes, (total,), those of the edges, (m,), and what forced nodes add to each set, (n,)."""
        own, pairs = self.problem.scores(scores)
        edges = attracting(scores, pairs)
        nodes, extra = self.problem.force(own, edges)
        return nodes, edges, extra
