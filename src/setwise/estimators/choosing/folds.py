"""Folds that put each row into one test fold: stratified, and whole groups where there are groups."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from setwise.core.arrays import Ints
from setwise.core.checks import as_count, shown
from setwise.decisions.task import Task

MANY_GROUPS = 5000
"""Beyond as many groups stratification takes seconds, and folds of whole groups are alike without it."""

Folds = tuple[tuple[Ints, Ints], ...]
"""The training rows and the test rows of each fold."""


def folds_of(cv: Any, X: Any, target: Any, task: Task, groups: Ints | None, seed: int) -> Folds:
    """The folds of a number, a splitter or an iterable of splits, over the rows of a task.

    A number k makes k shuffled folds: stratified for one label a row, and of whole groups where groups are given.

    Raises
    ------
    ValueError : if a row is in no test fold or in several, or if training rows have one label only
    """
    splitter = _splitter(cv, task, groups, seed) if isinstance(cv, int | np.integer) else _checked(cv)
    folds = tuple((np.asarray(a), np.asarray(b)) for a, b in splitter.split(X, target, groups))
    times = np.bincount(np.concatenate([test for _, test in folds]), minlength=len(task.truth))
    if (times != 1).any():
        raise ValueError(
            f"cv must put each row into one test fold, as KFold does; with {shown(cv)} row {np.argmax(times != 1)} is "
            f"in {times[times != 1][0]}."
        )
    for train, test in folds:
        truth = task.truth[train]
        if np.intersect1d(train, test).size:
            raise ValueError(f"cv must keep training rows and test rows apart; {shown(cv)} does not.")
        if truth.size == 0 or truth.all() or not truth.any():
            raise ValueError(
                f"cv={shown(cv)} leaves a fold without two classes to learn from: the label is the same in all its "
                f"{len(train)} training rows. Use fewer folds, or more rows of each class."
            )
    return folds


def _splitter(cv: Any, task: Task, groups: Ints | None, seed: int) -> Any:
    k = as_count(cv, "cv", low=2)
    if groups is not None:
        number = int(groups.max()) + 1
        if number < k:
            raise ValueError(f"cv={k} folds need {k} groups or more; got {number}.")
        if task.is_matrix or number > MANY_GROUPS:
            return GroupKFold(k)
        return StratifiedGroupKFold(k, shuffle=True, random_state=seed)
    if len(task.truth) < k:
        raise ValueError(f"cv={k} folds need {k} rows or more; got n_samples = {len(task.truth)}.")
    return (KFold if task.is_matrix else StratifiedKFold)(k, shuffle=True, random_state=seed)


def _checked(cv: Any) -> Any:
    if isinstance(cv, str) or not (isinstance(cv, Iterable) or getattr(cv, "split", None) is not None):
        raise ValueError(f"cv must be a number of folds, a splitter, splits, or 'prefit'; got {shown(cv)}.")
    return check_cv(cv)
