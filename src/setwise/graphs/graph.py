"""A graph: nodes and edges with features, and the regions of an image that the nodes stand for.

Features of pixels are color, texture, position, and the answers of simple filters.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter, gaussian_laplace, uniform_filter

from setwise.core.checks import LARGEST_LABEL, Ints, Values, as_areas, as_array, as_reals, shown
from setwise.core.networks import Grids


@final
@dataclass(frozen=True, eq=False)
class Graph:
    """``p`` nodes with features X, and ``m`` edges with features Z, all 0 or above.

    :class:`setwise.GraphClassifier` takes a list of them. Where the nodes stand for regions of an image,
    :meth:`labels_of` reads labels off a mask, and :meth:`paint` makes a map of labels.

    Source: the Markov networks of DD 3.

    Parameters
    ----------
    X : (p, d) the features of the nodes, p and d >= 1
    edges : (m, 2) whole numbers, the two different nodes that each edge joins, in 0..p-1; m may be 0
    Z : (m, d_e) the features of the edges, 0 or above; None gives each edge one feature, the constant 1
    areas : (p,) what each node counts in the loss, above 0; None counts each as 1
    regions : (H, W) whole numbers in 0..p-1, the node of each pixel; None where the nodes are no part of an image

    Raises
    ------
    ValueError : for shapes, types and values other than these
    OverflowError : for areas whose sum leaves float64

    Examples
    --------
    >>> from setwise.graphs import Graph
    >>> regions = [[0, 0, 1], [0, 0, 1]]
    >>> graph = Graph([[0.2], [0.9]], edges=[[0, 1]], areas=[4, 2], regions=regions)
    >>> graph
    Graph(2 nodes with 1 features, 1 edges with 1, image 2 x 3)
    >>> # Three of four pixels of node 0 are 0.
    >>> graph.labels_of([[0, 0, 1], [0, 1, 1]]).tolist()
    [0, 1]
    >>> graph.paint([0, 1]).tolist()
    [[0, 0, 1], [0, 0, 1]]
    """

    X: Any
    edges: Any
    Z: Any = None
    areas: Any = None
    regions: Any = None

    def __post_init__(self) -> None:
        X = as_reals(self.X, "X")
        if X.ndim != 2 or 0 in X.shape:
            raise ValueError(f"X must have shape (p, d) with p >= 1 and d >= 1; got shape {X.shape}.")
        edges = _as_edges(self.edges, len(X))
        put = {"X": X, "edges": edges, "Z": _as_edge_features(self.Z, len(edges))}
        if self.areas is not None:
            put["areas"] = as_areas(self.areas)
            if len(put["areas"]) != len(X):
                raise ValueError(f"areas must be {len(X)} numbers, one for each node; got {len(put['areas'])}.")
        if self.regions is not None:
            put["regions"] = _as_regions(self.regions, len(X))
        for name, value in put.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.X)

    def __repr__(self) -> str:
        image = "" if self.regions is None else f", image {self.regions.shape[0]} x {self.regions.shape[1]}"
        return (
            f"Graph({len(self)} nodes with {self.X.shape[1]} features, "
            f"{len(self.edges)} edges with {self.Z.shape[1]}{image})"
        )

    @property
    def grid(self) -> int | None:
        """4 or 8 if the nodes are the pixels of an image, row by row, each with so many neighbors; None otherwise.

        The edges must be in the order in which :meth:`setwise.core.networks.Graphs.images` lists them.
        """
        if self.regions is None or not np.array_equal(self.regions.ravel(), np.arange(len(self))):
            return None
        for neighbors in (4, 8):
            if np.array_equal(self.edges, pixel_edges(self.regions.shape, neighbors)):
                return neighbors
        return None

    def paint(self, labels: ArrayLike) -> NDArray[Any]:
        """``labels[regions]``, (H, W): the label, or any other value (p,), of the node of each pixel."""
        values = as_array(labels, "labels")
        if values.shape != (len(self),):
            raise ValueError(f"labels must have shape ({len(self)},), one for each node; got shape {values.shape}.")
        return np.asarray(values[self._map()])

    def labels_of(self, mask: ArrayLike) -> Ints:
        """The label that most pixels of each node have in a mask (H, W) or (H, W, 1), (p,); of equal ones the least.

        The mask holds truth values, or labels 0, 1, 2, ... and -1 where a pixel is unknown. Such pixels are left out;
        a node without any other pixel gets -1. O(H W log(H W)).
        """
        regions = self._map()
        given = as_array(mask, "mask")
        given = given[..., 0] if given.shape == (*regions.shape, 1) else given
        if given.shape != regions.shape or given.dtype.kind not in "biu":
            raise ValueError(
                f"mask must be whole numbers or booleans, of shape {regions.shape}; "
                f"got {given.dtype} of shape {given.shape}."
            )
        if int(given.min()) < -1 or int(given.max()) > LARGEST_LABEL:
            raise ValueError(f"mask must be in -1..{LARGEST_LABEL}; got {given.min()} to {given.max()}.")
        known = given != -1 if given.dtype.kind == "i" else np.ones(given.shape, dtype=bool)
        pairs, counts = np.unique(np.stack([regions[known], given[known].astype(np.int64)]), axis=1, return_counts=True)
        out = np.full(len(self), -1)
        # Frequent pairs of node and label are written last; of equal counts the one with the least label.
        order = np.lexsort((-pairs[1], counts))
        out[pairs[0, order]] = pairs[1, order]
        return out

    def _map(self) -> Ints:
        if self.regions is None:
            raise ValueError("regions must be given to paint a graph, or to read its labels off a mask; got None.")
        return np.asarray(self.regions)


def pixel_edges(shape: tuple[int, ...], neighbors: int) -> Ints:
    """The edges of an image whose pixels have 4 or 8 neighbors, (m, 2)."""
    return Grids(np.array([shape]), neighbors).edges()


def _as_edges(edges: Any, p: int) -> Ints:
    """Returns edges (m, 2) as int64; an empty list has none."""
    given = as_array(edges, "edges")
    if given.size == 0 and given.shape in ((0,), (0, 2)):
        return np.zeros((0, 2), dtype=np.int64)
    if given.dtype.kind not in "iu" or given.ndim != 2 or given.shape[1] != 2:
        raise ValueError(f"edges must be whole numbers of shape (m, 2); got {given.dtype} of shape {given.shape}.")
    if given.min() < 0 or given.max() >= p:
        raise ValueError(f"edges must join nodes 0..{p - 1}; got {given.min()} to {given.max()}.")
    if (given[:, 0] == given[:, 1]).any():
        raise ValueError(f"edges must join different nodes; got {given[given[:, 0] == given[:, 1]][0].tolist()}.")
    return given.astype(np.int64)


def _as_edge_features(Z: Any, m: int) -> Values:
    """Returns the features of the edges, (m, d_e)."""
    if Z is None:
        return np.ones((m, 1))
    given = as_reals(Z, "Z")
    if given.ndim != 2 or len(given) != m or given.shape[1] == 0:
        raise ValueError(f"Z must have shape ({m}, d_e), a row for each edge, with d_e >= 1; got shape {given.shape}.")
    if (given < 0).any():
        raise ValueError(
            f"Z must not be negative, so that neighbors attract each other; got {given[given < 0][0]:.4g}."
        )
    return given


def _as_regions(values: Any, p: int) -> Ints:
    """Returns the node of each pixel, (H, W) whole numbers in 0..p-1, as int64."""
    given = as_array(values, "regions")
    if given.dtype.kind not in "iu" or given.ndim != 2 or given.size == 0:
        raise ValueError(f"regions must be whole numbers of shape (H, W); got {given.dtype} of shape {given.shape}.")
    if given.min() < 0 or given.max() >= p:
        raise ValueError(f"regions must be in 0..{p - 1}; got {shown(given.ravel())}.")
    return given.astype(np.int64)


WINDOW = 5
"""The side of the square window of texture, in pixels."""

SCALES = (1.0, 2.0, 4.0)
"""The standard deviations of the Gaussians of the filters, in pixels."""


def color(image: Values) -> Values:
    """The c channels, their differences from the mean of the image, and the squares of these: (H, W, 3 c)."""
    apart = image - image.mean(axis=(0, 1))
    return np.concatenate([image, apart, apart**2], axis=-1)


def texture(image: Values) -> Values:
    """The mean of each channel in a window of 5 x 5 pixels, its square, and the deviation there: (H, W, 3 c)."""
    mean, square = (uniform_filter(values, (WINDOW, WINDOW, 0)) for values in (image, image**2))
    return np.concatenate([mean, mean**2, np.sqrt(np.maximum(square - mean**2, 0.0))], axis=-1)


def position(image: Values) -> Values:
    """``x, y, x^2, y^2, x y, x^4, y^4``, where x and y go from -1/2 to 1/2 over the image: (H, W, 7)."""
    y, x = ((at + 0.5) / size - 0.5 for at, size in zip(np.indices(image.shape[:2]), image.shape[:2], strict=True))
    return np.stack([x, y, x**2, y**2, x * y, x**4, y**4], axis=-1)


def filters(image: Values) -> Values:
    """Gaussians of each channel, and of grey the Laplacians and the sizes of the derivatives: (H, W, 3 c + 9).

    The standard deviations are 1, 2 and 4 pixels; derivatives are those of Gaussians, along x and along y.
    """
    grey = image.mean(axis=-1)
    smooth = [gaussian_filter(image, (s, s, 0.0)) for s in SCALES]
    bumps = [gaussian_laplace(grey, s) for s in SCALES]
    slopes = [np.abs(gaussian_filter(grey, s, order)) for s in SCALES for order in ((0, 1), (1, 0))]
    return np.concatenate([*smooth, np.stack([*bumps, *slopes], axis=-1)], axis=-1)


NODE_FEATURES: Mapping[str, Callable[[Values], Values]] = MappingProxyType(
    {"color": color, "texture": texture, "position": position, "filters": filters}
)
"""The groups of features of pixels by name: functions of an image (H, W, c), c >= 1, that return (H, W, features).

>>> from setwise.graphs import NODE_FEATURES
>>> image = np.zeros((4, 6, 3))
>>> {name: group(image).shape[-1] for name, group in NODE_FEATURES.items()}
{'color': 9, 'texture': 9, 'position': 7, 'filters': 18}
"""
