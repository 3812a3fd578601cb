"""Segmentations side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from setwise.core.checks import Values, as_array, as_text, shown
from setwise.plotting.style import GRAY, RED

_WIDTH = 1.7
"""The width of a picture, in inches."""

_LETTERS = 12
"""The size of the names, in points."""


def segmentations(images: Sequence[Any], masks: Mapping[str, Sequence[Any]], title: str = "") -> Figure:
    """Draw images in the first column, and beside each its masks: one row for each image, one column for each name.

    Pixels of a mask keep their colors and have an outline, those around are pale and grey.

    Parameters
    ----------
    images : a list of arrays (H, W) or (H, W, 3), uint8 or floats in 0..1
    masks : for each name a list of arrays (H, W) of truth values or numbers 0 and 1, one for each image. A name may
        have several lines, and four columns in all are still readable on a phone
    title : the title of the picture

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError, TypeError : for images or masks other than these

    Examples
    --------
    >>> from setwise.plotting import segmentations
    >>> mask = np.tri(8, dtype=bool)
    >>> figure = segmentations([0.5 + 0.4 * mask], {"truth": [mask], "found": [~mask]})
    >>> [axes.get_title() for axes in figure.axes]
    ['image', 'truth', 'found']
    """
    pictures, title = _as_pictures(images), as_text(title, "title")
    columns = _as_masks(masks, pictures)
    heights = [_WIDTH * one.shape[0] / one.shape[1] for one in pictures]
    lines = 1 + max(name.count("\n") for name in columns)
    top = 0.1 + 0.22 * lines + (0.3 if title else 0.0)
    figure = Figure(figsize=(_WIDTH * (len(columns) + 1) + 0.1, sum(heights) + top + 0.05 * len(pictures)))
    grid = figure.add_gridspec(
        len(pictures), len(columns) + 1, height_ratios=heights, wspace=0.03, hspace=0.03,
        left=0.01, right=0.99, bottom=0.01, top=1.0 - top / figure.get_figheight(),
    )  # fmt: skip
    for i, picture in enumerate(pictures):
        for j, name in enumerate(("image", *columns)):
            axes = figure.add_subplot(grid[i, j])
            mask = np.ones(picture.shape[:2], dtype=bool) if j == 0 else columns[name][i]
            axes.imshow(_faded(picture, mask), interpolation="nearest")
            # Without an outline white objects could not be told from what is pale around them.
            if mask.any() and not mask.all() and min(mask.shape) > 1:
                axes.contour(mask, [0.5], colors=RED, linewidths=0.8)
            axes.axis("off")
            if i == 0:
                axes.set_title(name, fontsize=_LETTERS, color=GRAY)
    if title:
        figure.text(0.01, 1.0 - 0.08 / figure.get_figheight(), title, ha="left", va="top", fontsize=11)
    return figure


def _faded(picture: Values, mask: NDArray[np.bool_]) -> Values:
    """The picture with its positive pixels in color, and the others pale and grey."""
    grey = np.repeat(picture.mean(axis=-1, keepdims=True), 3, axis=-1)
    return np.where(mask[:, :, None], picture, 0.25 * grey + 0.75)


def _as_pictures(images: Any) -> list[Values]:
    """The images as floats in 0..1, (H, W, 3)."""
    if isinstance(images, str | bytes | Mapping) or not hasattr(type(images), "__iter__"):
        raise TypeError(f"images must be a list of arrays; got {shown(images)}.")
    found = []
    for image in images:
        given = as_array(image, "images")
        if given.ndim not in (2, 3) or not given.size or (given.ndim == 3 and given.shape[2] != 3):
            raise ValueError(f"images must have shapes (H, W) or (H, W, 3); got {given.shape}.")
        if given.dtype != np.uint8 and given.dtype.kind != "f":
            raise ValueError(f"images must be uint8, or floats in 0..1; got {given.dtype}.")
        values = given / 255.0 if given.dtype == np.uint8 else given.astype(np.float64)
        if not (np.isfinite(values).all() and values.min() >= 0.0 and values.max() <= 1.0):
            raise ValueError(f"images must be uint8, or floats in 0..1; got {shown(values.ravel())}.")
        found.append(values if values.ndim == 3 else np.repeat(values[:, :, None], 3, axis=-1))
    if not found:
        raise ValueError("images must hold one image or more; got none.")
    return found


def _as_masks(masks: Any, pictures: list[Values]) -> dict[str, list[NDArray[np.bool_]]]:
    """The masks by name, each of the shape of its picture."""
    if not isinstance(masks, Mapping) or not masks:
        raise TypeError(f"masks must be a dict from names to lists of masks; got {shown(masks)}.")
    found: dict[str, list[NDArray[np.bool_]]] = {}
    for name, each in masks.items():
        as_text(name, "the names of masks")
        if isinstance(each, str | bytes | Mapping) or not hasattr(type(each), "__iter__"):
            raise TypeError(f"masks of {name!r} must be a list of arrays; got {shown(each)}.")
        arrays = [as_array(one, f"masks of {name!r}") for one in each]
        if len(arrays) != len(pictures):
            raise ValueError(
                f"masks of {name!r} must be {len(pictures)} arrays, one for each image; got {len(arrays)}."
            )
        for one, picture in zip(arrays, pictures, strict=True):
            if one.shape != picture.shape[:2] or one.dtype.kind not in "biu" or not np.isin(one, (0, 1)).all():
                raise ValueError(f"masks of {name!r} must be 0 and 1 of shape {picture.shape[:2]}; got {one.shape}.")
        found[name] = [one == 1 for one in arrays]
    return found
