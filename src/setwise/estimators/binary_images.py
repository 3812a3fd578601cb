"""What the estimators of binary images share: images that are checked, their cuts, and regularizers."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Ints, as_array, as_number, shown
from setwise.probabilistic import Cut

Images = list[NDArray[np.int8]]


def as_images(images: Any, name: str, unknown: bool = False) -> Images:
    """Check images (n, h, w), or a list of (h, w), of 0 and 1, and -1 for unknown pixels where that is allowed."""
    if isinstance(images, str | bytes) or not isinstance(images, Iterable):
        raise TypeError(f"{name} must be an array (n, h, w) or a list of images (h, w); got {shown(images)}.")
    found = [as_array(one, name) for one in images]
    if not found:
        raise ValueError(f"{name} must hold an image or more; got none.")
    allowed = (-1, 0, 1) if unknown else (0, 1)
    out = []
    for one in found:
        if one.ndim != 2 or one.size == 0:
            raise ValueError(f"{name} must be images of shape (h, w), none of them empty; got shape {one.shape}.")
        if one.dtype.kind not in "biuf" or not np.isin(one, allowed).all():
            also = ", or -1 for pixels that are not known" if unknown else ""
            raise ValueError(f"{name} must hold 0 and 1{also}; got others.")
        out.append(one.astype(np.int8))
    return out


def as_pair(X: Any, y: Any) -> tuple[Images, Images]:
    """Check noisy images and clean ones of the same shapes; -1 stands for unknown pixels of both."""
    noisy, clean = as_images(X, "X", unknown=True), as_images(y, "y", unknown=True)
    if [one.shape for one in clean] != [one.shape for one in noisy]:
        raise ValueError("y must be images of the same shapes as those of X.")
    return noisy, clean


def by_shape(images: Images) -> dict[tuple[int, int], Ints]:
    """The places of the images of each shape."""
    shapes: dict[tuple[int, int], list[int]] = {}
    for i, one in enumerate(images):
        shapes.setdefault((one.shape[0], one.shape[1]), []).append(i)
    return {shape: np.array(places) for shape, places in shapes.items()}


def flat(images: Images, places: Ints) -> NDArray[np.float64]:
    """The chosen images of one shape as rows, (n, pixels)."""
    return np.stack([images[i].ravel() for i in places]).astype(np.float64)


def grid_cuts(shape: tuple[int, ...]) -> list[Cut]:
    """The cut of the edges of an image (h, w) to the right, and that of those downwards."""
    return [Cut.grid(shape[0], shape[1], direction) for direction in ((0, 1), (1, 0))]


def as_two(value: Any, name: str) -> tuple[float, float]:
    """Two numbers of 0 or above, from one number or two."""
    both = value if isinstance(value, tuple) else (value, value)
    if len(both) != 2:
        raise ValueError(f"{name} must be a number, or two, of 0 or above; got {shown(value)}.")
    return as_number(both[0], name, low=0.0), as_number(both[1], name, low=0.0)
