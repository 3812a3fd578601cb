"""Batches whose decisions are the nodes of networks, in flat arrays: graphs of two labels or of k, and grids.

Edges join decisions of one set. In a grid each node is joined with its neighbors, as in images, volumes and sequences.
"""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch, Sets, as_codes, as_truth, segments
from setwise.core.checks import (
    LARGEST_LABEL,
    Bools,
    Floats,
    Ints,
    Values,
    as_array,
    as_count,
    as_flag,
    as_offsets,
    shown,
)
from setwise.kernels.messages import components
from setwise.kernels.networks import SHIFTS, network_won, two_label_code
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
        # A forest has as many edges as nodes, less one for each tree; components are counted through the sets in order.
        trees = np.diff(np.maximum.accumulate(self.components)[self.offsets[1:] - 1], prepend=-1)
        return np.asarray(np.diff(self.edge_offsets) == self.sizes - trees)

    def _set(self, labels: NDArray[Any], offsets: Any, edges: Any) -> None:
        """Check the offsets and the edges, and set the fields of a frozen subclass."""
        edges = as_array(edges, "edges")
        if edges.dtype != np.int64 or edges.ndim != 2 or edges.shape[1] != 2:
            raise ValueError(f"edges must be int64 of shape (m, 2); got {edges.dtype} of shape {edges.shape}.")
        # The kernels index nodes and arcs by int32.
        if max(len(labels), 2 * len(edges)) > np.iinfo(np.int32).max:
            raise ValueError(f"a batch holds up to 2^31 - 1 nodes and 2^30 edges; got {len(labels)} and {len(edges)}.")
        self.__dict__.update(labels=labels, offsets=as_offsets(offsets, len(labels)), edges=edges)
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


@final
@dataclass(frozen=True, eq=False)
class ClassGraphs(Network):
    """``n`` sets of decisions with k labels, one score for each label of each, and scores of the edges between them.

    The score of a labeling is ``sum_i s_i(y_i) + sum_e s_e(y_a, y_b)``, where edge e leads from a to b. Without tables
    an edge has one score, which is won where both ends have the same label: a Potts model. With ``tables`` it has k * k
    of them, and that of label u at a and label v at b is at place ``u k + v``.

    A set may be one graph or several, for its nodes need not be connected; its loss joins them. The scores of a set are
    those of its nodes, k for each, then those of its edges. An unknown label has no score in :meth:`encode`, nor have
    its edges.

    Source: DD Eq. 5, for k labels and tables of edges.

    Parameters
    ----------
    labels : (total,) int64 in 0..k-1; -1 marks a label that is unknown
    offsets : (n+1,) int64, strictly increasing from 0 to total; set i owns the nodes ``offsets[i]:offsets[i+1]``
    edges : (m, 2) int64, the nodes that each edge joins, counted in ``labels``; both are of one set, and the edges are
        listed set by set
    k : the number of labels, at least 2
    tables : whether an edge has a score for each pair of labels

    Raises
    ------
    ValueError : for labels that are no int64 in -1..k-1, empty sets, offsets that do not rise from 0 to total, edges
        that do not join two nodes of one set, or are not listed set by set, and k below 2
    TypeError : for k that is no whole number, and ``tables`` that is neither True nor False

    Examples
    --------
    Two nodes with three labels and an edge between them; then the edge has a score for each pair of labels:

    >>> from setwise.core import ClassGraphs
    >>> labels, offsets, edges = np.array([2, 2]), np.array([0, 2]), np.array([[0, 1]])
    >>> batch = ClassGraphs(labels, offsets, edges, k=3)
    >>> batch.n_scores, batch.encode(labels).tolist()
    (7, [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0])
    >>> ClassGraphs(labels, offsets, edges, k=3, tables=True).n_scores
    15
    """

    labels: NDArray[np.int64]
    offsets: Ints
    edges: Ints
    k: int
    tables: bool = False
    binary = False
    """False, also for two labels, since each label has a score of its own here."""

    def __post_init__(self) -> None:
        as_count(self.k, "k", low=2, high=LARGEST_LABEL + 1)
        as_flag(self.tables, "tables")
        self._set(as_codes(self.labels, self.k), self.offsets, self.edges)

    @property
    def n_labels(self) -> int:
        """The number of labels, which is ``k``."""
        return self.k

    @property
    def widths(self) -> tuple[int, int]:
        """A node has k scores, an edge has k * k of them with tables, and 1 without."""
        return self.k, self.k**2 if self.tables else 1

    @cached_property
    def unary(self) -> Ints:
        return self.node_columns

    def encode(self, labels: NDArray[Any]) -> Values:
        out = np.zeros(self.n_scores)
        known = np.flatnonzero(labels >= 0)
        out[self.node_columns[known, labels[known]]] = 1.0
        a, b = labels[self.edges[:, 0]], labels[self.edges[:, 1]]
        won = np.flatnonzero((a >= 0) & (b >= 0) & (self.tables | (a == b)))
        out[self.edge_columns[won, (a * self.k + b)[won] if self.tables else 0]] = 1.0
        return out

    def take(self, parts: Ints) -> "ClassGraphs":
        chosen = object.__new__(ClassGraphs)
        chosen.__dict__.update(self._chosen(parts), k=self.k, tables=self.tables)
        return chosen


