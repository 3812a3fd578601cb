"""Thresholds from scores of rows by models that have not seen them."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from setwise.core.checkpoint import OpenCheckpoint
from setwise.core.checks import Values
from setwise.core.exceptions import Refusal
from setwise.core.pages import EXACT_THRESHOLD
from setwise.estimators.grouping import group
from setwise.estimators.splits import FOLDS, Split, folds
from setwise.estimators.start import thresholds
from setwise.estimators.training import Problem
from setwise.estimators.vacuous import VacuousBoundWarning


def refuse_without_threshold(problem: Problem) -> None:
    """Refusal where ``threshold="exact"`` has no threshold to choose: several classes, and losses of rankings."""
    loss, grouping = problem.loss, problem.grouping
    if grouping.layout == "classes" or loss.reads != "labels":
        what = "more than two classes" if grouping.layout == "classes" else f"{loss!r}, which has none"
        raise Refusal(f"threshold='exact' refuses {what}. Use threshold='zero'.", EXACT_THRESHOLD)


def held_out_thresholds(model: Any, problem: Problem, checkpoint: OpenCheckpoint | None = None) -> Values | float:
    """The best thresholds of scores that models like ``model`` give to rows held out of their training.

    There are 5 folds, or fewer where the rarest class, or the groups, are fewer. Each is a part of the checkpoint.
    """
    loss, grouping, target = problem.loss, problem.grouping, problem.target
    refuse_without_threshold(problem)
    scores = np.zeros(problem.shape)
    weights = None if problem.row_weights is None else np.asarray(problem.row_weights)
    for k, (train, test) in enumerate(folds(target, problem.ids, FOLDS, "threshold='exact'")):
        part = None if checkpoint is None else checkpoint.part(f"fold {k}")
        one = clone(model).set_params(verbose=0, warm_start=False)
        with warnings.catch_warnings():
            # The fit on all rows has warned of the same.
            for kind in (VacuousBoundWarning, ConvergenceWarning):
                warnings.simplefilter("ignore", kind)
            rest = (None if given is None else given[train] for given in (problem.ids, weights))
            one._fit(problem.X[train], target[train], *rest, 0.0, lambda _, part=part: part)
        scores[test] = one.decision_function(problem.X[test])
    return thresholds(loss, grouping, model.average, scores)


def cross_fitted_scores(
    problem: Problem, groups: Any, sample_weight: Any, held_out: Values, splits: list[Split]
) -> Values:
    """The score of each fold, (folds, m), for m models' scores of held-out rows (m, n) or (m, n, p).

    It is one minus the mean loss over the sets of the fold, with the thresholds that are best on the other folds: on
    the rows they were chosen on, thresholds look better than they are.
    """
    found = np.empty((len(splits), len(held_out)))
    for k, (_, test) in enumerate(splits):
        rest = np.ones(len(problem.target), dtype=bool)
        rest[test] = False
        others, fold = (
            group(problem.target[at], None if groups is None else groups[at], problem.average, problem.grouping.classes)
            for at in (rest, test)
        )
        weight = None if sample_weight is None else sample_weight[test]
        for j, scores in enumerate(held_out):
            best = thresholds(problem.loss, others, problem.average, scores[rest])
            found[k, j] = 1.0 - fold.mean_loss(problem.score_loss, scores[test] - best, weight)
    return found
