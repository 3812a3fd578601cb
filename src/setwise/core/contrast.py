"""The contrast of the two ends of an edge, as a feature that is 1 where both look the same."""

import numpy as np

from setwise.core.arrays import Values


def contrast(a: Values, b: Values) -> Values:
    """``exp(-|a - b|^2 / 2 v)``, (m,), with v the mean of ``|a - b|^2``, for the colors (m, c) of the ends of edges.

    It is 1 for all edges where no colors differ.
    """
    squares = ((a - b) ** 2).sum(axis=1)
    mean = squares.mean() if len(squares) else 0.0
    return np.asarray(np.exp(-squares / (2.0 * mean if mean > 0.0 else 1.0)))
