"""What all batches of networks share: edges between decisions, and the places of the scores of nodes and edges."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Bools, Ints
from setwise.core.batch import Batch, segments
from setwise.core.cached import cached_property
from setwise.core.checks import as_array, as_offsets, shown
from setwise.kernels.messages import components, forests
from setwise.kernels.networks import arcs
from setwise.kernels.segments import chosen_offsets


class Network(Batch):
    """``n`` sets of decisions, the nodes, of which some pairs are joined by edges; both have scores.

    The scores of a set are those of its nodes, one node after another, then those of its edges.

    Attributes
    ----------
    edges : (m, 2) int64, the nodes that each edge joins, counted in ``labels``; both are of one set, and the edges are
        listed set by set
    """

    edges: Ints

    @property
    @abstractmethod
    def widths(self) -> tuple[int, int]:
        """The number of scores of a node, and of an edge."""

    @cached_property
    def edge_offsets(self) -> Ints:
        """Set ``i`` owns the edges ``edge_offsets[i]:edge_offsets[i+1]``, (n+1,)."""
        # The first end of each edge is enough, for both are of one set.
        return np.searchsorted(self.owners[self.edges[:, 0]], np.arange(len(self) + 1))

    @property
    def addends(self) -> Ints:
        """The number of nodes and edges of each set, (n,)."""
        return self.sizes + np.diff(self.edge_offsets)

    @cached_property
    def score_offsets(self) -> Ints:
        """Set ``i`` owns the scores ``score_offsets[i]:score_offsets[i+1]``, (n+1,)."""
        node, edge = self.widths
        return node * self.offsets + edge * self.edge_offsets

    @cached_property
    def node_columns(self) -> Ints:
        """The positions of the scores of each node, (total, scores of a node)."""
        node, edge = self.widths
        first = node * np.arange(self.total) + edge * np.repeat(self.edge_offsets[:-1], self.sizes)
        return first[:, None] + np.arange(node)

    @cached_property
    def edge_columns(self) -> Ints:
        """The positions of the scores of each edge, (m, scores of an edge)."""
        node, edge = self.widths
        before = node * np.repeat(self.offsets[1:], np.diff(self.edge_offsets))
        return (edge * np.arange(len(self.edges)) + before)[:, None] + np.arange(edge)

    @cached_property
    def components(self) -> Ints:
        """The number of the connected component of each node, (total,), counted through all sets by first nodes."""
        return components(self.edges, self.total)

    @cached_property
    def forest(self) -> Bools:
        """Whether the edges of each set form no cycle, (n,): it is a forest, as chains and trees are."""
        network, _ = arcs(self.edges, self.total)
        return forests(network.first, network.heads, self.offsets)

    def _set(self, labels: NDArray[Any], offsets: Any, edges: Any) -> None:
        """Check the offsets and the edges, and set the fields of a frozen subclass."""
        edges = as_array(edges, "edges")
        if edges.dtype != np.int64 or edges.ndim != 2 or edges.shape[1] != 2:
            raise ValueError(f"edges must be int64 of shape (m, 2); got {edges.dtype} of shape {edges.shape}.")
        # The kernels index nodes and arcs by int32.
        if max(len(labels), 2 * len(edges)) > np.iinfo(np.int32).max:
            raise ValueError(f"a batch holds up to 2^31 - 1 nodes and 2^30 edges; got {len(labels)} and {len(edges)}.")
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "offsets", as_offsets(offsets, len(labels)))
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

    def _chosen(self, parts: Ints) -> dict[str, Any]:
        """The labels, offsets and edges of the chosen sets."""
        at, edges = self.decisions(parts), segments(parts, self.edge_offsets)
        offsets, counts = chosen_offsets(parts, self.offsets), np.diff(self.edge_offsets)[parts]
        # Each chosen set moves to where the sets before it end.
        moved = self.edges[edges] + np.repeat(offsets[:-1] - self.offsets[parts], counts)[:, None]
        return {"labels": self.labels[at], "offsets": offsets, "edges": moved}
