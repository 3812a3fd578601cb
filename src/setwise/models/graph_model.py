"""The linear model of networks of two labels: some weights score the nodes, others the edges."""

from typing import Any, final

import numpy as np
from scipy.sparse import csr_matrix, issparse

from setwise.core.arrays import Floats, Ints, Values
from setwise.core.batch import segments
from setwise.core.checks import as_array, as_kind, as_point, as_shaped
from setwise.core.features import Features, as_base, as_lower
from setwise.core.graphs import Graphs
from setwise.models.rows import check_rows


@final
class GraphModel(Features):
    """``s_i = <u, x_i> + intercept b`` for node i, ``s_e = <v, z_e>`` for edge e, and ``v >= 0``.

    The weights are ``w = [u, b, v]``. The features of edges are not negative, so their scores are not either: neighbors
    attract each other, and the best labeling is a minimum cut.

    Parameters
    ----------
    X : (nodes, features) float64, dense or CSR
    Z : (edges, edge features) float64, dense or CSR, 0 or above
    graphs : the batch with these nodes and edges, of which the layout is read
    intercept : value of a constant feature of nodes, as in :class:`setwise.models.Independent`
    base : (n_scores,) fixed scores that are added, None for none
    lower : (d,) least values of the weights; None is 0 for those of edges, and none for the others
    """

    def __init__(
        self, X: Any, Z: Any, graphs: Graphs, intercept: float = 1.0, base: Values | None = None, lower: Any = None
    ) -> None:
        as_kind(graphs, "graphs", Graphs, "Graphs(labels, offsets, edges)")
        self.graphs = graphs
        self.X, _, self.intercept, lengths = check_rows(X, None, intercept)
        self.Z, edge_lengths = _check_edge_features(Z)
        for name, rows, count in (("X", self.X, graphs.total), ("Z", self.Z, len(graphs.edges))):
            if rows.shape[0] != count:
                raise ValueError(f"{name} must have {count} rows, as graphs have; got {rows.shape[0]}.")
        free = int(self.X.shape[1]) + bool(intercept)
        self._free, self.size = free, free + int(self.Z.shape[1])
        self.row_lengths = _placed(graphs, lengths, edge_lengths)
        self.base = as_base(base, graphs.n_scores)
        usual = np.concatenate([np.full(free, -np.inf), np.zeros(self.size - free)])
        self.lower = usual if lower is None else as_lower(lower, self.size)

    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        w, (graphs, X, Z) = as_point(w, self.size), self._chosen(parts)
        u, v = w[: self._free], w[self._free :]
        s = _placed(graphs, X @ u[:-1] + self.intercept * u[-1] if self.intercept else X @ u, Z @ v)
        if self.base is None:
            return s
        return s + (self.base if parts is None else self.base[segments(parts, self.graphs.score_offsets)])

    def pullback(self, gradient: Floats, parts: Ints | None = None) -> Values:
        graphs, X, Z = self._chosen(parts)
        g = as_shaped(gradient, graphs.n_scores, "gradient")
        own, pairs = g[graphs.node_places], g[graphs.edge_places]
        constant = [self.intercept * own.sum()] if self.intercept else []
        return np.concatenate([np.ravel(X.T @ own), constant, np.ravel(Z.T @ pairs)])

    def pullbacks(self, gradient: Floats, parts: Ints | None = None) -> Values:
        graphs, X, Z = self._chosen(parts)
        g = as_shaped(gradient, graphs.n_scores, "gradient")
        own = _by_set(g[graphs.node_places], graphs.offsets)
        pairs = _by_set(g[graphs.edge_places], graphs.edge_offsets)
        constant = [self.intercept * np.asarray(own.sum(axis=1))] if self.intercept else []
        return np.hstack([_dense(own @ X), *constant, _dense(pairs @ Z)])

    def based(self, base: Values | None, lower: Values | None) -> "GraphModel":
        free = np.full(self.size, -np.inf) if lower is None else lower
        return GraphModel(self.X, self.Z, self.graphs, self.intercept, base, free)

    def _chosen(self, parts: Ints | None) -> tuple[Graphs, Any, Any]:
        """The graphs of the chosen sets, and the rows of their nodes and edges."""
        if parts is None:
            return self.graphs, self.X, self.Z
        graphs = self.graphs
        return graphs.take(parts), self.X[graphs.decisions(parts)], self.Z[segments(parts, graphs.edge_offsets)]


def _check_edge_features(Z: Any) -> tuple[Any, Values]:
    """Returns Z (edges, features), dense or CSR, and the lengths of its rows; there may be no edges."""
    Z = Z if issparse(Z) else as_array(Z, "Z")
    if Z.ndim != 2:
        raise ValueError(f"Z must have shape (edges, features); got shape {Z.shape}.")
    if Z.shape[0] == 0:
        return np.zeros(Z.shape), np.zeros(0)
    try:
        Z, _, _, lengths = check_rows(Z, None, 0.0)
    except (ValueError, OverflowError) as error:
        raise type(error)(str(error).replace("X", "Z").replace("rows", "edges")) from None
    least = Z.min()
    if least < 0:
        raise ValueError(f"Z must not be negative, so that neighbors attract each other; got {least:.4g}.")
    return Z, lengths


def _placed(graphs: Graphs, nodes: Any, edges: Any) -> Values:
    """Returns numbers of nodes and of edges in the layout of scores, (n_scores,)."""
    out = np.empty(graphs.n_scores)
    out[graphs.node_places] = nodes
    out[graphs.edge_places] = edges
    return out


def _by_set(values: Floats, offsets: Ints) -> Any:
    """Returns the matrix (n, total) with which the rows of each set are multiplied by its values and summed."""
    return csr_matrix((values, np.arange(len(values)), offsets), shape=(len(offsets) - 1, len(values)))


def _dense(rows: Any) -> Values:
    return rows.toarray() if issparse(rows) else np.asarray(rows)
