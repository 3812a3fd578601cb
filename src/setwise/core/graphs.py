"""Batches of sets of binary decisions that are the nodes of graphs, in flat arrays."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Bools, Floats, Ints, Values
from setwise.core.batch import Batch, segments
from setwise.core.checks import as_array, as_offsets, shown
from setwise.core.sets import as_truth
from setwise.kernels.agreement import network_won
from setwise.kernels.segments import chosen_offsets


@final
@dataclass(frozen=True, eq=False)
class Graphs(Batch):
    """``n`` sets of binary decisions with a score for each, and one for each edge between two of them.

    The score of a labeling is ``sum_i s_i y_i + sum_e s_e [y_a = y_b]``, where a and b are the ends of edge e: an Ising
    or Potts model of two labels. A set may be one graph or several, for its nodes need not be connected; its loss joins
    them. The scores of a set are those of its nodes, then those of its edges.

    Parameters
    ----------
    labels : (total,) bool, or int8 of -1, 0, 1 where -1 marks an unknown label
    offsets : (n+1,) int64, strictly increasing from 0 to total; set i owns the nodes ``offsets[i]:offsets[i+1]``
    edges : (m, 2) int64, the nodes that each edge joins, counted in ``labels``; both are of one set, and the edges are
        listed set by set
    """

    labels: NDArray[Any]
    offsets: Ints
    edges: Ints

    def __post_init__(self) -> None:
        labels = as_truth(self.labels)
        edges = as_array(self.edges, "edges")
        if edges.dtype != np.int64 or edges.ndim != 2 or edges.shape[1] != 2:
            raise ValueError(f"edges must be int64 of shape (m, 2); got {edges.dtype} of shape {edges.shape}.")
        # The kernels index nodes and arcs by int32.
        if max(len(labels), 2 * len(edges)) > np.iinfo(np.int32).max:
            raise ValueError(f"a batch holds up to 2^31 - 1 nodes and 2^30 edges; got {len(labels)} and {len(edges)}.")
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "offsets", as_offsets(self.offsets, len(labels)))
        object.__setattr__(self, "edges", edges)
        if len(edges):
            self._check_edges(edges)

    def _check_edges(self, edges: Ints) -> None:
        if edges.min() < 0 or edges.max() >= self.total:
            raise ValueError(f"edges must join nodes 0..{self.total - 1}; got {edges.min()} to {edges.max()}.")
        own = self.owners[edges]
        for wrong, what in (
            (edges[:, 0] == edges[:, 1], "different nodes"),
            (own[:, 0] != own[:, 1], "nodes of one set"),
        ):
            if wrong.any():
                raise ValueError(f"edges must join {what}; got {shown(edges[wrong][0].tolist())}.")
        if (np.diff(own[:, 0]) < 0).any():
            raise ValueError("edges must be listed set by set, in the order of the sets.")

    @property
    def n_labels(self) -> int:
        """The number of labels of a decision: two."""
        return 2

    @cached_property
    def edge_offsets(self) -> Ints:
        """Set ``i`` owns the edges ``edge_offsets[i]:edge_offsets[i+1]``, (n+1,)."""
        # The first end of each edge is enough, for both are of one set.
        return np.searchsorted(self.owners[self.edges[:, 0]], np.arange(len(self) + 1))

    @cached_property
    def score_offsets(self) -> Ints:
        """Each node and each edge has one score, (n+1,)."""
        return self.offsets + self.edge_offsets

    @cached_property
    def node_places(self) -> Ints:
        """The position of the score of each node, (total,)."""
        return np.arange(self.total) + np.repeat(self.edge_offsets[:-1], self.sizes)

    @cached_property
    def edge_places(self) -> Ints:
        """The position of the score of each edge, (m,)."""
        return np.arange(len(self.edges)) + np.repeat(self.offsets[1:], np.diff(self.edge_offsets))

    @cached_property
    def unary(self) -> Ints:
        """The positions of the scores of nodes, (total, 2): they belong to label 1, and label 0 has none."""
        return np.column_stack([np.full(self.total, -1), self.node_places])

    def encode(self, labels: NDArray[Any]) -> Values:
        positive: Bools = labels == 1
        out = np.empty(self.n_scores)
        out[self.node_places] = positive
        out[self.edge_places] = positive[self.edges[:, 0]] == positive[self.edges[:, 1]]
        return out

    def won(self, scores: Floats, labels: NDArray[Any]) -> Values:
        positive = np.asarray(labels == 1)
        return network_won(scores, positive, self.truth, self.edges, self.offsets, self.edge_offsets)

    def take(self, parts: Ints) -> "Graphs":
        at, edges = self.decisions(parts), segments(parts, self.edge_offsets)
        offsets, counts = chosen_offsets(parts, self.offsets), np.diff(self.edge_offsets)[parts]
        # Each chosen set moves to where the sets before it end.
        moved = self.edges[edges] + np.repeat(offsets[:-1] - self.offsets[parts], counts)[:, None]
        chosen = object.__new__(Graphs)
        chosen.__dict__.update(labels=self.labels[at], offsets=offsets, edges=moved)
        return chosen
