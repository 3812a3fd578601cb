"""Features of pixels: color, texture, position, and the answers of simple filters."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from scipy.ndimage import gaussian_filter, gaussian_laplace, uniform_filter

from setwise.core.checks import Values

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
