"""Batches of sets of binary decisions that are the nodes of graphs, in flat arrays."""

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Bools, Floats, Ints, Values
from setwise.core.batch import segments
from setwise.core.cached import cached_property
from setwise.core.checks import as_offsets
from setwise.core.grids import Grids, as_grids
from setwise.core.network import Network
from setwise.core.sets import Sets, as_truth
from setwise.kernels.networks import network_won, two_label_code


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

    >>> from setwise.core import Graphs, Structure
    >>> from setwise.inference import Auto
    >>> batch = Graphs(np.array([True, False, True]), np.array([0, 3]), np.array([[0, 1], [1, 2]]))
    >>> batch.n_scores, batch.encode(np.array([1, 1, 0])).tolist()
    (5, [1.0, 1.0, 0.0, 1.0, 0.0])
    >>> # The labeling of greatest score: the node in the middle follows its neighbors.
    >>> Auto().prepare(Structure(batch)).maximize([1.0, -0.5, 1.0, 0.4, 0.4]).labels.tolist()
    [True, True, True]
    >>> Graphs.images(np.array([[[True, False], [False, False]]])).edges.tolist()
    [[0, 1], [2, 3], [0, 2], [1, 3]]
    """

    labels: NDArray[Any]
    offsets: Ints
    edges: Ints
    grids: Grids | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._set(as_truth(self.labels), self.offsets, self.edges)

    @classmethod
    def images(cls, labels: Any, neighbors: int = 4, offsets: Any = None) -> "Graphs":
        """Images, volumes or sequences, in which each pixel is joined with its neighbors.

        The edges are in the order of :class:`setwise.core.grids.Grids`: image by image; in an image those to the right
        come first, then those down, then, with 8 neighbors, those down to the right and those down to the left.

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

    @property
    def n_labels(self) -> int:
        """The number of labels of a decision: two."""
        return 2

    @property
    def widths(self) -> tuple[int, int]:
        """Each node and each edge has one score."""
        return 1, 1

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
