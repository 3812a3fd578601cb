"""The recall of each class: the share of its decisions that are right."""

import numpy as np

from setwise.core.checks import Values


def recalls(fn: Values, fp: Values, P: Values, N: Values) -> tuple[Values, Values]:
    """``1 - fn / P`` and ``1 - fp / N``; an absent class gets the recall of the other one, and both absent get 1."""
    # Arrays whose numbers lie on another device can not be asked.
    asked = isinstance(P, float | np.ndarray) and isinstance(N, float | np.ndarray)
    if asked and np.all(P > 0) and np.all(N > 0):
        return 1.0 - fn / P, 1.0 - fp / N
    # So an absent class drops out of any mean of the two recalls.
    positive = np.where(P > 0, 1.0 - fn / np.where(P > 0, P, 1.0), 1.0)
    negative = np.where(N > 0, 1.0 - fp / np.where(N > 0, N, 1.0), positive)
    return np.where(P > 0, positive, negative), negative
