"""Linear models of networks: some weights score the nodes, others the edges; of graphs, of images, of landmarks.

Images need no list of edges. Of landmarks each of k points has weights that score the states of a grid.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, final

import numpy as np
from scipy.sparse import csr_matrix, issparse

from setwise.core.batch import segments
from setwise.core.checks import (
    Floats,
    Ints,
    Values,
    as_array,
    as_count,
    as_kind,
    as_parts,
    as_point,
    as_reals,
    as_shaped,
    shown,
)
from setwise.core.networks import ClassGraphs, Graphs, Grids, boxes, contrast
from setwise.core.risk import Features, SetCache, as_base, as_lower
from setwise.models.rows import check_rows

Networks = Graphs | ClassGraphs


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
    intercept : value of a constant feature of nodes, as in :class:`setwise.models.RowModel`
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
        self._singles: SetCache[tuple[Networks, Any, Any]] = SetCache(graphs.n_scores)
        usual = np.concatenate([np.full(free, -np.inf), np.full(self.size - free, -np.inf if tables else 0.0)])
        self.lower = usual if lower is None else as_lower(lower, self.size)

    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        w, (graphs, X, Z) = as_point(w, self.size), self._chosen(parts)
        (node, edge), constant = graphs.widths, self.intercept
        u, a = w[: self._free].reshape(node, -1).T, w[self._free :].reshape(edge, -1).T
        s = _placed(graphs, X @ u[:-1] + constant * u[-1] if constant else X @ u, Z @ a)
        return self.with_base(s, parts, self.graphs.score_offsets)

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


@final
class GridModel(GraphModel):
    """``s_i = <u, x_i> + intercept b`` for pixel i, and ``s_e = <v, z_e>`` for neighbors, with ``v >= 0``.

    It is :class:`setwise.models.GraphModel` for images: features have the shape of the images, and the edges are those
    of ``graphs``. The weights are ``w = [u, b, v]``.

    Source: this library; the contrast of colors is that of Rother, Kolmogorov and Blake (2004).

    Parameters
    ----------
    X : the features of each image, a list of arrays (H, W, d), or one array (n, H, W, d)
    graphs : the masks, ``Graphs.images(labels)``, of which the shapes and the neighbors are read
    colors : images (H, W, c) in such a list or array. Edges then have two features, a constant and
        ``exp(-|c_a - c_b|^2 / 2 v)`` with v the mean of ``|c_a - c_b|^2`` over the image; without colors only the
        constant
    Z : the features of edges instead of these two, 0 or above: for each direction of the edges, in the order of
        :class:`setwise.core.networks.Grids`, a list of arrays, one for each image. For 4 neighbors these are first
        (H, W - 1, d_e), to the right, then (H - 1, W, d_e), down; for 8 also down to the right and down to the left,
        (H - 1, W - 1, d_e) each
    intercept : value of a constant feature of pixels, as in :class:`setwise.models.RowModel`
    base : (n_scores,) fixed scores that are added, None for none
    lower : (d,) least values of the weights; None is 0 for those of edges, and none for the others

    Raises
    ------
    TypeError : for anything but ``Graphs``
    ValueError : for graphs that are not made of images, for colors and Z at once, and for shapes that are not those of
        the images
    OverflowError : where the length of a row of features is beyond float64

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.models import GridModel
    >>> image = Graphs.images([np.array([[True, False]])])  # two pixels, one edge
    >>> model = GridModel(X=[np.array([[[1.0], [2.0]]])], graphs=image)
    >>> model.scores(np.array([0.5, -1.0, 0.25]))  # pixels 0.5 - 1 and 1 - 1, the edge 0.25
    array([-0.5 ,  0.  ,  0.25])
    """

    def __init__(
        self,
        X: Any,
        graphs: Graphs,
        colors: Any = None,
        Z: Any = None,
        intercept: float = 1.0,
        base: Values | None = None,
        lower: Any = None,
    ) -> None:
        as_kind(graphs, "graphs", Graphs, "Graphs.images(labels)")
        if graphs.grids is None or graphs.grids.shapes.shape[1] != 2:
            raise ValueError("graphs must be made of images, such as Graphs.images(labels); got other graphs.")
        if colors is not None and Z is not None:
            raise ValueError("Z must be None where colors are given: they make the features of edges.")
        grids = graphs.grids
        shapes = [(int(h), int(w)) for h, w in grids.shapes]
        rows = _flat(_maps(X, "X", shapes))
        if Z is not None:
            edges = _given(Z, grids, shapes)
        elif colors is None:
            edges = np.ones((len(graphs.edges), 1))
        else:
            edges = _by_contrast(_flat(_maps(colors, "colors", shapes)), graphs)
        super().__init__(rows, edges, graphs, intercept, base, lower)


def _maps(values: Any, name: str, shapes: list[tuple[int, int]]) -> list[Values]:
    """Returns arrays (H, W, d) of finite numbers, one for each image, with one d."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of arrays, one for each image; got {shown(values)}.")
    found = [as_reals(one, name) for one in values]
    if len(found) != len(shapes):
        raise ValueError(f"{name} must hold {len(shapes)} arrays, one for each image; got {len(found)}.")
    for one, shape in zip(found, shapes, strict=True):
        if one.ndim != 3 or one.shape[:2] != shape or one.shape[2] != found[0].shape[-1] or not one.shape[2]:
            raise ValueError(
                f"{name} must have shape ({shape[0]}, {shape[1]}, d) with one d >= 1; got shape {one.shape}."
            )
    return found


