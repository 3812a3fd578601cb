"""Labels of images that are not labeled pixel by pixel: boxes, trimaps, and the known nodes alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Ints, as_array, as_kind, shown
from setwise.core.exceptions import Refusal
from setwise.core.networks import Graphs
from setwise.core.pages import WEAK_LABELS


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
