"""The share of right decisions in each class."""

import numpy as np

from setwise.core.arrays import Values


def recalls(fn: Values, fp: Values, P: Values, N: Values) -> tuple[Values, Values]:
    """``1 - fn / P`` and ``1 - fp / N``; a class that is not there takes the recall of the other."""
    positive = np.where(P > 0, 1.0 - fn / np.where(P > 0, P, 1.0), 0.0)
    negative = np.where(N > 0, 1.0 - fp / np.where(N > 0, N, 1.0), positive)
    return np.where(P > 0, positive, negative), negative
