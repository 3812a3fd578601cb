"""Scores of rows by models that have not seen them."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from setwise.core.arrays import Values
from setwise.core.checks import shown
from setwise.core.refusal import Refusal
from setwise.estimators.start import thresholds
from setwise.estimators.training import Problem
from setwise.estimators.vacuous import VacuousBoundWarning

FOLDS = 5
"""The number of folds that are held out in turn."""

Split = tuple[NDArray[np.int64], NDArray[np.int64]]


def folds(target: NDArray[Any], groups: Any, cv: int, what: str) -> list[Split]:
    """Pairs of training and test rows: groups stay together, and the classes of y (n,) keep their shares.

    There are fewer folds than ``cv`` where the rarest class, or the groups, are fewer; Refusal names ``what`` where
    there are not two.
    """
    matrix = target.ndim == 2 and target.shape[1] > 1
    rows = np.zeros(len(target))
    if groups is not None:
        k = min(cv, len(np.unique(np.asarray(groups))))
    elif matrix:
        k = min(cv, len(target))
    else:
        k = min(cv, int(np.unique(target, return_counts=True)[1].min()))
    if k < 2:
        least = "two groups" if groups is not None else "two rows" if matrix else "two rows of each class"
        raise Refusal(f"{what} refuses this target: it holds rows out, and needs {least} at least.")
    if groups is not None:
        return list(GroupKFold(k).split(rows, None, np.asarray(groups)))
    if matrix:
        return list(KFold(k, shuffle=True, random_state=0).split(rows))
    return list(StratifiedKFold(k, shuffle=True, random_state=0).split(rows, target.ravel()))


def as_splits(given: Any, n: int) -> list[Split]:
    """Pairs of training and test rows that a user gives, checked: indices in 0..n-1."""
    try:
        pairs = [(np.asarray(train), np.asarray(test)) for train, test in given]
    except (TypeError, ValueError):
        pairs = []
    fits = (rows.ndim == 1 and rows.size and rows.dtype.kind in "iu" for pair in pairs for rows in pair)
    if not pairs or not all(fits) or any(rows.min() < 0 or rows.max() >= n for pair in pairs for rows in pair):
        raise ValueError(
            f"cv must be a number of folds, a splitter, or pairs of training and test rows in 0..{n - 1}; "
            f"got {shown(given)}."
        )
    return pairs


def held_out_thresholds(model: Any, problem: Problem, groups: Any, sample_weight: Any) -> Values | float:
    """The best thresholds of scores that models like ``model`` give to rows held out of their training, in 5 folds."""
    loss, grouping, target = problem.loss, problem.grouping, problem.target
    if grouping.layout == "classes" or loss.reads != "labels":
        what = "more than two classes" if grouping.layout == "classes" else f"{loss!r}, which has none"
        raise Refusal(f"threshold='exact' refuses {what}. Use threshold='zero'.")
    scores = np.zeros(target.shape if grouping.is_matrix else len(target))
    groups, weights = (None if given is None else np.asarray(given) for given in (groups, sample_weight))
    for train, test in folds(target, groups, FOLDS, "threshold='exact'"):
        one = clone(model).set_params(threshold="zero", verbose=0, warm_start=False)
        with warnings.catch_warnings():
            # The fit on all rows has warned of the same.
            for kind in (VacuousBoundWarning, ConvergenceWarning):
                warnings.simplefilter("ignore", kind)
            rest = (None if given is None else given[train] for given in (groups, weights))
            one.fit(problem.X[train], target[train], *rest)
        scores[test] = one.decision_function(problem.X[test])
    return thresholds(loss, grouping, model.average, scores)
