"""Margin rescaling of what is known of bags, against its completions, from soft labels (HOL 4.1)."""

import numpy as np

from setwise.core.arrays import Values
from setwise.core.learner import Fit, Record
from setwise.estimators.weak import soft_labels
from setwise.estimators.weak.calibration import calibrated
from setwise.estimators.weak.problem import LinearModel, Problem, Settings
from setwise.learners import NRBM
from setwise.models import Independent
from setwise.risks import MeanRisk
from setwise.surrogates import MarginRescaling

CONSTANT = 10.0
"""The value of the constant feature: its weight is regularized a hundredth as much as a score of it would be."""

TOL, STEPS = 1e-3, 100
"""The smallest tolerance and the largest number of planes: a score more or less decides little."""


def fit(problem: Problem, start: Values | None, settings: Settings) -> LinearModel:
    """A local minimum of ``0.5 |w|^2 + C sum over bags of MarginRescaling(CountRange)``, as log-odds.

    A bag costs what its best labeling with a wrong number of positives, or with wrong known labels, has more in loss
    and score than its best labeling that agrees with what is known. The scores are then log-odds by the factor of
    greatest likelihood.
    """
    begin = soft_labels.fit(problem, None, settings).w if start is None else start
    known, scale = problem.knowledge, np.append(np.ones(len(begin) - 1), CONSTANT)
    features = Independent(problem.X, known.sets.offsets, CONSTANT)
    risk = MeanRisk(features, MarginRescaling(known.loss).on(known.sets), n_jobs=settings.n_jobs)
    learner = NRBM(settings.C * len(known), max(settings.tol, TOL), min(settings.max_iter, STEPS))

    def show(record: Record, _: Values) -> None:
        settings.watch.step(record.objective, record.iteration)

    found = learner.minimize(risk, w0=begin / scale, callback=show)
    settings.watch.close()
    slope, _ = calibrated(known, features.scores(found.w), boundary_stays=True)
    return LinearModel(slope * scale * found.w, _status(found), found.message, found.objective, len(found.history))


def _status(found: Fit) -> str:
    """The status of a fit in the words of the other methods: so many planes are enough for a local minimum."""
    return "interrupted" if found.status == "interrupted" else "converged"
