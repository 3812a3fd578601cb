"""Splits of rows into those to train on and those that are held out: stratified, and whole groups."""

import warnings
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)

from setwise.core.checks import Bools, Ints, Values, as_array, as_count, shown
from setwise.core.exceptions import Refusal
from setwise.core.pages import EXACT_THRESHOLD, MEANING_OF_C
from setwise.decisions.task import Task

FOLDS = 5
"""The number of folds that are held out in turn."""

Split = tuple[NDArray[np.int64], NDArray[np.int64]]


def folds(target: NDArray[Any], groups: Any, cv: int, what: str, fewer: bool = True) -> list[Split]:
    """Pairs of training and test rows: groups stay together, and the classes of y (n,) keep their shares.

    Parameters
    ----------
    cv : the number of folds, which a user has named unless ``fewer``
    fewer : whether there may be fewer folds than ``cv``, where the rarest class, or the groups, are fewer

    Raises
    ------
    Refusal : where there cannot be two folds, or not ``cv`` that a user has named; it names ``what``
    """
    matrix = target.ndim == 2 and target.shape[1] > 1
    rows = np.zeros(len(target))
    if groups is not None:
        most, kind, they = len(np.unique(np.asarray(groups))), "groups", "there are"
    elif matrix:
        most, kind, they = len(target), "rows", "there are"
    else:
        most, kind, they = int(np.unique(target, return_counts=True)[1].min()), "rows of each class", "the rarest has"
    if most < 2:
        raise Refusal(f"{what} refuses this target: it holds rows out, and needs at least two {kind}.", EXACT_THRESHOLD)
    if cv > most and not fewer:
        raise Refusal(
            f"{what} refuses cv={cv}: it needs {cv} {kind}, and {they} {most}. Use cv={most} at most.", MEANING_OF_C
        )
    k = min(cv, most)
    if groups is not None:
        return list(GroupKFold(k).split(rows, None, np.asarray(groups)))
    if matrix:
        return list(KFold(k, shuffle=True, random_state=0).split(rows))
    return list(StratifiedKFold(k, shuffle=True, random_state=0).split(rows, target.ravel()))


