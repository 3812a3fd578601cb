"""Synthetic landmarks on a grid: a precise feature whose noise is anywhere, and a broad one that is reliable."""

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import as_count, as_number, as_random_state

APART = 4
"""The least distance of two points in rows, and in columns."""

JITTER = 1.0
"""The standard deviation of the middle of a bump around its point, in each direction."""

BREADTH = 1.5
"""The standard deviation of a bump."""

GRAIN = 0.05
"""The standard deviation of the noise of each cell in the precise features."""


def landmarks(
    n: int = 100, noise: float = 0.1, g: int = 20, k: int = 3, random_state: int | np.random.Generator | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw n images of g*g cells with k points each, and two features for each point.

    The rows of the points are uniform among those that differ by 4 or more, and so are the columns. The *precise*
    feature of a point is 1 in one cell and 0 in the others, plus ``N(0, .05^2)`` in every cell. That cell is the cell
    of the point; with probability ``noise`` it is any cell of the image, so its noise is not local. The *broad* feature
    is ``exp(-r^2 / (2 * 1.5^2))`` at the distance r from a middle, which lies ``N(0, I)`` off the point: it is always
    near, and seldom right. HOL gives no numbers for its landmarks; these are ours.

    Source: HOL 5.1.

    Parameters
    ----------
    n, g, k : the number of images, of rows and columns, and of points; ``g > 4 (k - 1)``
    noise : the share of precise features that point anywhere, 0 to 1
    random_state : a seed or a numpy Generator

    Returns
    -------
    X : (n, g * g, 2 * k) float64, the precise features of all points, then the broad ones
    y : (n, k) int64, the cell of each point; cell v is in row ``v // g`` and column ``v % g``

    Raises
    ------
    TypeError, ValueError : if n, g or k is no whole number, or too small, or noise is not in [0, 1]

    Examples
    --------
    >>> from setwise.datasets import landmarks
    >>> X, y = landmarks(n=2, noise=0.0, g=10, k=3, random_state=0)
    >>> X.shape, y.shape
    ((2, 100, 6), (2, 3))
    >>> # Without noise the precise features tell the cells.
    >>> (X[0, :, :3].argmax(axis=0) == y[0]).all().item()
    True
    """
    n, k, noise = as_count(n, "n"), as_count(k, "k"), as_number(noise, "noise", low=0.0, high=1.0)
    g = as_count(g, "g", low=APART * (k - 1) + 1)
    rng = np.random.default_rng(as_random_state(random_state))
    row, column = _apart(rng, n, g, k), _apart(rng, n, g, k)
    y = row * g + column
    cell = np.where(rng.random((n, k)) < noise, rng.integers(0, g * g, (n, k)), y)
    precise = (np.arange(g * g) == cell[:, :, None]) + GRAIN * rng.standard_normal((n, k, g * g))
    here = np.divmod(np.arange(g * g), g)
    middles = (line[:, :, None] + JITTER * rng.standard_normal((n, k, 1)) for line in (row, column))
    squares = sum((own - middle) ** 2 for own, middle in zip(here, middles, strict=True))
    broad = np.exp(-squares / (2.0 * BREADTH**2))
    return np.ascontiguousarray(np.concatenate([precise, broad], axis=1).transpose(0, 2, 1)), y


def _apart(rng: np.random.Generator, n: int, g: int, k: int) -> NDArray[np.int64]:
    """Lines 0..g-1 of k points in random order, each ``APART`` or more from the others, (n, k)."""
    # Sorted lines less the distances that they must have are any k numbers in rising order.
    free = np.sort(rng.integers(0, g - APART * (k - 1), (n, k)), axis=1)
    return rng.permuted(free + APART * np.arange(k), axis=1)