def _flat(maps: list[Values]) -> Values:
    """Returns the numbers of all pixels, (total, d)."""
    return np.concatenate([one.reshape(-1, one.shape[-1]) for one in maps])


def _given(Z: Any, grids: Grids, shapes: list[tuple[int, int]]) -> Values:
    """Returns the features of the edges in their order, from those of each direction."""
    if isinstance(Z, str | bytes) or not isinstance(Z, Iterable):
        raise TypeError(f"Z must be a list with the features of edges of each direction; got {shown(Z)}.")
    ways = list(Z)
    if len(ways) != grids.neighbors // 2:
        raise ValueError(f"Z must hold {grids.neighbors // 2} lists, one for each direction of edges; got {len(ways)}.")
    shrunk = [[_size(boxes(shape, grids.neighbors)[k], shape) for shape in shapes] for k in range(len(ways))]
    maps = [_maps(way, "Z", sizes) for way, sizes in zip(ways, shrunk, strict=True)]
    if len({one[0].shape[-1] for one in maps}) > 1:
        raise ValueError("Z must have the same number of features in all directions.")
    return _flat([one[i] for i in range(len(shapes)) for one in maps])


def _size(box: tuple[slice, ...], shape: tuple[int, int]) -> tuple[int, int]:
    """Returns the shape of the part of an image that a box selects."""
    height, width = (len(range(*side.indices(size))) for side, size in zip(box, shape, strict=True))
    return height, width


def _by_contrast(colors: Values, graphs: Graphs) -> Values:
    """Returns a constant and the contrast of each edge, (m, 2), relative to the mean of its image."""
    assert graphs.grids is not None
    a, b = (colors[graphs.edges[:, side]] for side in (0, 1))
    parts = [contrast(a[first:last], b[first:last]) for first, last in pairwise(graphs.grids.edge_offsets)]
    return np.column_stack([np.ones(len(graphs.edges)), np.concatenate(parts)])


