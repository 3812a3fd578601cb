"""The linear model of networks: some weights score the nodes, others the edges."""

from typing import Any, final

import numpy as np
from scipy.sparse import csr_matrix, issparse

from setwise.core.batch import segments
from setwise.core.checks import Floats, Ints, Values, as_array, as_kind, as_point, as_shaped
from setwise.core.networks import ClassGraphs, Graphs
from setwise.core.risk import Features, Singles, as_base, as_lower
from setwise.models.rows import check_rows

Networks = Graphs | ClassGraphs


@final
class GraphModel(Features):
    """``s_i(v) = <u_v, x_i> + intercept b_v`` for label v of node i, and ``s_e(j) = <a_j, z_e>`` for score j of edge e.

    On ``Graphs`` the nodes and the edges have one score each, so the weights are ``w = [u, b, a]``. On ``ClassGraphs``
    they are ``w = [u_0, b_0, .., u_(k-1), b_(k-1), a]``, and where its edges have tables
    ``[.., a_0, .., a_(k k - 1)]``, one block of weights for each pair of labels.

    Without tables the features and the weights of edges are not negative, so the scores of edges are not either:
    neighbors attract each other, and two labels are maximized by a minimum cut. With tables both may have any sign.

    Source: without tables an associative Markov network (Taskar, Chatalbashev and Koller 2004).

    Parameters
    ----------
    X : (nodes, features) float64, dense or CSR
    Z : (edges, edge features) float64, dense or CSR; 0 or above where the edges have no tables
    graphs : the batch with these nodes and edges, of which the layout is read
    intercept : value of a constant feature of nodes, as in :class:`setwise.models.Independent`
    base : (n_scores,) fixed scores that are added, None for none
    lower : (d,) least values of the weights; None is 0 for those of edges without tables, and none for the others

    Raises
    ------
    TypeError : for anything but ``Graphs`` and ``ClassGraphs``
    ValueError : for shapes that do not agree, numbers that are not finite, and a sparse X that is not float64, and for
        a Z below 0 without tables
    OverflowError : where the length of a row of X is beyond float64

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.models import GraphModel
    >>> pair = Graphs(np.array([True, False]), np.array([0, 2]), np.array([[0, 1]]))
    >>> model = GraphModel(X=[[1.0], [2.0]], Z=[[3.0]], graphs=pair)
    >>> model.scores(np.array([0.5, -1.0, 0.25]))  # nodes 0.5 - 1 and 1 - 1, the edge 3 * 0.25
    array([-0.5 ,  0.  ,  0.75])
    >>> model.lower
    array([-inf, -inf,   0.])
    """

    def __init__(
        self, X: Any, Z: Any, graphs: Networks, intercept: float = 1.0, base: Values | None = None, lower: Any = None
    ) -> None:
        if not isinstance(graphs, ClassGraphs):
            as_kind(graphs, "graphs", Graphs, "Graphs(labels, offsets, edges)")
        self.graphs = graphs
        self.X, _, self.intercept, lengths = check_rows(X, None, intercept)
        tables = isinstance(graphs, ClassGraphs) and graphs.tables
        self.Z, edge_lengths = _check_edge_features(Z, tables)
        for name, rows, count in (("X", self.X, graphs.total), ("Z", self.Z, len(graphs.edges))):
            if rows.shape[0] != count:
                raise ValueError(f"{name} must have {count} rows, as graphs have; got {rows.shape[0]}.")
        node, edge = graphs.widths
        free = node * (int(self.X.shape[1]) + bool(intercept))
        self._free, self.size = free, free + edge * int(self.Z.shape[1])
        self.row_lengths = _placed(graphs, lengths[:, None], edge_lengths[:, None])
        self.base = as_base(base, graphs.n_scores)
        self._singles: Singles[tuple[Networks, Any, Any]] = Singles(graphs.n_scores)
        usual = np.concatenate([np.full(free, -np.inf), np.full(self.size - free, -np.inf if tables else 0.0)])
        self.lower = usual if lower is None else as_lower(lower, self.size)

    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        w, (graphs, X, Z) = as_point(w, self.size), self._chosen(parts)
        (node, edge), constant = graphs.widths, self.intercept
        u, a = w[: self._free].reshape(node, -1).T, w[self._free :].reshape(edge, -1).T
        s = _placed(graphs, X @ u[:-1] + constant * u[-1] if constant else X @ u, Z @ a)
        if self.base is None:
            return s
        return s + (self.base if parts is None else self.base[segments(parts, self.graphs.score_offsets)])

    def pullback(self, gradient: Floats, parts: Ints | None = None) -> Values:
        graphs, X, Z = self._chosen(parts)
        g = as_shaped(gradient, graphs.n_scores, "gradient")
        own, pairs = g[graphs.node_columns], g[graphs.edge_columns]
        rows = np.asarray(X.T @ own).T
        if self.intercept:
            rows = np.column_stack([rows, self.intercept * own.sum(axis=0)])
        return np.concatenate([rows.ravel(), np.asarray(Z.T @ pairs).T.ravel()])

    def pullbacks(self, gradient: Floats, parts: Ints | None = None) -> Values:
        graphs, X, Z = self._chosen(parts)
        if len(graphs) == 1:
            return self.pullback(gradient, parts)[None]
        g, n = as_shaped(gradient, graphs.n_scores, "gradient"), len(graphs)
        own = _by_set(g[graphs.node_columns], graphs.offsets)
        pairs = _by_set(g[graphs.edge_columns], graphs.edge_offsets)
        rows = _dense(own @ X)
        if self.intercept:
            rows = np.column_stack([rows, self.intercept * np.asarray(own.sum(axis=1))])
        return np.hstack([rows.reshape(n, self._free), _dense(pairs @ Z).reshape(n, self.size - self._free)])

    def based(self, base: Values | None, lower: Values | None) -> "GraphModel":
        free = np.full(self.size, -np.inf) if lower is None else lower
        return GraphModel(self.X, self.Z, self.graphs, self.intercept, base, free)

    def _chosen(self, parts: Ints | None) -> tuple[Networks, Any, Any]:
        """The graphs of the chosen sets, and the rows of their nodes and edges."""
        if parts is None:
            return self.graphs, self.X, self.Z
        return self._singles.of(parts, self._taken)

    def _taken(self, parts: Ints) -> tuple[Networks, Any, Any]:
        graphs = self.graphs
        return graphs.take(parts), self.X[graphs.decisions(parts)], self.Z[segments(parts, graphs.edge_offsets)]


