"""What SetClassifierCV tries: the surrogates, where their fits start, and the values of C."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from setwise.core.checks import Values
from setwise.estimators.logistic import CS, Logistic, plain_logistic
from setwise.estimators.objective import may_ramp
from setwise.estimators.problem import problem_of
from setwise.estimators.set_classifier import SetClassifier
from setwise.estimators.splits import Split
from setwise.estimators.start import thresholds
from setwise.estimators.training import Problem
from setwise.surrogates import Ramp


def tried(
    model: SetClassifier, problem: Problem, Cs: Values, groups: Any, sample_weight: Any, splits: list[Split]
) -> list[tuple[SetClassifier, Values]]:
    """Copies of ``model`` that differ in the surrogate and its start, each with the values of C to fit it with.

    Where fits start at logistic regression, C = 0 comes first; with ``threshold="exact"`` it is the one of
    :func:`tuned_start`, unless the model brings its own.
    """
    found, start = [], model.start
    for surrogate in surrogates(model, problem):
        one, values = clone(model).set_params(surrogate=surrogate), Cs
        convex = surrogate != Ramp.name if isinstance(surrogate, str) else surrogate.on(problem.grouping.batch).convex
        if problem.starts_at_logistic(convex):
            values = np.union1d([0.0], Cs)
            if model.threshold == "exact" and isinstance(start, str):
                start = tuned_start(model, problem, groups, sample_weight, splits)
            one.set_params(start=start)
        found.append((one, values))
    return found


def surrogates(model: SetClassifier, problem: Problem) -> tuple[Any, ...]:
    """The surrogates that are tried: for ``"auto"`` the ramp, and for several sets the convex one too.

    For losses of rankings, for starts at w = 0, and where the ramp is refused, each fit decides for itself.
    """
    if model.surrogate != "auto" or model.start == "zero" or not may_ramp(problem.loss, problem.grouping):
        return (model.surrogate,)
    return (Ramp.name,) if len(problem.grouping.batch) == 1 else (Ramp.name, "convex")


def tuned_start(
    model: SetClassifier, problem: Problem, groups: Any, sample_weight: Any, splits: list[Split]
) -> LogisticRegression:
    """Logistic regression whose scores of held-out rows lose least with their best thresholds.

    Its C is one of ``CS``, its classes are weighted equally or ``"balanced"``. Of equal losses the first one wins, the
    smallest C with equal weights. Each row must be held out once.
    """
    loss, grouping = problem.loss, problem.grouping
    columns = problem.X.shape[1]
    models = [plain_logistic(columns, C=C, class_weight=w) for w in (None, "balanced") for C in CS]
    held_out = np.zeros((len(models), *problem.shape))
    for train, test in splits:
        given = problem.X, problem.target, groups, sample_weight
        X, y, sets, weights = (None if whole is None else whole[train] for whole in given)
        part = problem_of(clone(model), X, y, sets, weights, model._intercept)
        for one, scores in zip(models, held_out, strict=True):
            found = Logistic(part.X, part.grouping, part.target, part.row_weights, part.intercept != 0.0, one)
            scores[test] = found.scores(problem.X[test])
    moved = [scores - thresholds(loss, grouping, problem.average, scores) for scores in held_out]
    losses = [grouping.mean_loss(loss, scores, sample_weight) for scores in moved]
    # Losses that differ by rounding are equal.
    return models[int(np.argmin(np.round(losses, 12)))]
