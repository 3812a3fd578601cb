"""What the linear estimators share: how a problem is solved for their parameters, and what they store of a fit."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from setwise.core.checkpoint import OpenCheckpoint
from setwise.core.checks import Values
from setwise.core.learner import Learner, ProgressBar
from setwise.core.pages import AFTER_A_FIT
from setwise.estimators.descent import Trained, Training
from setwise.estimators.learner import learner_for
from setwise.estimators.threads import blas_threads
from setwise.learners import NRBM


def solve(
    model: Any,
    problem: Training,
    last: Values | None,
    descent: type[Learner] = NRBM,
    checkpoint: OpenCheckpoint | None = None,
) -> Trained:
    """The weights of a problem for the parameters of ``model``, found from the weights ``last`` on.

    ``descent`` is the learner that ``learner="auto"`` takes for risks that are not convex. Where the ``checkpoint``
    holds an earlier fit, this one goes on from there.
    """
    bar = ProgressBar(model.tol, type(model).__name__) if model.verbose else None
    with blas_threads(problem.multiplications, None if model.n_jobs is None else problem.jobs):
        make = partial(learner_for, model, descent=descent)
        trained = problem.solve(make, isinstance(model.learner, str), last, bar, checkpoint)
    if bar is not None:
        bar.close()
    return trained


def shift_of(model: Any, trained: Trained, given: Any, tune: Callable[[], Any]) -> tuple[Any, bool]:
    """The threshold of a fit, and whether Ctrl-C has ended the fit or the choice of the threshold.

    It is ``given``, or ``tune()`` where ``model`` asks for that, else 0. It is 0 after Ctrl-C too, with a warning.
    """
    interrupted = trained.fit.status == "interrupted"
    if given is not None or model.threshold == "zero" or interrupted:
        return (0.0 if given is None else given), interrupted
    name = type(model).__name__
    try:
        with warnings.catch_warnings():
            # The fit of a fold is no model of the user.
            warnings.filterwarnings("ignore", f"{name} was interrupted", RuntimeWarning)
            return tune(), False
    except KeyboardInterrupt:
        words = f"{name} was interrupted while its threshold was chosen; the fitted weights are stored, without it."
        warnings.warn(words + AFTER_A_FIT.see, RuntimeWarning, stacklevel=4)
        return 0.0, True


def keep_certificates(model: Any, trained: Trained) -> None:
    """Store in the attributes of ``model`` how its weights were found, and how good they are."""
    fit = trained.fit
    model.surrogate_, model.C_, model._radius = trained.surrogate, trained.C, trained.radius
    model.objective_, model.lower_bound_, model.duality_gap_ = fit.objective, fit.lower_bound, fit.gap
    fields = ("objective", "lower_bound", "upper_bound", "seconds")
    model.history_ = {name: np.array([getattr(record, name) for record in fit.history]) for name in fields}
    model.n_iter_, model.status_, model.stop_reason_ = len(fit.history), fit.status, fit.message
