"""The bootstrap of mean losses: rows, or sets where there are several, are drawn with replacement."""

from collections.abc import Callable, Sequence

import numpy as np

from setwise.core.checks import Bools, Values
from setwise.core.loss import Combination, CountLoss, Loss
from setwise.decisions.task import Task

Formula = Callable[[Values, Values, Values, Values], Values]

CHUNK = 32
"""So many replicates of a label matrix are held in memory at a time."""


def replicated_losses(task: Task, predictions: Sequence[Bools], replicates: int, seed: int) -> Values:
    """The mean loss of each prediction on each replicate, (replicates, m); all predictions share the replicates.

    Where the loss is a mean over sets that are rows or groups, these are drawn. A set that spans all rows is made
    anew from rows that are drawn. For a loss of counts and one label a row a replicate is a draw from the multinomial
    distribution of the patterns (truth, predictions), of which there are at most 2^(m+1): its cost does not grow
    with the number of rows.

    Parameters
    ----------
    task : the truth, and the loss of its sets
    predictions : m arrays of the shape of the truth
    replicates : how many samples are drawn
    seed : of the draws
    """
    rng = np.random.default_rng(seed)
    if not task.spans_rows:
        losses = np.column_stack([task.losses(labels) for labels in predictions])
        n = len(losses)
        draws = [rng.multinomial(n, np.full(n, 1.0 / n)) @ losses / n for _ in range(replicates)]
        return np.array(draws)
    formula = formula_of(task.loss)
    if formula is None:
        return _of_any_loss(task, predictions, replicates, rng)
    if task.is_matrix:
        return _of_matrix(task, predictions, replicates, rng, formula)
    return _of_patterns(task, predictions, replicates, rng, formula)


def formula_of(loss: Loss) -> Formula | None:
    """The loss as a function of (fn, fp, P, N), for losses of counts and their sums; None for all others."""
    if isinstance(loss, Combination):
        parts = [(factor, formula_of(part)) for factor, part in loss.parts]
        if any(formula is None for _, formula in parts):
            return None
        return lambda fn, fp, P, N: sum(c * f(fn, fp, P, N) for c, f in parts if f is not None) + np.zeros_like(fn)
    return loss.of_counts if isinstance(loss, CountLoss) else None


def _of_patterns(
    task: Task, predictions: Sequence[Bools], replicates: int, rng: np.random.Generator, formula: Formula
) -> Values:
    n = len(task.truth)
    table = np.column_stack([task.truth, *predictions])
    # Rows of a few bits are compared as one number each.
    codes = np.packbits(table, axis=1)
    _, first, counts = np.unique(codes, axis=0, return_index=True, return_counts=True)
    truth, predicted = table[first, :1], table[first, 1:]
    drawn = rng.multinomial(n, counts / n, size=replicates).astype(np.float64)
    P = drawn @ truth
    fn, fp = drawn @ (truth & ~predicted), drawn @ (~truth & predicted)
    return np.asarray(formula(fn, fp, P, n - P))


def _of_matrix(
    task: Task, predictions: Sequence[Bools], replicates: int, rng: np.random.Generator, formula: Formula
) -> Values:
    n, p = task.truth.shape
    parts = [
        task.truth,
        *(task.truth & ~guess for guess in predictions),
        *(~task.truth & guess for guess in predictions),
    ]
    m, columns = len(predictions), 1 if task.layout == "micro" else p
    rows = np.hstack([part.sum(axis=1, keepdims=True) if columns == 1 else part for part in parts]).astype(np.float64)
    size = n * p // columns
    out = []
    for start in range(0, replicates, CHUNK):
        draws = rng.integers(0, n, (min(CHUNK, replicates - start), n))
        weights = np.array([np.bincount(draw, minlength=n) for draw in draws], dtype=np.float64)
        sums = (weights @ rows).reshape(len(draws), 1 + 2 * m, columns)
        P = sums[:, :1]
        out.append(formula(sums[:, 1 : m + 1], sums[:, m + 1 :], P, size - P).mean(axis=2))
    return np.concatenate(out)


def _of_any_loss(task: Task, predictions: Sequence[Bools], replicates: int, rng: np.random.Generator) -> Values:
    n = len(task.truth)
    out = np.empty((replicates, len(predictions)))
    for row in out:
        drawn = rng.integers(0, n, n)
        part = task.take(drawn)
        row[:] = [part.mean_loss(labels[drawn]) for labels in predictions]
    return out