@final
class LandmarkModel(Features):
    """``s_(i, v) = <w_i, x_v>`` for point i in state v, or ``<w_i, x_(i, v)>`` (HOL 5.1).

    A set has k points, each of which is in one of S states, as the g*g cells of a grid. Its batch is
    :class:`setwise.core.Classes` with S labels and k decisions a set. The points share the features of the
    states, or each has its own. ``w`` holds the weights of the points one after another, (k * d,). There is no
    intercept, for it would add the same to all states of a point.

    Parameters
    ----------
    X : float64 (n, S, d), shared by all points, or (n, k, S, d)
    k : number of points of a set
    base : (n * k * S,) fixed scores that are added, None for none
    lower : (k * d,) least values of the weights, None for none

    Raises
    ------
    TypeError : for a ``k`` that is no whole number
    ValueError : for shapes that do not agree, and numbers that are not finite
    OverflowError : where the length of a row of X is beyond float64

    Examples
    --------
    >>> from setwise.models import LandmarkModel
    >>> X = np.array([[[1.0], [2.0], [3.0]]])  # one set of three states, a feature each
    >>> LandmarkModel(X, k=2).scores(np.array([1.0, -1.0])).reshape(2, 3)
    array([[ 1.,  2.,  3.],
           [-1., -2., -3.]])
    """

    def __init__(self, X: Any, k: int, base: Values | None = None, lower: Any = None) -> None:
        self.k = as_count(k, "k")
        X = as_array(X, "X")
        if X.ndim not in (3, 4) or 0 in X.shape or (X.ndim == 4 and X.shape[1] != self.k):
            raise ValueError(f"X must have shape (sets, states, features) or (sets, {self.k}, ...); got {X.shape}.")
        rows, _, _, lengths = check_rows(X.reshape(-1, X.shape[-1]), None, 0.0)
        # Features that all points share are kept once.
        self.X: Values = rows.reshape(X.shape if X.ndim == 4 else (X.shape[0], 1, *X.shape[1:]))
        n, _, self._states, self._width = self.X.shape
        self.size = self.k * self._width
        self.base, self.lower = as_base(base, n * self.k * self._states), as_lower(lower, self.size)
        self.row_lengths = np.broadcast_to(lengths.reshape(self.X.shape[:3]), (n, self.k, self._states)).ravel()

    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        W, X = as_point(w, self.size).reshape(self.k, -1), self._chosen(parts)
        # One product of matrices for shared features, else one for each point.
        s = (X[:, 0] @ W.T).transpose(0, 2, 1) if X.shape[1] == 1 else np.matmul(X, W[None, :, :, None])[..., 0]
        ends = self.k * self._states * np.arange(len(self.X) + 1)
        return self.with_base(np.ascontiguousarray(s).ravel(), parts, ends)

    def pullback(self, gradient: Floats, parts: Ints | None = None) -> Values:
        X = self._chosen(parts)
        G = self._gradient(gradient, X)
        if X.shape[1] == 1:
            return np.asarray(np.tensordot(G, X[:, 0], axes=([0, 2], [0, 1]))).ravel()
        return np.asarray(np.einsum("niv,nivd->id", G, X, optimize=True)).ravel()

    def pullbacks(self, gradient: Floats, parts: Ints | None = None) -> Values:
        X = self._chosen(parts)
        G = self._gradient(gradient, X)
        slopes: Values = np.matmul(G, X[:, 0]) if X.shape[1] == 1 else np.matmul(G[:, :, None, :], X)[:, :, 0]
        return slopes.reshape(len(X), self.size)

    def based(self, base: Values | None, lower: Values | None) -> "LandmarkModel":
        return LandmarkModel(self.X if self.X.shape[1] == self.k else self.X[:, 0], self.k, base, lower)

    def _chosen(self, parts: Ints | None) -> Values:
        return self.X if parts is None else self.X[as_parts(parts, len(self.X))]

    def _gradient(self, gradient: Floats, X: Values) -> Values:
        """The gradient of the chosen sets, (sets, k, states)."""
        return as_shaped(gradient, len(X) * self.k * self._states, "gradient").reshape(len(X), self.k, self._states)
