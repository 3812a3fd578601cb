"""The rows of X as users have them, and their scores."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data


def as_matrix(estimator: Any, X: Any, y: Any = "no_validation", **checks: Any) -> Any:
    """What scikit-learn makes of X (n, d), or of X and y: float64, dense or CSR, finite."""
    try:
        # A sum of huge numbers tells scikit-learn whether all are finite.
        with np.errstate(over="ignore", invalid="ignore"):
            return validate_data(estimator, X, y, accept_sparse="csr", dtype=np.float64, **checks)
    except (TypeError, ValueError, OverflowError) as error:
        if _is_numeric(X):
            raise
        if isinstance(error, TypeError):
            raise TypeError("X must hold numbers: each argument must be a string of digits or a number.") from None
        raise ValueError("X must hold numbers that fit into float64, in rows of one length.") from None


def _is_numeric(X: Any) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return issparse(X) or np.asarray(X, dtype=np.float64) is not None
    except (TypeError, ValueError, OverflowError):
        return False


def linear_scores(X: Any, coef: NDArray[np.float64], intercept: NDArray[np.float64]) -> NDArray[np.float64]:
    """``X coef^T + intercept``, (n, outputs); OverflowError if it is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.asarray(X @ coef.T + intercept)
    if not np.isfinite(scores).all():
        raise OverflowError("the scores of X are too large for float64; scale X down.")
    return scores
