"""The linear model of independent decisions: one weight vector scores each decision from its own row of features."""

from typing import Any, final

import numpy as np
from scipy.sparse import csr_array, issparse

from setwise.core.batch import segments
from setwise.core.checks import Floats, Ints, Values, as_point, as_shaped
from setwise.core.risk import Features, as_base, as_lower
from setwise.kernels.segments import chosen_offsets
from setwise.models.rows import check_rows


@final
class Independent(Features):
    """``s_i = <w, x_i> + intercept b`` for decision i, whose features x_i are row i of ``X``.

    Source: this library; one linear function of the features.

    Parameters
    ----------
    X : (rows, features) float64, dense or CSR
    offsets : (n+1,) set i has the rows ``offsets[i]:offsets[i+1]``; None makes all rows one set
    intercept : value of a constant feature, whose weight b comes last in w. It is regularized like the others, but the
        less the larger the value is; 0 leaves it out
    base : (rows,) fixed scores that are added, None for none
    lower : (d,) least values of the weights, None for none

    Raises
    ------
    ValueError : for shapes that do not agree, numbers that are not finite, and a sparse X that is not float64
    OverflowError : where the length of a row of X is beyond float64

    Examples
    --------
    >>> from setwise.models import Independent
    >>> model = Independent([[1.0, 2.0], [0.0, 3.0]], intercept=1.0)
    >>> model.scores(np.array([1.0, -1.0, 0.5]))  # 1 - 2 + 0.5 and 0 - 3 + 0.5
    array([-0.5, -2.5])
    """

    def __init__(
        self, X: Any, offsets: Ints | None = None, intercept: float = 1.0, base: Values | None = None, lower: Any = None
    ) -> None:
        self.X, self.offsets, self.intercept, self.row_lengths = check_rows(X, offsets, intercept)
        self.size = int(self.X.shape[1]) + bool(intercept)
        self.base, self.lower = as_base(base, int(self.X.shape[0])), as_lower(lower, self.size)

    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        w, places = as_point(w, self.size), slice(None) if parts is None else segments(parts, self.offsets)
        rows = self.X if parts is None else self.X[places]
        s = np.asarray(rows @ w[:-1] + self.intercept * w[-1] if self.intercept else rows @ w)
        return s if self.base is None else s + self.base[places]

    def pullback(self, gradient: Floats, parts: Ints | None = None) -> Values:
        rows = self.X if parts is None else self.X[segments(parts, self.offsets)]
        gradient = as_shaped(gradient, rows.shape[0], "gradient")
        slope = np.asarray(rows.T @ gradient)
        return np.append(slope, self.intercept * gradient.sum()) if self.intercept else slope

    def pullbacks(self, gradient: Floats, parts: Ints | None = None) -> Values:
        rows = self.X if parts is None else self.X[segments(parts, self.offsets)]
        gradient = as_shaped(gradient, rows.shape[0], "gradient")
        offsets = self.offsets if parts is None else chosen_offsets(parts, self.offsets)
        # The slope of a set is the sum of its rows, each times its entry of the gradient.
        if issparse(rows):
            # A row for each set, so that the rows of decisions stay sparse.
            owned = csr_array((gradient, np.arange(len(gradient)), offsets), shape=(len(offsets) - 1, len(gradient)))
            slopes = np.asarray((owned @ rows).toarray())
            sums = np.add.reduceat(gradient, offsets[:-1])
            return np.column_stack([slopes, self.intercept * sums]) if self.intercept else slopes
        scaled = rows * gradient[:, None]
        if self.intercept:
            scaled = np.column_stack([scaled, self.intercept * gradient])
        return np.add.reduceat(scaled, offsets[:-1], axis=0)

    def based(self, base: Values | None, lower: Values | None) -> "Independent":
        return Independent(self.X, self.offsets, self.intercept, base, lower)
