"""Samples of multi-label data as LH 6.3 and 6.4 draw them, stratified by the number of labels present."""

from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from setwise.compare.problem import Problem
from setwise.datasets import load


def read(path: Path) -> Problem:
    """The multi-label problem in a file; ValueError if it holds no label matrix."""
    data = load(path)
    if data.y.ndim != 2:
        raise ValueError(f"{path.name} must hold a label matrix Y.")
    return Problem(path.stem, f"Read from {path.name}.", data.X, data.y, None, data.classes)


def common_labels(problem: Problem, p: int) -> Problem:
    """The problem with the ``p`` labels that occur together most often, the most frequent first.

    Where several choices are equal, for example because no row has all p labels, the rows with p - 1 of them decide,
    then the rows with p - 2, and so on.
    """
    Y = problem.y.astype(bool)

    def together(chosen: tuple[int, ...]) -> tuple[int, ...]:
        # The numbers of rows with p, p - 1, ..., 1 of the labels; tuples compare in this order.
        return tuple(np.bincount(Y[:, chosen].sum(axis=1), minlength=p + 1)[:0:-1].tolist())

    best = max(combinations(range(Y.shape[1]), p), key=together)
    order = sorted(best, key=lambda j: -int(Y[:, j].sum()))
    names = tuple(problem.classes[j] for j in order)
    return Problem(problem.name, problem.about, problem.X, problem.y[:, order], None, names)


def quotas(available: NDArray[np.int64], weights: NDArray[np.float64], total: int) -> NDArray[np.int64]:
    """The number of rows to take of each level, (levels,), in the proportions of ``weights`` where there are enough.

    A level with too few ``available`` rows gives all of them, and the other levels share the rest. The sum is
    ``total`` unless there are fewer rows.
    """
    taken = np.zeros(len(available), dtype=np.int64)
    open_levels = available > 0
    while taken.sum() < total and open_levels.any():
        left = total - int(taken.sum())
        share = np.where(open_levels, weights, 0.0)
        more = np.minimum(np.floor(left * share / share.sum()).astype(np.int64), available - taken)
        # Where all shares round to 0, the level of the largest weight gives the next row.
        if more.sum() == 0:
            more[np.flatnonzero(open_levels)[np.argmax(share[open_levels])]] = 1
        taken += more
        open_levels = taken < available
    return taken


def sample(
    problem: Problem, total: int, weights: NDArray[np.float64], rng: np.random.Generator
) -> tuple[Problem, Problem]:
    """Disjoint training and test parts of ``total`` rows each, with the same numbers of rows with 0..p labels present.

    ``weights`` (p + 1,) are the proportions of these numbers; no level gives more than half of its rows to a part.
    """
    present = problem.y.sum(axis=1)
    rows = [rng.permutation(np.flatnonzero(present == k)) for k in range(problem.y.shape[1] + 1)]
    counts = quotas(np.array([len(r) // 2 for r in rows]), weights, total)
    train = np.concatenate([r[:c] for r, c in zip(rows, counts, strict=True)])
    test = np.concatenate([r[c : 2 * c] for r, c in zip(rows, counts, strict=True)])
    return problem.take(rng.permutation(train)), problem.take(rng.permutation(test))


def about_sample(problem: Problem, part: Problem) -> str:
    """A sentence on the labels and on the size of a sample."""
    levels = np.bincount(part.y.sum(axis=1), minlength=part.y.shape[1] + 1)
    counts = ", ".join(f"{c} with {k}" for k, c in enumerate(levels.tolist()))
    labels = ", ".join(part.classes)
    size = f"a sampling has {len(part.y)} rows for training ({counts} labels) and as many for test"
    return f"{problem.name}: labels {labels}; {size}."
