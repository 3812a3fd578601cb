"""What models of rows of features share: their checks and products with one constant feature beside the others."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from setwise.core.arrays import Ints, Values
from setwise.core.checks import as_number


def check_rows(X: Any, offsets: Ints, intercept: float) -> tuple[Any, Ints, float]:
    """X (rows, features) as float64, dense or CSR; offsets of the sets in its rows; the value of the constant feature.

    Raises ValueError where the shapes do not agree or X is not finite.
    """
    try:
        X = X.tocsr() if issparse(X) else np.ascontiguousarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("X must hold numbers, in a dense or sparse matrix (rows, features).") from None
    if X.ndim != 2 or X.shape[0] == 0:
        raise ValueError(f"X must have shape (rows, features) with rows >= 1; got shape {X.shape}.")
    if X.dtype != np.float64:
        raise ValueError(f"X must be float64; got {X.dtype}.")
    if not np.isfinite(X.data if issparse(X) else X).all():
        raise ValueError("X must be finite; got NaN or inf.")
    offsets = np.asarray(offsets)
    if offsets.ndim != 1 or len(offsets) < 2 or offsets[0] != 0 or (np.diff(offsets) < 1).any():
        raise ValueError("offsets must rise strictly from 0, one for each set and one more.")
    if offsets[-1] != X.shape[0]:
        raise ValueError(f"offsets must end at the {X.shape[0]} rows of X; they end at {offsets[-1]}.")
    return X, offsets.astype(np.int64), as_number(intercept, "intercept", low=0.0)


def row_lengths(X: Any, intercept: float) -> Values:
    """The length of each row, constant feature included, (rows,)."""
    with np.errstate(over="ignore"):
        squares = X.multiply(X).sum(axis=1) if issparse(X) else np.einsum("ij,ij->i", X, X)
        return np.sqrt(np.ravel(squares) + intercept**2)


def with_constant(rows: Any, intercept: float) -> Values:
    """Dense rows with the constant feature last."""
    dense = rows.toarray() if issparse(rows) else rows
    return np.column_stack([dense, np.full(len(dense), intercept)]) if intercept else dense
