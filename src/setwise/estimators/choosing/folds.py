"""Folds that put each row into one test fold: stratified, and whole groups where there are groups."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from setwise.core.checks import Ints, as_array, as_count, shown
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
    if isinstance(cv, int | np.integer):
        splits = _splitter(cv, task, groups, seed).split(X, task.truth, groups)
    else:
        splits = _splits(cv, X, target, groups)
    n = len(task.truth)
    folds = tuple((_rows(train, n, cv), _rows(test, n, cv)) for train, test in splits)
    times = np.bincount(np.concatenate([test for _, test in folds]), minlength=n)
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
        _refuse_few(k, task)
        if task.is_matrix or number > MANY_GROUPS:
            return GroupKFold(k)
        return StratifiedGroupKFold(k, shuffle=True, random_state=seed)
    if len(task.truth) < k:
        raise ValueError(f"cv={k} folds need {k} rows or more; got n_samples = {len(task.truth)}.")
    _refuse_few(k, task)
    return (KFold if task.is_matrix else StratifiedKFold)(k, shuffle=True, random_state=seed)


def _refuse_few(k: int, task: Task) -> None:
    largest = len(task.truth) if task.is_matrix else int(np.bincount(task.truth).max())
    if largest < k:
        raise ValueError(f"cv={k} folds need {k} rows or more of a label; the more frequent one has {largest}.")


def _splits(cv: Any, X: Any, target: Any, groups: Ints | None) -> list[Any]:
    """The pairs of training and test rows of a splitter, or of an iterable."""
    split = None if isinstance(cv, type) else getattr(cv, "split", None)
    if isinstance(cv, str | bytes) or (split is None and not isinstance(cv, Iterable)):
        raise ValueError(f"cv must be a number of folds, a splitter, splits, or 'prefit'; got {shown(cv)}.")
    found = list(cv if split is None else split(X, target, groups))
    if len(found) < 2 or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in found):
        raise ValueError(f"cv must give two pairs of training and test rows, or more; got {shown(cv)}.")
    return found


def _rows(rows: Any, n: int, cv: Any) -> Ints:
    """The numbers of some of n rows."""
    given = as_array(rows, "cv")
    if given.dtype.kind not in "iu" or given.ndim != 1 or (given.size and (given.min() < 0 or given.max() >= n)):
        raise ValueError(f"cv must give training and test rows as whole numbers in 0..{n - 1}; got {shown(cv)}.")
    return given.astype(np.int64)
