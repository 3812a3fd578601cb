"""Linear scores that minimize a sum over bags of a surrogate by planes, and these scores as log-odds."""

from dataclasses import replace

import numpy as np

from setwise.core.checks import Values
from setwise.core.learner import Fit, Record
from setwise.core.surrogate import Evaluator
from setwise.estimators.weak.calibration import calibrated
from setwise.estimators.weak.problem import LinearModel, Problem, Settings
from setwise.learners import NRBM
from setwise.models import Independent
from setwise.risks import MeanRisk

CONSTANT = 10.0
"""The value of the constant feature: its weight is regularized a hundredth as much as a score of it would be."""

TOL, STEPS = 1e-3, 100
"""The smallest tolerance and the largest number of planes: a score more or less decides little."""


def descend(problem: Problem, evaluator: Evaluator, start: Values, settings: Settings) -> LinearModel:
    """``min 0.5 |w|^2 + C sum over bags of a surrogate`` from ``start`` (d + 1,), by :class:`setwise.learners.NRBM`.

    The minimum is local where the surrogate is not convex. The objective is never above that of the start.
    """
    known, scale = problem.knowledge, np.append(np.ones(len(start) - 1), CONSTANT)
    risk = MeanRisk(Independent(problem.X, known.sets.offsets, CONSTANT), evaluator, n_jobs=settings.n_jobs)
    learner = NRBM(settings.C * len(known), max(settings.tol, TOL), min(settings.max_iter, STEPS))

    def show(record: Record, _: Values) -> None:
        settings.watch.step(record.objective, record.iteration)

    found = learner.minimize(risk, w0=start / scale, callback=show)
    settings.watch.close()
    return LinearModel(scale * found.w, _status(found), found.message, found.objective, len(found.history))


def as_log_odds(problem: Problem, found: LinearModel, ranked: bool = False) -> LinearModel:
    """The model with the factor of its scores under which what is known is most likely; its boundary stays.

    Scores that are ``ranked`` alone have no boundary, so that they take the constant of greatest likelihood too.
    """
    slope, shift = calibrated(problem.knowledge, found.scores(problem.X), boundary_stays=not ranked)
    return replace(found, w=slope * found.w + np.append(np.zeros(len(found.w) - 1), shift))


def _status(found: Fit) -> str:
    """The status of a fit in the words of the other methods: so many planes are enough for a local minimum."""
    return "interrupted" if found.status == "interrupted" else "converged"