@final
@dataclass(frozen=True, eq=False)
class Grids:
    """Some grids, whose nodes follow each other row by row, as in flat arrays.

    The edges are listed grid by grid. In a grid those along the last axis come first, then those along the axes before
    it, then the two diagonals (1, 1) and (1, -1); each of these by its first end, row by row.

    Attributes
    ----------
    shapes : (g, d) int64, the lengths of the axes of each grid
    neighbors : the number of neighbors of a node inside: 2 for d = 1, 4 or 8 for d = 2, 6 for d = 3
    """

    shapes: Ints
    neighbors: int

    @cached_property
    def offsets(self) -> Ints:
        """Grid ``i`` owns the nodes ``offsets[i]:offsets[i+1]``, (g+1,)."""
        return np.concatenate([[0], np.cumsum(self.shapes.prod(axis=1))])

    @cached_property
    def edge_offsets(self) -> Ints:
        """Grid ``i`` owns the edges ``edge_offsets[i]:edge_offsets[i+1]``, (g+1,)."""
        counts = [(self.shapes - np.abs(way)).prod(axis=1) for way in SHIFTS[self.shapes.shape[1], self.neighbors]]
        return np.concatenate([[0], np.cumsum(np.sum(counts, axis=0))])

    def edges(self) -> Ints:
        """The two ends of each edge, (m, 2) int64."""
        out = np.empty((int(self.edge_offsets[-1]), 2), dtype=np.int64)
        listed: dict[tuple[int, ...], int] = {}
        for i, shape in enumerate(map(tuple, self.shapes.tolist())):
            own = out[self.edge_offsets[i] : self.edge_offsets[i + 1]]
            same = listed.setdefault(shape, i)
            if same == i:
                _edges(shape, self.neighbors, own)
                own += self.offsets[i]
            else:
                # Images of one shape differ by where they begin.
                other = out[self.edge_offsets[same] : self.edge_offsets[same + 1]]
                np.add(other, self.offsets[i] - self.offsets[same], out=own)
        return out

    def runs(self, size: int) -> list[tuple[int, int]]:
        """Ranges of grids of one shape that follow each other, each of ``size`` nodes or little more at most."""
        new = np.flatnonzero((np.diff(self.shapes, axis=0) != 0).any(axis=1)) + 1
        out = []
        for first, last in zip([0, *new.tolist()], [*new.tolist(), len(self.shapes)], strict=True):
            step = max(1, -(-size // int(self.shapes[first].prod())))
            out += [(at, min(at + step, last)) for at in range(first, last, step)]
        return out


def as_grids(arrays: Any, neighbors: Any, name: str) -> tuple[list[Any], Grids]:
    """Check arrays of one number of axes, one for each grid, and return them in a list with their grids."""
    many = isinstance(arrays, list | tuple) or (isinstance(arrays, np.ndarray) and arrays.ndim > 1)
    if not many or not len(arrays):
        raise ValueError(f"{name} must be a list of arrays, one for each image; got {shown(arrays)}.")
    found = [as_array(one, name) for one in arrays]
    axes = found[0].ndim
    for one in found:
        if one.ndim != axes or one.size == 0:
            raise ValueError(f"{name} must be arrays of the same number of axes, none empty; got shape {one.shape}.")
    known = [n for d, n in SHIFTS if d == axes]
    if not known:
        raise ValueError(f"{name} must be arrays of one, two or three axes; got shape {found[0].shape}.")
    if isinstance(neighbors, bool) or not isinstance(neighbors, int | np.integer) or neighbors not in known:
        words = " or ".join(map(str, known))
        raise ValueError(f"neighbors must be {words} for arrays of {axes} axes; got {shown(neighbors)}.")
    return found, Grids(np.array([one.shape for one in found], dtype=np.int64), int(neighbors))


def boxes(shape: tuple[int, ...], neighbors: int) -> list[tuple[slice, ...]]:
    """For each direction of the edges of a grid the nodes from which one leads that way, as slices of its axes."""
    sides = {0: slice(None), 1: slice(None, -1), -1: slice(1, None)}
    return [tuple(sides[step] for step in way) for way in SHIFTS[len(shape), neighbors]]


def _edges(shape: tuple[int, ...], neighbors: int, out: Ints) -> None:
    """Write the edges of one grid, (m, 2)."""
    at, end = np.arange(int(np.prod(shape))).reshape(shape), 0
    strides = np.cumprod((1, *shape[:0:-1]))[::-1]
    for way, box in zip(SHIFTS[len(shape), neighbors], boxes(shape, neighbors), strict=True):
        starts = at[box].ravel()
        begin, end = end, end + len(starts)
        out[begin:end, 0] = starts
        np.add(starts, int(np.dot(strides, way)), out=out[begin:end, 1])


@final
@dataclass(frozen=True, eq=False)
class Graphs(Network):
    """``n`` sets of binary decisions with a score for each, and one for each edge between two of them.

    The score of a labeling is ``sum_i s_i y_i + sum_e s_e [y_a = y_b]``, where a and b are the ends of edge e: an Ising
    or Potts model of two labels. A set may be one graph or several, for its nodes need not be connected; its loss joins
    them. The scores of a set are those of its nodes, then those of its edges. :meth:`images` joins the pixels of images
    with their neighbors.

    Source: DD Eq. 5.

    Parameters
    ----------
    labels : (total,) bool, or int8 of -1, 0, 1 where -1 marks an unknown label
    offsets : (n+1,) int64, strictly increasing from 0 to total; set i owns the nodes ``offsets[i]:offsets[i+1]``
    edges : (m, 2) int64, the nodes that each edge joins, counted in ``labels``; both are of one set, and the edges are
        listed set by set

    Attributes
    ----------
    grids : the grids of which the sets consist, if :meth:`images` has made them, else None; cuts are faster then

    Raises
    ------
    ValueError : for labels of other kinds, empty sets, offsets that do not rise from 0 to total, and edges that do not
        join two nodes of one set, or are not listed set by set

    Examples
    --------
    A chain of three nodes; an edge is won where both of its ends have the same label:

    >>> from setwise.core import BoundLoss, Graphs
    >>> from setwise.inference import Auto
    >>> batch = Graphs(np.array([True, False, True]), np.array([0, 3]), np.array([[0, 1], [1, 2]]))
    >>> batch.n_scores, batch.encode(np.array([1, 1, 0])).tolist()
    (5, [1.0, 1.0, 0.0, 1.0, 0.0])
    >>> # The labeling of greatest score: the node in the middle follows its neighbors.
    >>> Auto().prepare(BoundLoss(batch)).maximize([1.0, -0.5, 1.0, 0.4, 0.4]).labels.tolist()
    [True, True, True]
    >>> Graphs.images(np.array([[[True, False], [False, False]]])).edges.tolist()
    [[0, 1], [2, 3], [0, 2], [1, 3]]
    """

    labels: NDArray[Any]
    offsets: Ints
    edges: Ints
    grids: Grids | None = field(default=None, init=False, repr=False)
    n_labels = 2
    """The number of labels of a decision: two."""
    widths = 1, 1
    """Each node and each edge has one score."""

    def __post_init__(self) -> None:
        self._set(as_truth(self.labels), self.offsets, self.edges)

    @classmethod
    def images(cls, labels: Any, neighbors: int = 4, offsets: Any = None) -> "Graphs":
        """Images, volumes or sequences, in which each pixel is joined with its neighbors.

        The edges are in the order of :class:`setwise.core.networks.Grids`: image by image; in an image those to the
        right come first, then those down, then, with 8 neighbors, those down to the right and those down to the left.

        Parameters
        ----------
        labels : the labels of each image, as above: a list of arrays (height, width), or one array (n, height, width)
        neighbors : 4 or 8; 6 for volumes, whose arrays have three axes, and 2 for sequences, whose arrays have one
        offsets : (n+1,) int64, strictly increasing; set i owns the images ``offsets[i]:offsets[i+1]``. None makes each
            image a set
        """
        arrays, grids = as_grids(labels, neighbors, "labels")
        flat = as_truth(np.concatenate([one.ravel() for one in arrays]))
        ends = np.arange(len(arrays) + 1) if offsets is None else as_offsets(offsets, len(arrays))
        # The kernels index arcs by int32, those of a row of pixels before and after an image among them.
        if neighbors * (len(flat) + 2 * int(grids.shapes[:, 1:].prod(axis=1).max()) + 2) > np.iinfo(np.int32).max:
            raise ValueError(f"a batch holds up to 2^31 - 1 arcs; got {len(flat)} pixels of {neighbors} neighbors.")
        made = object.__new__(cls)
        # Grids have the right edges, so nothing is left to check.
        made.__dict__.update(labels=flat, offsets=grids.offsets[ends], edges=grids.edges(), grids=grids)
        made.__dict__["edge_offsets"] = grids.edge_offsets[ends]
        return made

    @cached_property
    def node_places(self) -> Ints:
        """The position of the score of each node, (total,)."""
        return self.node_columns[:, 0]

    @cached_property
    def edge_places(self) -> Ints:
        """The position of the score of each edge, (m,)."""
        return self.edge_columns[:, 0]

    @cached_property
    def nodes(self) -> Sets:
        """The nodes as sets of independent decisions, without the edges."""
        return Sets(self.labels, self.offsets)

    @cached_property
    def unary(self) -> Ints:
        """The positions of the scores of nodes, (total, 2): they belong to label 1, and label 0 has none."""
        return np.column_stack([np.full(self.total, -1), self.node_places])

    def encode(self, labels: NDArray[Any]) -> Values:
        positive: Bools = labels == 1
        return two_label_code(positive, self.edges, self.offsets, self.edge_offsets)

    def won(self, scores: Floats, labels: NDArray[Any]) -> Values:
        positive = np.asarray(labels == 1)
        return network_won(scores, positive, self.truth, self.edges, self.offsets, self.edge_offsets)

    def take(self, parts: Ints) -> "Graphs":
        chosen = object.__new__(Graphs)
        chosen.__dict__.update(self._chosen(parts), grids=self._grids(parts))
        return chosen

    def _grids(self, parts: Ints) -> Grids | None:
        """The grids of the chosen sets."""
        if self.grids is None:
            return None
        ends = np.searchsorted(self.grids.offsets, self.offsets)
        chosen = segments(parts, ends)
        return Grids(self.grids.shapes[chosen], self.grids.neighbors)


def contrast(a: Values, b: Values) -> Values:
    """``exp(-|a - b|^2 / 2 v)``, (m,), with v the mean of ``|a - b|^2``, for the colors (m, c) of the ends of edges.

    It is 1 for all edges where no colors differ.
    """
    squares = ((a - b) ** 2).sum(axis=1)
    mean = squares.mean() if len(squares) else 0.0
    return np.asarray(np.exp(-squares / (2.0 * mean if mean > 0.0 else 1.0)))
