"""Graphs of the pixels or superpixels of an image, and labels of images that are not labeled pixel by pixel.

Such labels are boxes, trimaps, or the labels of some nodes.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.checks import Ints, Values, as_array, as_choice, as_count, as_kind, as_names, as_reals, shown
from setwise.core.exceptions import Refusal
from setwise.core.networks import Graphs, contrast
from setwise.core.pages import WEAK_LABELS
from setwise.graphs.graph import NODE_FEATURES, Graph, pixel_edges
from setwise.kernels.networks import SHIFTS

CHANNELS = (1, 3, 4)
"""The usual numbers of channels: grey, RGB, and RGB with opacity."""

LARGEST = {"u1": 255.0, "u2": 65535.0}
"""What white is in images of whole numbers."""


def from_image(
    image: ArrayLike,
    segments: str | ArrayLike | None = None,
    *,
    node_features: Iterable[str] = tuple(NODE_FEATURES),
    edge_features: str = "contrast",
    neighbors: int = 4,
    size: int = 100,
) -> Graph:
    """The graph of the pixels of an image, or of its superpixels, with features of nodes and edges.

    A superpixel has the mean of each feature over its pixels, and the number of its pixels as area. Two of them are
    joined where they touch. The edges of pixels are in the order of :meth:`setwise.core.networks.Graphs.images`, and
    are cut faster than others. The graph knows its regions, so that it paints labels and reads them off masks.

    Source: the superpixels of section 4.1 and the distances of section 4.3 of Ranjbar, Vahdat and Mori, *Complex Loss
    Optimization via Dual Decomposition* (DD, docs/papers/dual_decomposition.md); the other features are this library's.

    Parameters
    ----------
    image : (H, W) grey, or (H, W, c) such as RGB, channels last; uint8 or uint16, which are divided by their largest
        value, or finite floats, which are used as they are. 1, 3 or 4 rows of more than 4 pixels with more than 4
        channels are taken for (c, H, W), the order of PyTorch, and refused, unless ``segments`` is a map that fits
    segments : None for pixels; ``"felzenszwalb"`` or ``"slic"`` for superpixels by scikit-image, which the extra
        ``image`` brings (``pip install 'setwise[image]'``); or a map (H, W) or (H, W, 1) of whole numbers,
        where the pixels of one number are a superpixel
    node_features : groups of features, of ``"color"``, ``"texture"``, ``"position"`` and ``"filters"``
        (:data:`setwise.graphs.NODE_FEATURES`); all by default, 9 c + 16 numbers
    edge_features : ``"contrast"`` for a constant and ``exp(-|c_a - c_b|^2 / 2 v)``, where c are the mean colors of the
        two nodes and v is the mean of ``|c_a - c_b|^2`` over the edges; or ``"distances"`` for ``|c_a - c_b|`` of each
        channel (DD section 4.3, from the mean colors)
    neighbors : 4, or 8 to join pixels along the diagonals too
    size : the least number of pixels of a superpixel of Felzenszwalb and Huttenlocher (with scale 200 and sigma .01, as
        in DD section 4.1), or the mean number for SLIC

    Returns
    -------
    Graph
        With a node for each pixel, row by row, or for each superpixel.

    Raises
    ------
    ValueError, TypeError : for arguments other than these
    OverflowError : for floats above 1e6
    ImportError : for superpixels without scikit-image

    Examples
    --------
    >>> from setwise.graphs import from_image
    >>> image = np.zeros((4, 6), np.uint8)
    >>> # 4 * 5 + 3 * 6 pairs of neighbors.
    >>> from_image(image, node_features=["color"])
    Graph(24 nodes with 3 features, 38 edges with 2, image 4 x 6)
    >>> # A map of two superpixels.
    >>> halves = np.repeat([[0, 0, 0, 1, 1, 1]], 4, axis=0)
    >>> from_image(image, halves).areas.tolist()
    [12.0, 12.0]
    """
    pixels = _as_image(image, segments)
    known = f"names of {', '.join(map(repr, NODE_FEATURES))}"
    groups = as_names(node_features, "node_features", of=known)
    names = [as_choice(name, "node_features", NODE_FEATURES) for name in groups]
    describe = EDGE_FEATURES[as_choice(edge_features, "edge_features", EDGE_FEATURES)]
    if as_count(neighbors, "neighbors") not in (4, 8):
        raise ValueError(f"neighbors must be 4 or 8; got {shown(neighbors)}.")
    size = as_count(size, "size")
    regions, p = _regions(pixels, segments, size)
    maps = np.concatenate([NODE_FEATURES[name](pixels) for name in names], axis=-1)
    counts = np.bincount(regions.ravel(), minlength=p).astype(np.float64)
    edges = pixel_edges(regions.shape, neighbors) if segments is None else _touching(regions, neighbors)
    mean = _means(pixels, regions, counts)
    areas = None if segments is None else counts
    return Graph(_means(maps, regions, counts), edges, describe(mean[edges[:, 0]], mean[edges[:, 1]]), areas, regions)


def constant_and_contrast(a: Values, b: Values) -> Values:
    """A constant, and the contrast of the two ends."""
    return np.column_stack([np.ones(len(a)), contrast(a, b)])


def distances(a: Values, b: Values) -> Values:
    """``|a - b|`` of each channel."""
    return np.abs(a - b)


EDGE_FEATURES: dict[str, Callable[[Values, Values], Values]] = {
    "contrast": constant_and_contrast,
    "distances": distances,
}


def _as_image(image: Any, segments: Any) -> Values:
    """Returns the image as float64 (H, W, c); ``segments`` that fit show that it has its channels last."""
    given = as_array(image, "image")
    if given.ndim not in (2, 3) or given.size == 0:
        raise ValueError(f"image must have shape (H, W) or (H, W, c); got shape {given.shape}.")
    first = given.ndim == 3 and given.shape[0] in CHANNELS and min(given.shape[1:]) > max(CHANNELS)
    if first and np.shape(segments)[:2] != given.shape[:2]:
        raise ValueError(
            f"image must have shape (H, W) or (H, W, c); got shape {given.shape}, with the channels first. "
            "Use np.moveaxis(image, 0, -1), or image.permute(1, 2, 0) of a tensor."
        )
    code = f"{given.dtype.kind}{given.dtype.itemsize}"
    if given.dtype.kind != "f" and code not in LARGEST:
        raise ValueError(f"image must be uint8, uint16 or float; got {given.dtype}.")
    values = as_reals(given, "image") / LARGEST.get(code, 1.0)
    if np.abs(values).max() > 1e6:
        raise OverflowError(f"image must hold numbers up to 1e6; got {np.abs(values).max():.3g}. Scale it down.")
    return values if values.ndim == 3 else values[:, :, None]


def _regions(pixels: Values, segments: Any, size: int) -> tuple[Ints, int]:
    """Returns the node of each pixel, (H, W), and the number of nodes."""
    H, W = pixels.shape[:2]
    if segments is None:
        return np.arange(H * W).reshape(H, W), H * W
    if isinstance(segments, str):
        found = _superpixels(pixels, as_choice(segments, "segments", ("felzenszwalb", "slic")), size)
    else:
        found = as_array(segments, "segments")
        found = found[..., 0] if found.shape == (H, W, 1) else found
        if found.dtype.kind not in "iu" or found.shape != (H, W):
            raise ValueError(
                f"segments must be None, 'felzenszwalb', 'slic', or whole numbers of shape ({H}, {W}); "
                f"got {found.dtype} of shape {found.shape}."
            )
    numbers, regions = np.unique(found, return_inverse=True)
    return regions.reshape(H, W), len(numbers)


def _superpixels(pixels: Values, method: str, size: int) -> NDArray[Any]:
    """Returns a map of superpixels by scikit-image."""
    try:
        from skimage.segmentation import felzenszwalb, slic
    except ImportError:
        raise ImportError("superpixels need scikit-image: pip install 'setwise[image]'.") from None
    if method == "felzenszwalb":
        return np.asarray(felzenszwalb(pixels, scale=200.0, sigma=0.01, min_size=size, channel_axis=-1))
    H, W, c = pixels.shape
    return np.asarray(slic(pixels, max(H * W // size, 1), convert2lab=c == 3, start_label=0, channel_axis=-1))


def _touching(regions: Ints, neighbors: int) -> Ints:
    """Returns the pairs of different regions with neighboring pixels, each once, the smaller number first."""
    found = []
    H, W = regions.shape
    for down, right in SHIFTS[2, neighbors]:
        a = regions[: H - down, max(-right, 0) : W - max(right, 0)]
        b = regions[down:, max(right, 0) : W + min(right, 0)]
        found.append(np.column_stack([a.ravel(), b.ravel()]))
    pairs = np.sort(np.vstack(found), axis=1)
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)


def _means(maps: Values, regions: Ints, counts: Values) -> Values:
    """Returns the mean of each feature over the pixels of each region, (p, d)."""
    flat, at = maps.reshape(-1, maps.shape[-1]), regions.ravel()
    if len(counts) == len(flat):
        out = np.empty_like(flat)
        out[at] = flat
        return out
    return np.column_stack([np.bincount(at, column, len(counts)) for column in flat.T]) / counts[:, None]


def box_labels(shape: Any, boxes: Any) -> tuple[NDArray[np.int8], Ints]:
    """Labels and box numbers of the pixels of one image, (H, W) each: -1 in boxes and 0 outside; 0, 1, .. and -1.

    A pixel in several boxes belongs to the smallest one, the first of equal ones. For
    :class:`setwise.losses.BoxFullness`.

    Source: the box labels of HOL 4.2 (B).

    Parameters
    ----------
    shape : (H, W)
    boxes : (b, 4) whole numbers, the rows and columns ``top, left, bottom, right`` of each box; the last two are the
        first ones that are no longer inside, and a box may be empty

    Returns
    -------
    labels : (H, W) int8
    numbers : (H, W) int64

    Raises
    ------
    ValueError : if shape is not two whole numbers above 0, or a box does not lie inside the image

    Examples
    --------
    >>> from setwise.graphs import box_labels
    >>> labels, numbers = box_labels((3, 4), [[0, 1, 2, 3]])
    >>> labels.tolist()
    [[0, -1, -1, 0], [0, -1, -1, 0], [0, 0, 0, 0]]
    """
    size, corners = as_array(shape, "shape"), as_array(boxes, "boxes")
    if size.shape != (2,) or size.dtype.kind not in "iu" or (size < 1).any():
        raise ValueError(f"shape must be two whole numbers (H, W) above 0; got {shown(shape)}.")
    corners = corners.reshape(0, 4).astype(np.int64) if not corners.size and corners.ndim <= 2 else corners
    if corners.ndim != 2 or corners.shape[1] != 4 or corners.dtype.kind not in "iu":
        raise ValueError(f"boxes must be whole numbers of shape (b, 4); got {corners.dtype} of shape {corners.shape}.")
    first, last = corners[:, :2], corners[:, 2:]
    if (first < 0).any() or (last < first).any() or (last > size).any():
        raise ValueError(f"boxes must lie inside the image, with top <= bottom and left <= right; got {shown(boxes)}.")
    numbers = np.full((int(size[0]), int(size[1])), -1, dtype=np.int64)
    # The largest come first, so that smaller ones are laid over them; of equal ones the first comes last.
    areas = np.prod(last - first, axis=1)
    for b in np.lexsort((-np.arange(len(areas)), -areas)):
        top, left, bottom, right = corners[b]
        numbers[top:bottom, left:right] = b
    return np.where(numbers >= 0, -1, 0).astype(np.int8), numbers


def trimap_labels(inside: Any, outside: Any) -> NDArray[np.int8]:
    """Labels of the pixels of one image from two masks: 1 definitely inside, 0 definitely outside, -1 between them.

    For :class:`setwise.losses.BorderConvexity`.

    Source: the strokes of HOL 4.2 (C).

    Parameters
    ----------
    inside, outside : masks of one shape, (H, W) bool, that share no pixel

    Returns
    -------
    labels : int8 in the shape of the masks

    Raises
    ------
    ValueError : if a mask is not bool or empty, the shapes differ, or a pixel is in both

    Examples
    --------
    >>> from setwise.graphs import trimap_labels
    >>> inside = np.array([[False, True, False, False]])
    >>> outside = np.array([[True, False, False, True]])
    >>> trimap_labels(inside, outside).tolist()
    [[0, 1, -1, 0]]
    """
    core, rim = as_array(inside, "inside"), as_array(outside, "outside")
    for name, mask in (("inside", core), ("outside", rim)):
        if mask.dtype != np.bool_ or not mask.size:
            raise ValueError(f"{name} must be a mask, bool with one pixel or more; got {mask.dtype} {mask.shape}.")
    if core.shape != rim.shape:
        raise ValueError(f"inside and outside must have one shape; got {core.shape} and {rim.shape}.")
    if (core & rim).any():
        raise ValueError(f"inside and outside must share no pixel; got {int((core & rim).sum())} of both.")
    return np.where(core, 1, np.where(rim, 0, -1)).astype(np.int8)


def known_part(graphs: Graphs) -> tuple[Graphs, Ints, Ints]:
    """The nodes with known labels and the edges between them, on which a first model is trained.

    Sets without a known label are left out.

    Source: HOL 4.1, which needs a first model to complete labels.

    Parameters
    ----------
    graphs : a batch, some of whose labels may be -1

    Returns
    -------
    part : the graphs of the known nodes
    nodes : (k,) int64, the place of each of them in ``graphs``
    edges : (j,) int64, the place of each of their edges

    Raises
    ------
    Refusal : if no label is known
    TypeError : if graphs is no batch of graphs

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.graphs import known_part
    >>> # Four pixels, joined by three edges.
    >>> row = Graphs.images(np.array([[[1, 0, -1, 0]]], np.int8))
    >>> part, nodes, edges = known_part(row)
    >>> nodes.tolist(), edges.tolist(), part.edges.tolist()
    ([0, 1, 3], [0], [[0, 1]])
    """
    as_kind(graphs, "graphs", Graphs, "Graphs(labels, offsets, edges)")
    known = np.ones(graphs.total, dtype=bool) if graphs.known is None else graphs.known
    nodes = np.flatnonzero(known)
    if not len(nodes):
        raise Refusal("known_part refuses graphs without a known label: there is nothing to begin with.", WEAK_LABELS)
    edges = np.flatnonzero(known[graphs.edges].all(axis=1))
    moved = np.cumsum(known) - 1
    sizes = np.bincount(graphs.owners[nodes], minlength=len(graphs))
    offsets = np.concatenate(([0], np.cumsum(sizes[sizes > 0]))).astype(np.int64)
    return Graphs(graphs.truth[nodes], offsets, moved[graphs.edges[edges]]), nodes, edges
