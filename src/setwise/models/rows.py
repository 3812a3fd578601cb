"""Helpers of the models that score rows of features: checks, lengths, and the constant feature."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from setwise.core.checks import Ints, Values, as_array, as_number, as_offsets


def check_rows(X: Any, offsets: Ints | None, intercept: float) -> tuple[Any, Ints, float, Values]:
    """Returns X (rows, features), dense or CSR, the offsets of the sets in its rows, the constant, and lengths (rows,).

    The lengths are those of the rows with their constant feature. All rows are one set where the offsets are None.

    Raises ValueError where the shapes do not agree, or where X is not float64 or not finite, and OverflowError where
    the length of a row is not.
    """
    X = X if issparse(X) else as_array(X, "X")
    if X.ndim != 2 or X.shape[0] == 0:
        raise ValueError(f"X must have shape (rows, features) with rows >= 1; got shape {X.shape}.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must hold numbers, in a dense or sparse matrix (rows, features); got dtype {X.dtype}.")
    X = X.tocsr() if issparse(X) else np.ascontiguousarray(X, dtype=np.float64)
    if X.dtype != np.float64:
        raise ValueError(f"X must be float64; got {X.dtype}.")
    intercept = as_number(intercept, "intercept", low=0.0)
    lengths = _row_lengths(X, intercept)
    # The squares of finite numbers may overflow, so X is looked at once more before it is refused.
    if not np.isfinite(lengths).all() and not np.isfinite(X.data if issparse(X) else X).all():
        raise ValueError("X must be finite; got NaN or inf.")
    if not np.isfinite(lengths).all():
        raise OverflowError("X is too large: the length of a row, with its intercept, leaves float64; scale X down.")
    # Empty sets are refused here, for sums over rows by ``np.add.reduceat`` would take a row of another set for them.
    whole = np.array([0, X.shape[0]], dtype=np.int64) if offsets is None else offsets
    return X, as_offsets(whole, int(X.shape[0])), intercept, lengths


def _row_lengths(X: Any, intercept: float) -> Values:
    """Returns the Euclidean length of each row with its constant feature, (rows,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = X.multiply(X).sum(axis=1) if issparse(X) else np.einsum("ij,ij->i", X, X)
        return np.sqrt(np.ravel(squares) + intercept * intercept)


def with_constant(rows: Any, intercept: float) -> Values:
    """Returns the rows as a dense array with the constant feature last."""
    dense = rows.toarray() if issparse(rows) else rows
    return np.column_stack([dense, np.full(len(dense), intercept)]) if intercept else dense
