"""Labelings of networks."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import LARGEST_LABEL, Ints, as_count, as_flag, as_kind
from setwise.core.network_labelings import Labelings
from setwise.core.networks import ClassGraphs, Graphs
from setwise.core.risk import Features
from setwise.graphs.graph import Graph
from setwise.models.joint_labels import WithConstant
from setwise.models.networks import GraphModel
from setwise.spaces.large_space import LargeSpace, as_numbers, as_right, as_written, named, offsets_of
from setwise.spaces.space import members


@final
@dataclass(frozen=True, eq=False)
class NetworkLabelings(LargeSpace):
    """The ``k^p`` labelings of a network: ``f(x, y) = sum_i <u_(y_i), x_i> + sum_e <a, z_e> [y_a = y_b] + c``.

    X is a list of :class:`setwise.graphs.Graph`, and Y a list of collections of labelings (p_i,), each whole numbers in
    0..k-1. With two labels only label 1 has a score, u. Searches are exact on trees, and for two labels on all graphs,
    as the weights of edges are bounded by 0; networks whose best labeling is only bounded are refused there.

    Source: MLSP 3, over the labelings of a network.

    Parameters
    ----------
    k : the number of labels of a node, 2 or more
    tables : whether an edge has weights for each pair of labels, of any sign; for trees

    Raises
    ------
    TypeError : if k is no whole number, or tables is not True or False
    ValueError : if k is below 2

    Examples
    --------
    >>> from setwise.graphs import Graph
    >>> from setwise.spaces import NetworkLabelings
    >>> space = NetworkLabelings()
    >>> # Two nodes of one feature, and an edge.
    >>> batch, model = space.bind([Graph([[1.0], [-0.5]], [[0, 1]])])
    >>> for a in (0.0, 1.0):  # the weights are u, a and c
    ...     scores = model.scores(np.array([1.0, a, 0.0]))
    ...     labels, score = space.best(batch, scores, limit=1)[0][0]
    ...     print(labels.tolist(), score)
    [1, 0] 1.0
    [1, 1] 1.5
    """

    k: int = 2
    tables: bool = False

    def __post_init__(self) -> None:
        as_count(self.k, "k", low=2, high=LARGEST_LABEL)
        as_flag(self.tables, "tables")

    def bind(self, X: Any, Y: Any = None, constant: float = 1.0) -> tuple[Labelings, Features]:
        graphs = _as_graphs(X)
        truths = [
            as_written([as_numbers(y, len(x), f"Y[{i}]", "labels") for y in rows], len(x), f"Y[{i}]")
            for i, (rows, x) in enumerate(zip(as_right(Y, len(graphs)), graphs, strict=True))
        ]
        networks = self._networks(graphs)
        nodes, edges = (np.concatenate(parts) for parts in zip(*((x.X, x.Z) for x in graphs), strict=True))
        model = GraphModel(nodes, edges, networks, intercept=0.0)
        return Labelings(networks, truths), WithConstant(model, networks.score_offsets, constant)

    def widths(self, X: Any) -> tuple[int, ...]:
        return X[0].X.shape[1], X[0].Z.shape[1]

    def decode(self, labels: NDArray[Any]) -> Ints | None:
        return named(labels)

    def _networks(self, graphs: list[Graph]) -> Graphs | ClassGraphs:
        """The batch of all graphs."""
        offsets = offsets_of([len(x) for x in graphs])
        edges = np.concatenate([x.edges + low for x, (low, _) in zip(graphs, pairwise(offsets), strict=True)])
        if self.k == 2 and not self.tables:
            return Graphs(np.zeros(int(offsets[-1]), dtype=bool), offsets, edges)
        return ClassGraphs(np.zeros(int(offsets[-1]), dtype=np.int64), offsets, edges, self.k, self.tables)


def _as_graphs(X: Any) -> list[Graph]:
    """X as a list of graphs with features of the same kinds."""
    found = members(X, "X", "a list of graphs")
    if not found:
        raise ValueError("X must hold one graph or more; got none.")
    for i, x in enumerate(found):
        as_kind(x, f"X[{i}]", Graph, "Graph(X, edges)")
        for what in ("X", "Z"):
            own, first = getattr(x, what).shape[1], getattr(found[0], what).shape[1]
            if own != first:
                raise ValueError(f"X[{i}].{what} must have {first} features, as that of X[0]; got {own}.")
        if x.areas is not None:
            raise ValueError(f"X[{i}].areas must be None: labelings as labels count each node once.")
    return found
