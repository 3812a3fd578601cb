"""Warnings about how a fit ended, and about models that another version of setwise made."""

import warnings
from collections.abc import Callable
from typing import TypeVar

from sklearn.exceptions import ConvergenceWarning, InconsistentVersionWarning

import setwise
from setwise.core.learner import Fit

Shift = TypeVar("Shift")


def unless_interrupted(model: object, threshold: Callable[[], Shift]) -> Shift | None:
    """``threshold()``; None after Ctrl-C, with a warning that says what is stored of ``model``."""
    name = type(model).__name__
    try:
        with warnings.catch_warnings():
            # The fit of a fold is no model of the user.
            warnings.filterwarnings("ignore", f"{name} was interrupted", RuntimeWarning)
            return threshold()
    except KeyboardInterrupt:
        words = f"{name} was interrupted while its threshold was chosen; the fitted weights are stored, without it."
        warnings.warn(words, RuntimeWarning, stacklevel=4)
        return None


def warn_of_end(name: str, fit: Fit) -> None:
    """Warn if a fit of the estimator ``name`` ended without reaching its tolerance."""
    endings = {
        "max_iter": (f"{name} {fit.message}; raise max_iter or tol.", ConvergenceWarning),
        "stalled": (f"{name} stalled: {fit.message}.", ConvergenceWarning),
        "interrupted": (f"{name} was {fit.message}.", RuntimeWarning),
    }
    if fit.status in endings:
        # The warning points at the line of the user that called fit.
        warnings.warn(*endings[fit.status], stacklevel=4)


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
