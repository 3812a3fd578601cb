"""Synthetic images of objects whose color and texture differ a little from those of their surroundings."""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from setwise.core.checks import as_count, as_number, as_random_state, shown
from setwise.datasets.images import LabeledImages

WAVES = 3
"""The number of waves of the outline of an object."""


def textured_objects(
    n: int = 20,
    shape: tuple[int, int] = (40, 60),
    contrast: float = 0.15,
    random_state: int | np.random.Generator | None = None,
) -> LabeledImages:
    """Draw n images of one object each, with labels 1 for it and 0 for its surroundings.

    The outline of an object is ``r (1 + sum_k a_k cos(k t + b_k))`` over the angle t, k = 1, 2, 3, with a radius r of
    a fifth to two fifths of the shorter side, coefficients ``a_k`` of up to .25, and a middle away from the border. So
    objects fill 5 to 40 % of an image. The surroundings have a color of their own in each image, as have the objects,
    which are redder and less blue by ``contrast`` on average. To each pixel comes noise: smooth noise of a deviation of
    .12, which is coarse (4 pixels) around and fine (1 pixel) in the object, and independent noise of .08.

    Parameters
    ----------
    n : the number of images
    shape : (H, W), 8 or more each
    contrast : the mean difference of colors, from 0 on; white is 1
    random_state : a seed or a numpy Generator

    Returns
    -------
    LabeledImages
        The images and the labels of their pixels.

    Raises
    ------
    TypeError, ValueError : if n is no whole number of 1 or above, a side is below 8, or contrast is negative

    Examples
    --------
    >>> from setwise.datasets import textured_objects
    >>> data = textured_objects(n=3, shape=(20, 30), random_state=0)
    >>> len(data), data.images[0].shape, data.images[0].dtype.name
    (3, (20, 30, 3), 'uint8')
    >>> [sorted(set(labels.ravel().tolist())) for labels in data.labels]
    [[0, 1], [0, 1], [0, 1]]
    """
    n, contrast = as_count(n, "n"), as_number(contrast, "contrast", low=0.0)
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise TypeError(f"shape must be a pair (H, W); got {shown(shape)}.")
    size = (as_count(shape[0], "shape", low=8), as_count(shape[1], "shape", low=8))
    rng = np.random.default_rng(as_random_state(random_state))
    drawn = [_draw(size, contrast, rng) for _ in range(n)]
    return LabeledImages(
        tuple(f"object{i:03d}" for i in range(n)),
        tuple(image for image, _ in drawn),
        tuple(mask.astype(np.int64) for _, mask in drawn),
    )


def _draw(
    shape: tuple[int, int], contrast: float, rng: np.random.Generator
) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """One image and the mask of its object."""
    mask = _outline(shape, rng)
    around = rng.uniform(0.3, 0.6, 3)
    inside = around + contrast * np.array([1.0, 0.0, -1.0]) + rng.normal(scale=0.05, size=3)
    coarse, fine = (_smooth(shape, width, rng) for width in (4.0, 1.0))
    colors = np.where(mask[:, :, None], inside + fine[:, :, None], around + coarse[:, :, None])
    noisy = colors + 0.08 * rng.standard_normal(colors.shape)
    return np.round(255.0 * np.clip(noisy, 0.0, 1.0)).astype(np.uint8), mask


def _outline(shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.bool_]:
    """The mask of an object."""
    radius = rng.uniform(0.2, 0.4) * min(shape)
    middle = [rng.uniform(0.3 * side, 0.7 * side) for side in shape]
    y, x = (line - at for line, at in zip(np.indices(shape), middle, strict=True))
    k = np.arange(1, WAVES + 1)
    heights, phases = rng.uniform(0.0, 0.25, WAVES), rng.uniform(0.0, 2.0 * np.pi, WAVES)
    waves = (heights * np.cos(k * np.arctan2(y, x)[:, :, None] + phases)).sum(axis=-1)
    return np.asarray(np.hypot(x, y) <= radius * (1.0 + waves))


def _smooth(shape: tuple[int, int], width: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Noise with a deviation of .12 that changes over ``width`` pixels."""
    noise = gaussian_filter(rng.standard_normal(shape), width)
    return np.asarray(0.12 * noise / noise.std())
