"""What papers ask of a problem beyond a comparison: folds, the mean loss of scores, and one digit against the rest."""

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import KFold, StratifiedKFold

from setwise.compare.problem import Problem
from setwise.core.checks import Ints
from setwise.core.loss import Loss
from setwise.estimators.sets import group


def digits(digit: int = 8) -> Problem:
    """The problem of one digit against the rest: 1,797 images of 8 x 8 pixels, as one set."""
    X, y = load_digits(return_X_y=True)
    about = f"Real images of 8 x 8 pixels (scikit-learn's digits): is it {digit}?"
    return Problem(
        f"digit {digit} against the rest", about, X, (y == digit).astype(np.int64), None, ("other", f"{digit}")
    )


def folds_of(problem: Problem, k: int, seed: int) -> list[tuple[Ints, Ints]]:
    """``k`` pairs of training and test rows; sets stay whole, and a single set is split in a stratified way.

    Raises
    ------
    ValueError : if there are fewer than k sets, or fewer than k rows of a class in the single set
    """
    if problem.groups is None and not problem.many:
        fewest = int(np.bincount(problem.y, minlength=2).min())
        if fewest < k:
            raise ValueError(f"{problem.name} has {fewest} rows of one class, too few for {k} folds.")
        return list(StratifiedKFold(k, shuffle=True, random_state=seed).split(problem.X, problem.y))
    ids = np.arange(len(problem.y)) if problem.groups is None else np.unique(problem.groups, return_inverse=True)[1]
    if ids.max() + 1 < k:
        raise ValueError(f"{problem.name} has {ids.max() + 1} sets, too few for {k} folds.")
    splitter = KFold(k, shuffle=True, random_state=seed)
    # The splitter sees one row for each set, so that no set is divided.
    parts = splitter.split(np.arange(ids.max() + 1))
    folds = [(np.flatnonzero(np.isin(ids, a)), np.flatnonzero(np.isin(ids, b))) for a, b in parts]
    # Training needs both classes, so a training part without one is refused before any fit.
    if not problem.many and any(np.ptp(problem.y[train]) == 0 for train, _ in folds):
        raise ValueError(
            f"{problem.name} has one class in too few of its sets: a training part of {k} folds holds the other only."
        )
    return folds


def losses_of(problem: Problem, loss: Loss, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The loss of every set, (sets,), for scores in the shape of ``y``; a score above 0 predicts a positive."""
    grouping = group(problem.y, problem.groups, "samples", np.arange(problem.y.shape[1] if problem.many else 2))
    return grouping.losses(loss, grouping.flat(np.asarray(scores)))


def mean_loss_of(problem: Problem, loss: Loss, scores: NDArray[np.float64]) -> float:
    """The mean of :func:`losses_of`."""
    return float(np.mean(losses_of(problem, loss, scores)))
