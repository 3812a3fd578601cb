"""Warnings about how a fit ended, and about models that another version of setwise made."""

import inspect
import warnings

from sklearn.exceptions import ConvergenceWarning, InconsistentVersionWarning

import setwise
from setwise.core.fit import Fit
from setwise.core.pages import AFTER_A_FIT, CERTIFIED_GAP, NOT_CONVEX

LONG = 1e7
"""Rows of this length beside a constant feature of 1 are too long for the steps of the learners."""


def warn_of_end(name: str, fit: Fit, certified: bool, longest: float = 0.0) -> None:
    """Warn if a fit of the estimator ``name`` ended short of its tolerance, in its gap or in its descent.

    ``longest`` is the length of the longest row of features: where rows are too long, more iterations do not help.
    """
    way = "raise max_iter or tol" if longest < LONG else f"scale X, whose rows are up to {longest:.0e} long"
    page = CERTIFIED_GAP if certified else NOT_CONVEX
    endings = {
        "max_iter": (f"{name} {fit.message}; {way}.", ConvergenceWarning, page),
        "stalled": (f"{name} stalled: {fit.message}.", ConvergenceWarning, page),
        "interrupted": (f"{name} was {fit.message}.", RuntimeWarning, AFTER_A_FIT),
    }
    if fit.status in endings:
        words, kind, page = endings[fit.status]
        warnings.warn(words + page.see, kind, stacklevel=outside())


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
            original_sklearn_version=f"setwise {made}",
        )
        warnings.warn(warning, stacklevel=3)
