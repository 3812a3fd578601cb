"""The linear model of images whose pixels are joined with their neighbors, without a list of edges."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, final

import numpy as np

from setwise.core.checks import Floats, Ints, Values, as_kind, as_reals, shown
from setwise.core.networks import Graphs, Grids, boxes, contrast
from setwise.core.risk import Features
from setwise.models.graph_model import GraphModel


@final
class GridModel(Features):
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
    intercept : value of a constant feature of pixels, as in :class:`setwise.models.Independent`
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
            raise ValueError("graphs must be made of images, as Graphs.images(labels); got other graphs.")
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
        self._inner = GraphModel(rows, edges, graphs, intercept, base, lower)
        self.graphs, self.size, self.intercept = graphs, self._inner.size, self._inner.intercept
        self.X, self.Z, self.row_lengths = self._inner.X, self._inner.Z, self._inner.row_lengths
        self.base, self.lower = self._inner.base, self._inner.lower

    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        return self._inner.scores(w, parts)

    def pullback(self, gradient: Floats, parts: Ints | None = None) -> Values:
        return self._inner.pullback(gradient, parts)

    def pullbacks(self, gradient: Floats, parts: Ints | None = None) -> Values:
        return self._inner.pullbacks(gradient, parts)

    def based(self, base: Values | None, lower: Values | None) -> Features:
        return self._inner.based(base, lower)


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