def _check_edge_features(Z: Any, tables: bool) -> tuple[Any, Values]:
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
    least = 0.0 if tables or Z.shape[1] == 0 else Z.min()
    if least < 0:
        raise ValueError(f"Z must not be negative, so that neighbors attract each other; got {least:.4g}.")
    return Z, lengths


def _placed(graphs: Networks, nodes: Any, edges: Any) -> Values:
    """Returns numbers of nodes and of edges in the layout of scores, (n_scores,)."""
    out = np.empty(graphs.n_scores)
    out[graphs.node_columns] = nodes
    out[graphs.edge_columns] = edges
    return out


def _by_set(values: Floats, offsets: Ints) -> Any:
    """Returns the matrix (n * columns, total) with which rows are multiplied by each column and summed by sets."""
    (total, columns), sizes = values.shape, np.diff(offsets)
    ends = np.concatenate([[0], np.cumsum(np.repeat(sizes, columns))])
    # The values of a set lie column by column.
    at = np.arange(total) + np.repeat((columns - 1) * offsets[:-1], sizes)
    places = at[:, None] + np.arange(columns) * np.repeat(sizes, sizes)[:, None]
    data, rows = np.empty(values.size), np.empty(values.size, dtype=np.int64)
    data[places], rows[places] = values, np.arange(total)[:, None]
    return csr_matrix((data, rows, ends), shape=(len(ends) - 1, total))


def _dense(rows: Any) -> Values:
    return rows.toarray() if issparse(rows) else np.asarray(rows)