def row_keys(X: Any) -> NDArray[np.uint64]:
    """A 64-bit number of each row of X (n, d), dense or CSR, that depends on its features alone, (n,).

    Folds of rows in the order of such numbers hold the same rows, in whatever order the rows are given. Rows of
    different features have the same number with probability 2^-64.
    """
    if issparse(X):
        each = mixed(X.data, X.indices.astype(np.uint64))
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(each, dtype=np.uint64)])
        return np.asarray(sums[X.indptr[1:]] - sums[X.indptr[:-1]])
    found, places = np.empty(len(X), np.uint64), np.arange(X.shape[1], dtype=np.uint64)
    # Blocks of rows stay in the cache.
    step = max(1, 60_000 // max(1, X.shape[1]))
    for begin in range(0, len(X), step):
        found[begin : begin + step] = mixed(X[begin : begin + step], places).sum(axis=1, dtype=np.uint64)
    return found


def mixed(values: NDArray[Any], places: Any) -> NDArray[np.uint64]:
    """The bits of numbers and of their places, mixed as in SplitMix64 (Steele, Lea and Flood 2014)."""
    # The sum makes one zero of two.
    bits = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    z = bits.view(np.uint64) + (places + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


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


MANY_GROUPS = 5000
"""Beyond as many groups stratification takes seconds, and folds of whole groups are alike without it."""

Folds = tuple[tuple[Ints, Ints], ...]
"""The training rows and the test rows of each fold."""


def indicators(y: NDArray[Any]) -> NDArray[Any]:
    """Labels as 0 and 1, (n, p): those of a matrix or of two classes as they are, else a column for each class."""
    flat = y.reshape(len(y), -1)
    return flat if flat.shape[1] > 1 or flat.max() < 2 else (flat == np.arange(flat.max() + 1)).astype(np.int64)


def block_folds(k: int, y: NDArray[Any], blocks: NDArray[Any], seed: int = 0) -> list[Split]:
    """The training and test rows of k shuffled folds that never split a block, with labels dealt out evenly.

    Parameters
    ----------
    k : the number of folds, at most that of the blocks
    y : (n,) or (n, p) of 0 and 1, or (n,) the numbers of more than two classes
    blocks : (n,) the number of the block of each row
    seed : the seed of the shuffle
    """
    ids = np.unique(blocks, return_inverse=True)[1]
    sizes, labels = np.bincount(ids), indicators(y)
    positives = np.bincount(ids, labels.sum(axis=1))
    if y.size == len(ids) and labels.shape[1] > 1:
        # Blocks of more than two classes come in the order of the class that most of their rows have.
        positives = np.array([np.bincount(ids, label) for label in labels.T]).argmax(axis=0)
    places, random = np.arange(len(sizes)), np.random.default_rng(seed)
    # Blocks come in the order of their positives and sizes, and of every k of them each fold gets one.
    order = np.lexsort([random.random(len(sizes)), -sizes, -positives])
    fold = np.empty(len(sizes), dtype=np.int64)
    fold[order[np.lexsort([random.random(len(sizes)), places // k])]] = places % k
    held = fold[ids]
    return [(np.flatnonzero(held != i), np.flatnonzero(held == i)) for i in range(k)]


def later_folds(k: int, y: NDArray[Any], times: Values, units: NDArray[Any], blocks: NDArray[Any]) -> Folds:
    """The training and test rows of k folds whose test rows are later than their training rows; the first are no test.

    A unit is as late as the last of its rows. What has rows of its block in the test part is not trained on.

    Parameters
    ----------
    k : the number of folds
    y : (n,) or (n, p) of 0 and 1
    times : (n,) the time of each row
    units, blocks : (n,) the number of the set of each row, and of what is kept together

    Raises
    ------
    ValueError : where the times are too few, or a test part has one label only
    """
    last = np.full(int(units.max()) + 1, -np.inf)
    np.maximum.at(last, units, times)
    late = last[units]
    part = np.searchsorted(np.sort(late)[len(y) * np.arange(1, k + 1) // (k + 1)], late, side="right")
    found = []
    for i in range(1, k + 1):
        test = np.flatnonzero(part == i)
        train = np.flatnonzero((part < i) & ~np.isin(blocks, blocks[test]))
        if not len(train) or len(np.unique(y[test])) < 2:
            raise ValueError(f"in time order the rows of fold {i} of {k} are too few, or have one label only.")
        found.append((train, test))
    return tuple(found)


def folds_of(
    cv: Any, X: Any, target: Any, task: Task, groups: Ints | None, seed: int, blocks: Ints | None = None
) -> Folds:
    """The folds of a number, a splitter or an iterable of splits, over the rows of a task.

    A number k makes k shuffled folds: stratified for one label a row, and of whole groups where groups are given, or of
    whole ``blocks``, which are no smaller than groups. A splitter may leave rows out of all test folds, as
    ``TimeSeriesSplit`` does. A row that several splits test stays in the test fold of the first of them.

    Raises
    ------
    ValueError : if a split tests a row twice, or only rows that others have tested, or if training rows have one label
        only
    """
    if isinstance(cv, int | np.integer) and blocks is not None:
        if (number := len(np.unique(blocks))) < cv:
            raise ValueError(f"cv={cv} folds need {cv} rows or more that differ in their features; got {number}.")
        splits = block_folds(int(cv), task.truth, blocks, seed)
    elif isinstance(cv, int | np.integer):
        with warnings.catch_warnings():
            if task.classes:
                # The rarest of several classes may be in fewer folds.
                warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            splits = list(_splitter(cv, task, groups, seed).split(X, task.truth, groups))
    else:
        splits = _splits(cv, X, target, groups)
    n = len(task.truth)
    folds = tuple((_rows(train, n, cv), _rows(test, n, cv)) for train, test in splits)
    for train, test in folds:
        truth = task.truth[train]
        if among(train, n)[test].any():
            raise ValueError(f"cv must keep training rows and test rows apart; {shown(cv)} does not.")
        if truth.size == 0 or (truth == truth.flat[0]).all():
            raise ValueError(
                f"cv={shown(cv)} leaves a fold without two classes to learn from: the label is the same in all its "
                f"{len(train)} training rows. Use fewer folds, or more rows of each class."
            )
    return tested_once(folds, n, cv)


def tested_once(folds: Iterable[tuple[Ints, Ints]], n: int, cv: Any) -> Folds:
    """The folds, whose test rows are those that no fold before has tested; ValueError where there are none."""
    seen, found = np.zeros(n, dtype=np.bool_), []
    for i, (train, test) in enumerate(folds):
        new = test[~seen[test]]
        if len(test) and not len(new):
            raise ValueError(
                f"cv must test new rows in each split, for a row counts once; of {shown(cv)} split {i + 1} tests only "
                "rows that earlier ones have tested. Use fewer splits."
            )
        seen[test] = True
        if np.count_nonzero(among(test, n)) < len(test):
            raise ValueError(f"cv must test a row once in a split; split {i + 1} of {shown(cv)} tests one twice.")
        found.append((train, new))
    return tuple(found)


def check_outer(cv: Any) -> None:
    """Refuse a ``cv`` of rows of the whole table where outer folds repeat it on a part of them."""
    pairs = isinstance(cv, Iterable) and not isinstance(cv, str | bytes) and not hasattr(cv, "split")
    if pairs or isinstance(cv, PredefinedSplit):
        raise ValueError(
            "outer_cv must be None where cv is a PredefinedSplit or pairs of rows, which cannot be repeated on the "
            f"training part of an outer fold; got cv={shown(cv)}. Use a number of folds for cv, or another splitter."
        )


def outer_folds_of(
    k: int, cv: Any, inner: Folds, X: Any, target: Any, task: Task, groups: Ints | None, seed: int, blocks: Ints | None
) -> Folds:
    """The k outer folds around ``inner`` ones of ``cv``: in the order of time where these are, else shuffled."""
    if not all(train.max() < test.min() for train, test in inner if len(test)):
        return folds_of(k, X, target, task, groups, seed, blocks)
    later = deepcopy(cv) if hasattr(cv, "n_splits") else TimeSeriesSplit()
    later.n_splits = k
    return folds_of(later, X, target, task, groups, seed)


def _splitter(cv: Any, task: Task, groups: Ints | None, seed: int) -> Any:
    """The splitter into a number of folds; ValueError where rows, groups, or the rows of each label are fewer."""
    k, n = as_count(cv, "cv", low=2), len(task.truth)
    number = 0 if groups is None else int(groups.max()) + 1
    if groups is not None and number < k:
        raise ValueError(f"cv={k} folds need {k} groups or more; got {number}.")
    if groups is None and n < k:
        raise ValueError(f"cv={k} folds need {k} rows or more; got n_samples = {n}.")
    largest = n if task.is_matrix else int(np.bincount(task.truth).max())
    if largest < k:
        raise ValueError(f"cv={k} folds need {k} rows or more of a label; the more frequent one has {largest}.")
    if groups is not None and (task.is_matrix or number > MANY_GROUPS):
        return GroupKFold(k)
    alone = KFold if task.is_matrix else StratifiedKFold
    return (alone if groups is None else StratifiedGroupKFold)(k, shuffle=True, random_state=seed)


def _splits(cv: Any, X: Any, target: Any, groups: Ints | None) -> list[Any]:
    """The pairs of training and test rows of a splitter, or of an iterable."""
    split = None if isinstance(cv, type) else getattr(cv, "split", None)
    if isinstance(cv, str | bytes) or (split is None and not isinstance(cv, Iterable)):
        raise ValueError(f"cv must be a number of folds, a splitter, splits, or 'prefit'; got {shown(cv)}.")
    found = list(cv if split is None else split(X, target, groups))
    if not found or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in found):
        raise ValueError(f"cv must give pairs of training and test rows, one or more; got {shown(cv)}.")
    return found


def among(rows: Ints, n: int) -> Bools:
    """Whether each of n rows is among some, (n,)."""
    found = np.zeros(n, dtype=np.bool_)
    found[rows] = True
    return found


def _rows(rows: Any, n: int, cv: Any) -> Ints:
    """The numbers of some of n rows."""
    given = as_array(rows, "cv")
    if given.dtype.kind not in "iu" or given.ndim != 1 or (given.size and (given.min() < 0 or given.max() >= n)):
        raise ValueError(f"cv must give training and test rows as whole numbers in 0..{n - 1}; got {shown(cv)}.")
    return given.astype(np.int64)
