"""The order of rows that fits do not depend on."""

import numpy as np

from setwise.estimators.splits import row_keys


def in_order(X, *more):
    """X and the arrays beside it, y first, in the order of rows in which estimators make folds of them."""
    order = np.lexsort([*np.reshape(more[0], (len(X), -1)).T, row_keys(X)])
    return X[order], *(one[order] for one in more)
