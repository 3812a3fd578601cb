"""Checks of the rows of X, and their scores."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data


def as_matrix(estimator: Any, X: Any, y: Any = "no_validation", **checks: Any) -> Any:
    """X (n, d), or X and y, as scikit-learn checks them: finite float64, dense or CSR."""
    try:
        # scikit-learn sums X to see whether all of it is finite, and huge numbers overflow harmlessly there.
        with np.errstate(over="ignore", invalid="ignore"):
            return validate_data(estimator, X, y, accept_sparse="csr", dtype=np.float64, **checks)
    except (TypeError, ValueError, OverflowError) as error:
        # If X holds numbers, the sentence of scikit-learn is about something else, and fits.
        if _is_numeric(X):
            raise
        if isinstance(error, TypeError):
            raise TypeError("X must hold numbers: each argument must be a string of digits or a number.") from None
        raise ValueError("X must hold numbers that fit into float64, in rows of one length.") from None


def _is_numeric(X: Any) -> bool:
    """Whether NumPy can read X as an array of numbers."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return issparse(X) or np.asarray(X, dtype=np.float64) is not None
    except (TypeError, ValueError, OverflowError):
        return False


def linear_scores(X: Any, coef: NDArray[np.float64], intercept: NDArray[np.float64]) -> NDArray[np.float64]:
    """``X coef^T + intercept``, (n, outputs); raises OverflowError if this is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.asarray(X @ coef.T + intercept)
    if not np.isfinite(scores).all():
        raise OverflowError("the scores of X are too large for float64; scale X down.")
    return scores
