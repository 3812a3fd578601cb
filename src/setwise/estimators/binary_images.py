"""Binary images, given as lists or arrays, checked and grouped by their shapes."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Ints
from setwise.core.checks import as_array, shown

Images = list[NDArray[np.int8]]


def as_images(images: Any, name: str, unseen: bool = False) -> Images:
    """Check images (n, h, w), or a list of (h, w), of 0 and 1, and -1 for pixels not seen where that is allowed."""
    if isinstance(images, str | bytes) or not isinstance(images, Iterable):
        raise TypeError(f"{name} must be an array (n, h, w) or a list of images (h, w); got {shown(images)}.")
    found = [as_array(one, name) for one in images]
    if not found:
        raise ValueError(f"{name} must hold an image or more; got none.")
    allowed = (-1, 0, 1) if unseen else (0, 1)
    out = []
    for one in found:
        if one.ndim != 2 or one.size == 0:
            raise ValueError(f"{name} must be images of shape (h, w), none of them empty; got shape {one.shape}.")
        if one.dtype.kind not in "biuf" or not np.isin(one, allowed).all():
            also = ", or -1 for pixels that were not seen" if unseen else ""
            raise ValueError(f"{name} must hold 0 and 1{also}; got others.")
        out.append(one.astype(np.int8))
    return out


def by_shape(images: Images) -> dict[tuple[int, int], Ints]:
    """The places of the images of each shape."""
    shapes: dict[tuple[int, int], list[int]] = {}
    for i, one in enumerate(images):
        shapes.setdefault((one.shape[0], one.shape[1]), []).append(i)
    return {shape: np.array(places) for shape, places in shapes.items()}


def flat(images: Images, places: Ints) -> NDArray[np.float64]:
    """The chosen images of one shape as rows, (n, pixels)."""
    return np.stack([images[i].ravel() for i in places]).astype(np.float64)
