"""Some rows of a data set, as they lie in one place: their scores, and what gradients of the scores give weights."""

from dataclasses import InitVar, dataclass, field
from typing import Any, final

import numpy as np
from scipy.sparse import issparse

from setwise.core.checks import Floats, Values, as_array, as_number, as_shaped
from setwise.kernels.segments import column_products, row_lengths, row_products


@final
@dataclass(frozen=True, eq=False)
class RowBlock:
    """``s_i = <w, x_i> + intercept b`` for the rows x_i of ``X``, with b last in w; all sums are in float64.

    Rows of float32 are never copied to float64. There may be no rows. ``lengths`` (m,) are the Euclidean lengths of the
    rows with their constant feature.

    Source: this library.

    Parameters
    ----------
    X : (m, features) float32 or float64, dense or CSR, finite
    intercept : the value, at least 0, of a constant feature; 0 leaves it out
    known : the lengths (m,), where they were computed when the same rows were read before; then nothing is computed,
        and numbers are not looked at again

    Raises
    ------
    ValueError : where X is no matrix of finite numbers
    OverflowError : where the length of a row is not finite

    Examples
    --------
    >>> from setwise.models import RowBlock
    >>> block = RowBlock(np.array([[3.0], [0.0]], dtype=np.float32), intercept=4.0)
    >>> block.lengths
    array([5., 4.])
    """

    X: Any
    intercept: float = 1.0
    known: InitVar[Values | None] = None
    lengths: Values = field(init=False, repr=False)

    def __post_init__(self, known: Values | None) -> None:
        X: Any = self.X if issparse(self.X) else as_array(self.X, "X")
        if X.ndim != 2:
            raise ValueError(f"X must have shape (rows, features); got shape {X.shape}.")
        if X.dtype not in (np.float32, np.float64):
            if X.dtype.kind not in "biuf":
                raise ValueError(f"X must hold numbers, in a dense or sparse matrix; got dtype {X.dtype}.")
            X = X.astype(np.float64)
        X = X.tocsr() if issparse(X) else np.ascontiguousarray(X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "intercept", as_number(self.intercept, "intercept", low=0.0))
        # What is not finite is refused here.
        lengths = self._lengths() if known is None else as_shaped(known, X.shape[0], "known")
        object.__setattr__(self, "lengths", lengths)

    @property
    def size(self) -> int:
        """The number of weights."""
        return int(self.X.shape[1]) + bool(self.intercept)

    def _lengths(self) -> Values:
        out = np.empty(self.X.shape[0])
        with np.errstate(over="ignore", invalid="ignore"):
            if issparse(self.X):
                squares = self.X.astype(np.float64).power(2).sum(axis=1)
                out[:] = np.sqrt(np.ravel(squares) + self.intercept**2)
            else:
                row_lengths(self.X, self.intercept, out)
        if not np.isfinite(out).all() and not np.isfinite(self.X.data if issparse(self.X) else self.X).all():
            raise ValueError("X must be finite; got NaN or inf.")
        if not np.isfinite(out).all():
            raise OverflowError("X is too large: the length of a row leaves float64; scale X down.")
        return out

    def scores(self, w: Values) -> Values:
        """The scores of the rows, (m,), for weights (size,)."""
        plain, constant = (w[:-1], self.intercept * float(w[-1])) if self.intercept else (w, 0.0)
        if issparse(self.X):
            return np.asarray(self.X @ plain + constant, dtype=np.float64)
        out = np.empty(len(self.X))
        row_products(self.X, np.ascontiguousarray(plain), constant, out)
        return out

    def pullback(self, gradient: Floats) -> Values:
        """The sum of the rows with their constant feature, each times its entry of the gradient (m,); (size,)."""
        g, out = np.asarray(gradient, dtype=np.float64), np.zeros(self.X.shape[1])
        if issparse(self.X):
            out += self.X.T @ g
        else:
            column_products(self.X, g, out, np.empty_like(out))
        return np.append(out, self.intercept * g.sum()) if self.intercept else out

    def moments(self) -> Values:
        """The number of rows, and the sums and the sums of squares of their features, (1 + 2 d,)."""
        X = self.X
        if issparse(X):
            sums, squares = X.sum(axis=0, dtype=np.float64), X.astype(np.float64).power(2).sum(axis=0)
        else:
            sums, squares = X.sum(axis=0, dtype=np.float64), np.einsum("ij,ij->j", X, X, dtype=np.float64)
        return np.concatenate(([X.shape[0]], np.ravel(sums), np.ravel(squares)))

    def extent(self) -> tuple[float, float]:
        """The largest size of a feature, and the length of the longest row; 0 where there are no rows."""
        numbers = self.X.data if issparse(self.X) else self.X
        return float(max(numbers.max(initial=0.0), -numbers.min(initial=0.0))), float(self.lengths.max(initial=0.0))

    def take(self, rows: Any) -> "RowBlock":
        """The chosen rows."""
        return RowBlock(self.X[rows], self.intercept)
