"""Networks of two labels in one form: a score of each node and one of each edge, whatever the batch and the loss."""

from typing import final

import numpy as np

from setwise.core.checks import Bools, Floats, Ints, Values
from setwise.core.networks import ClassGraphs, Graphs
from setwise.core.structure import Structure
from setwise.inference.pairwise import label_costs, stronger
from setwise.kernels.segments import segment_sums

Networks = Graphs | ClassGraphs


@final
class TwoLabels:
    """``best(y) - best(0) = sum_i s_i y_i + sum_e s_e ([y_a = y_b] - 1)`` for the scores s of nodes and of edges.

    Every table of an edge has this form: ``t(u, v) = t(0, 0) + A u + B v + s_e ([u = v] - 1)`` with
    ``s_e = (t(0, 0) + t(1, 1) - t(0, 1) - t(1, 0)) / 2``, ``A = t(1, 0) - t(0, 0) + s_e`` and
    ``B = t(0, 1) - t(0, 0) + s_e``.

    Attributes
    ----------
    edges : (m, 2) the nodes of each edge
    forced : (total,) bool, the nodes to which the loss leaves one label only
    """

    def __init__(self, structure: Structure) -> None:
        assert isinstance(structure.batch, Graphs | ClassGraphs)
        self.batch: Networks = structure.batch
        self.edges: Ints = self.batch.edges
        costs = label_costs(structure)
        forbidden = costs == -np.inf
        self._costs = np.where(forbidden, 0.0, costs)
        # A node of which both labels are forbidden has no best label, and the value -inf says so.
        self.forced: Bools = forbidden[:, 0] != forbidden[:, 1]
        self._to_one: Bools = forbidden[:, 0]

    def scores(self, scores: Floats) -> tuple[Values, Values]:
        """The scores of the nodes, (total,), and of the edges, (m,), before labels are forced."""
        batch, s = self.batch, scores.astype(np.float64, copy=False)
        moved = self._costs[:, 1] - self._costs[:, 0]
        edges = s[batch.edge_columns]
        if isinstance(batch, Graphs):
            return s[batch.node_places] + moved, edges[:, 0]
        nodes = s[batch.node_columns]
        nodes = nodes[:, 1] - nodes[:, 0] + moved
        if not batch.tables:
            return nodes, edges[:, 0]
        weights = 0.5 * (edges[:, 0] + edges[:, 3] - edges[:, 1] - edges[:, 2])
        for side, column in ((0, 2), (1, 1)):
            own = edges[:, column] - edges[:, 0] + weights
            nodes += np.bincount(self.edges[:, side], own, batch.total)
        return nodes, weights

    def force(self, nodes: Values, weights: Values) -> tuple[Values, Values]:
        """The scores of the nodes with those that force labels, and what these add to each set, (n,)."""
        batch = self.batch
        if not self.forced.any():
            return nodes, np.zeros(len(batch))
        strength = np.abs(nodes)
        for ends in self.edges.T:
            strength += np.bincount(ends, np.abs(weights), batch.total)
        strength = stronger(strength)
        moved = np.where(self.forced, np.where(self._to_one, strength, -strength), nodes)
        added = np.where(self.forced & self._to_one, moved - nodes, 0.0)
        return moved, segment_sums(added, batch.offsets)

    def at_zero(self, scores: Floats) -> Values:
        """The value of the labeling that is 0 everywhere, without what it may not do, (n,)."""
        batch = self.batch
        zeros = np.zeros(batch.total, dtype=bool if isinstance(batch, Graphs) else np.int64)
        return segment_sums(self._costs[:, 0].copy(), batch.offsets) + batch.won(scores, zeros)
