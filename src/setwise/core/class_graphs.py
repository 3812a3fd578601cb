"""Batches of sets of decisions with k labels that are the nodes of graphs, in flat arrays."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Ints, Values
from setwise.core.cached import cached_property
from setwise.core.checks import LARGEST_LABEL, as_count, as_flag
from setwise.core.classes import as_codes
from setwise.core.network import Network


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

    def __post_init__(self) -> None:
        as_count(self.k, "k", low=2, high=LARGEST_LABEL + 1)
        as_flag(self.tables, "tables")
        self._set(as_codes(self.labels, self.k), self.offsets, self.edges)

    @property
    def n_labels(self) -> int:
        """The number of labels, which is ``k``."""
        return self.k

    @property
    def binary(self) -> bool:
        """False, also for two labels, since each label has a score of its own here."""
        return False

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
