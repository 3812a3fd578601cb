"""Completions of the labels and supervised training in turn, from soft labels to hard ones (HOL 4.1)."""

from dataclasses import replace

import numpy as np

from setwise.core.checks import Values
from setwise.estimators.weak import likelihood, soft_labels
from setwise.estimators.weak.calibration import calibrated
from setwise.estimators.weak.posterior import Posterior
from setwise.estimators.weak.problem import LinearModel, Problem, Settings

SHARPNESS = (2.0, 4.0, 8.0, np.inf)
"""Factors of the log-odds in the rounds: 1 is EM, which has converged at the start, and the last are hard labels."""

ROUNDS = 20
"""The largest number of rounds with hard labels."""


def fit(problem: Problem, start: Values | None, settings: Settings) -> LinearModel:
    """Logistic regression of completed labels, and the labels that it completes, until these no longer change.

    It begins at the greatest likelihood. A completion is the mean labeling among those that agree with what is known,
    at a factor of the log-odds that grows to inf. At last the scale is that of greatest likelihood of the bags; the
    boundary stays.
    """
    found = likelihood.fit(problem, start, settings)
    if found.status == "interrupted":
        return found
    try:
        posterior, before = Posterior(problem.knowledge), None
        for sharpness in (*SHARPNESS, *[np.inf] * (ROUNDS - 1)):
            targets = posterior(found.scores(problem.X), sharpness)
            if before is not None and np.array_equal(before, targets):
                break
            before = targets if sharpness == np.inf else None
            found = soft_labels.fit_to(problem, targets, found.w, settings)
            if found.status == "interrupted":
                return found
        slope, _ = calibrated(problem.knowledge, found.scores(problem.X), boundary_stays=True)
    except KeyboardInterrupt:
        return replace(found, status="interrupted", message="interrupted; these are the weights of the last labels")
    return replace(found, w=slope * found.w)
