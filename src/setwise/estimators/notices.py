"""Warnings about how a fit ended, and about models that another version of setwise made."""

import inspect
import warnings
from typing import Any

from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning, InconsistentVersionWarning

import setwise
from setwise.core.files import in_line
from setwise.core.learner import Fit
from setwise.core.pages import AFTER_A_FIT, CERTIFIED_GAP, NOT_CONVEX

LONG = 1e7
"""Rows of this length beside a constant feature of 1 are too long for the steps of the learners."""


SMALL = 1e-4
"""Features up to this size need weights so large that the regularizer leaves the constant one alone."""

SHORT = ("max_iter", "stalled")
"""How a fit ends short of its tolerance."""


def warn_of_end(name: str, fit: Fit, certified: bool, longest: float = 0.0) -> None:
    """Warn if a fit of the estimator ``name`` ended short of its tolerance, in its gap or in its descent.

    ``longest`` is the length of the longest row of features: where rows are too long, more iterations do not help.
    """
    scale = f"scale X, whose rows are up to {longest:.0e} long" if longest >= LONG else ""
    page = CERTIFIED_GAP if certified else NOT_CONVEX
    endings = {
        "max_iter": (f"{name} {fit.message}; {scale or 'raise max_iter or tol'}.", ConvergenceWarning, page),
        "stalled": (f"{name} stalled: {fit.message}{scale and f'; {scale}'}.", ConvergenceWarning, page),
        "interrupted": (f"{name} was {fit.message}.", RuntimeWarning, AFTER_A_FIT),
    }
    if fit.status in endings:
        words, kind, page = endings[fit.status]
        warnings.warn(words + page.see, kind, stacklevel=outside())


def largest_number(X: Any) -> float:
    """The largest size of a feature in X, dense or CSR."""
    numbers = X.data if issparse(X) else X
    return float(max(numbers.max(initial=0.0), -numbers.min(initial=0.0)))


def way_from_constant(largest: float, usual: str) -> str:
    """What to do where a model is constant: ``usual``, or to scale features that are at most of size ``largest``."""
    return f"scale X up, whose numbers are at most {largest:.0e}" if 0.0 < largest < SMALL else usual


def outside() -> int:
    """The level, for a warning of the function that calls this, of the first line that is not of setwise."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("setwise."):
        frame, level = frame.f_back, level + 1
    return level


def warn_of_version(name: str, made: str) -> None:
    """Warn if the estimator ``name`` was stored by a version of setwise other than the one that reads it."""
    if made != setwise.__version__:
        warning = InconsistentVersionWarning(
            estimator_name=name,
            # scikit-learn writes these two into its sentence, where its own version would stand.
            current_sklearn_version=f"setwise {setwise.__version__}",
            original_sklearn_version=f"setwise {in_line(made)}",
        )
        warnings.warn(warning, stacklevel=3)
