"""What is to be predicted, and by what it is judged: the truth of some rows, and the loss of its sets.

Predictions of the same rows are compared by a bootstrap, in which rows, or sets where there are several, are drawn with
replacement.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.attributes import cached_property
from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Ints, Values
from setwise.core.counts import Counts
from setwise.core.loss import Combination, CountLoss, Loss
from setwise.core.terms import Constant, Trait
from setwise.decisions.confusion import ConfusionLoss
from setwise.decisions.row_weights import RowWeighted
from setwise.losses.combinations import LossOfClasses

Layout = Literal["vector", "samples", "macro", "micro"]


@final
@dataclass(frozen=True, eq=False)
class Task:
    """The true labels of n rows and a loss of the sets that they form.

    Parameters
    ----------
    truth : (n,) bool, or (n, p) bool for a label matrix, or (n,) int64 of the numbers of more than two classes
    loss : a loss that reads labels; a :class:`~setwise.decisions.confusion.ConfusionLoss` of several classes
    groups : (n,) the number of the set of each row, for truth (n,); None makes all rows one set
    average : what a set is in a label matrix: each row (``"samples"``), each column (``"macro"``), or the whole matrix
        (``"micro"``)
    weights : (n,) the weight of each row in the loss of its set, for truth (n,); None counts all alike
    """

    truth: NDArray[Any]
    loss: Loss
    groups: Ints | None = None
    average: Layout = "samples"
    weights: Values | None = None

    @property
    def layout(self) -> Layout:
        """``"vector"`` for truth (n,), or else what a set is in a label matrix."""
        return "vector" if self.truth.ndim == 1 else self.average

    @property
    def is_matrix(self) -> bool:
        """Whether the truth is a label matrix."""
        return self.truth.ndim == 2

    @property
    def spans_rows(self) -> bool:
        """Whether a set may hold all rows, so that its loss is no mean over rows or groups."""
        return self.layout in ("macro", "micro") or (self.layout == "vector" and self.groups is None)

    @cached_property
    def order(self) -> Ints | None:
        """The rows in the order of their groups, inside which they keep theirs; None if they are in it already."""
        if self.groups is None or (np.diff(self.groups) >= 0).all():
            return None
        return np.argsort(self.groups, kind="stable")

    @property
    def classes(self) -> int:
        """The number of classes where there are more than two, else 0."""
        return self.loss.k if isinstance(self.loss, ConfusionLoss) else 0

    @cached_property
    def owners(self) -> Ints:
        """The number of the set of each row, for truth (n,)."""
        return (
            np.zeros(len(self.truth), np.int64)
            if self.groups is None
            else np.unique(self.groups, return_inverse=True)[1]
        )

    @cached_property
    def sets(self) -> Sets:
        """The true labels of the sets, of two labels."""
        flat = self.flat(self.truth)
        if self.layout == "samples":
            return Sets.rows(self.truth)
        if self.layout == "macro":
            return Sets.rows(self.truth.T)
        if self.groups is None:
            return Sets.single(flat)
        sizes = np.bincount(self.groups)
        # Where only some rows are taken, groups without rows are no sets.
        return Sets(flat, np.concatenate(([0], np.cumsum(sizes[sizes > 0]))))

    def flat(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the rows, (n,) or (n, p), flat and in the order of the sets."""
        # A column is a set here, so the transposed matrix has the sets one after the other.
        if self.layout == "macro":
            return np.ascontiguousarray(values.T).ravel()
        return np.ascontiguousarray(values if self.order is None else values[self.order]).ravel()

    def by_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """The inverse of :meth:`flat`: values in the order of the sets as (n,) or (n, p)."""
        if self.layout == "macro":
            return values.reshape(self.truth.shape[::-1]).T
        if self.order is None:
            return values.reshape(self.truth.shape)
        out = np.empty_like(values)
        out[self.order] = values
        return out

    @cached_property
    def set_loss(self) -> Loss:
        """The loss of :attr:`sets`, with weights; what it has for each row is in the order of the sets."""
        loss = self.loss
        if self.order is not None and loss.of_one_batch(self.sets):
            loss = loss.of_rows(self.order)
        return loss if self.weights is None else RowWeighted(loss, self.flat(self.weights))

    def losses(self, predicted: NDArray[Any]) -> Values:
        """The loss of each set, for what is predicted of the rows: labels, or the scores that the loss reads."""
        if isinstance(self.loss, ConfusionLoss):
            return self.loss.of_sets(self.owners, int(self.owners.max()) + 1, self.truth, predicted, self.weights)
        return self.set_loss.values(self.sets, self.flat(predicted))

    def score(self, predicted: NDArray[Any]) -> float:
        """The score of what is predicted, higher is better: ``1 - mean loss`` for most losses."""
        return self.as_score(self.mean_loss(predicted))

    def as_score(self, loss: float) -> float:
        """The score of predictions with this mean loss."""
        rows = len(self.truth) if self.weights is None else float(self.weights.sum())
        return self.loss.as_score(loss, rows / (int(self.owners.max()) + 1 if self.classes else len(self.sets)))

    def mean_loss(self, predicted: NDArray[Any]) -> float:
        """The mean of :meth:`losses` over the sets."""
        return float(self.losses(predicted).mean())

    def take(self, rows: Ints) -> "Task":
        """The task of some rows; a group of which rows are missing is a smaller set."""
        # Weights of the one set that all rows form number the rows; otherwise they number the places of each set.
        numbered = not self.is_matrix and not self.classes
        numbered = numbered and (self.groups is None or self.loss.of_one_batch(self.sets))
        loss = self.loss.of_rows(rows) if numbered else self.loss
        groups = None if self.groups is None else self.groups[rows]
        weights = None if self.weights is None else self.weights[rows]
        return Task(self.truth[rows], loss, groups, self.average, weights)


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """The mean losses of m candidates on the same rows, and by how much each loses less than one of them.

    Parameters
    ----------
    losses : (m,) the mean losses
    drawn : (replicates, m) the same on the replicates of a bootstrap, which all candidates share; the standard errors
        are their deviations
    first : the place of the candidate that the others are compared with
    """

    losses: Values
    drawn: Values
    first: int = 0

    @cached_property
    def errors(self) -> Values:
        """The standard errors of the losses, (m,)."""
        return _deviations(self.drawn)

    @cached_property
    def gains(self) -> Values:
        """The loss of the first candidate minus that of each, (m,)."""
        return np.asarray(self.losses[self.first] - self.losses)

    @cached_property
    def drawn_gains(self) -> Values:
        """The gains on the replicates, (replicates, m)."""
        return self.drawn[:, self.first : self.first + 1] - self.drawn

    @cached_property
    def gain_errors(self) -> Values:
        """The standard errors of the gains, which are paired, (m,)."""
        return _deviations(self.drawn_gains)


def _deviations(drawn: Values) -> Values:
    """The standard deviations of columns, also of numbers so small that their squares are 0."""
    scale = float(np.abs(drawn).max()) or 1.0
    return np.asarray((drawn / scale).std(axis=0, ddof=1) * scale)


REPLICATES = 400
"""Draws of the bootstrap; the standard errors then have a relative error of about 4 %."""


def compared(
    task: Task,
    predictions: Sequence[NDArray[Any]],
    seed: int,
    replicates: int = REPLICATES,
    runs: Ints | None = None,
) -> Comparison:
    """The comparison of predictions for the rows of a task with the first of them; see :func:`replicated_losses`."""
    losses = np.array([task.mean_loss(one) for one in predictions])
    return Comparison(losses, replicated_losses(task, predictions, replicates, seed, runs))


def standard_error(values: Values) -> Values:
    """The standard errors of the means of independent values, as those of folds or bags, over the first axis."""
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(len(values)))


Formula = Callable[[Values, Values, Values, Values], Values]

HEAPS = 10_000
"""Rows of a sum are drawn in so many heaps at most; its standard error then has a relative error of .7 % by them."""

CHUNK = 32
"""So many replicates of a label matrix are held in memory at a time."""


def replicated_losses(
    task: Task, predictions: Sequence[NDArray[Any]], replicates: int, seed: int, runs: Ints | None = None
) -> Values:
    """The mean loss of each prediction on each replicate, (replicates, m); all predictions share the replicates.

    Where the loss is a mean over sets that are rows or groups, these are drawn. A set that spans all rows is made
    anew from rows that are drawn. For a loss of counts and one label a row a replicate is a draw from the multinomial
    distribution of the patterns (truth, predictions), of which there are at most 2^(m+1): its cost does not grow
    with the number of rows.

    Parameters
    ----------
    task : the truth, and the loss of its sets
    predictions : m arrays of the shape of the truth, of labels or of the scores that the loss reads
    replicates : how many samples are drawn
    seed : of the draws
    runs : (n,) the number of the run of each row of a set that spans all rows; rows of a run are drawn together, since
        those that follow each other in time may be alike. None draws each row by itself
    """
    rng = np.random.default_rng(seed)
    if runs is not None and task.spans_rows:
        return _of_runs(task, predictions, replicates, rng, runs)
    if not task.spans_rows:
        losses = np.column_stack([task.losses(one) for one in predictions])
        n = len(losses)
        draws = [rng.multinomial(n, np.full(n, 1.0 / n)) @ losses / n for _ in range(replicates)]
        return np.array(draws)
    if isinstance(task.loss, ConfusionLoss) and task.weights is None:
        return _of_confusions(task.loss, task.truth, predictions, replicates, rng)
    if task.classes:
        return _of_any_loss(task, predictions, replicates, rng)
    formula = formula_of(task.loss) if task.loss.reads != "scores" else None
    if not task.is_matrix and (task.weights is not None or (formula is None and Trait.MODULAR in task.loss.traits)):
        found = _of_heaps(task.set_loss.bind(task.sets), task.truth, predictions, replicates, rng)
        if found is not None:
            return found
        formula = None
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
    if isinstance(loss, LossOfClasses):
        return loss.of_two
    return loss.of_counts if isinstance(loss, CountLoss) else loss.formula


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


def _of_confusions(
    loss: ConfusionLoss, truth: Ints, predictions: Sequence[Ints], replicates: int, rng: np.random.Generator
) -> Values:
    """Of one set of several classes: a replicate is a draw of the patterns (truth, predictions)."""
    k, n = loss.k, len(truth)
    patterns, counts = np.unique(np.column_stack([truth, *predictions]), axis=0, return_counts=True)
    drawn = rng.multinomial(n, counts / n, size=replicates)
    out = np.empty((replicates, len(predictions)))
    for j in range(len(predictions)):
        cells = np.zeros((len(patterns), k * k))
        cells[np.arange(len(patterns)), patterns[:, 0] * k + patterns[:, j + 1]] = 1.0
        out[:, j] = loss.of_confusion((drawn @ cells).reshape(replicates, k, k))
    return out


def _of_matrix(
    task: Task, predictions: Sequence[Bools], replicates: int, rng: np.random.Generator, formula: Formula
) -> Values:
    n, p = task.truth.shape
    parts = [task.truth, *(task.truth & ~one for one in predictions), *(~task.truth & one for one in predictions)]
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


def _of_heaps(
    bound_loss: BoundLoss, truth: Bools, predictions: Sequence[Bools], replicates: int, rng: np.random.Generator
) -> Values | None:
    """Of a loss of sums over rows. Rows are drawn in random heaps, so that a replicate is no pass over all.

    None for losses of other terms.
    """
    costs, rest = bound_loss.split()
    wrong = np.column_stack([one != truth for one in predictions])
    each = np.zeros(wrong.shape) if costs is None else np.where(wrong, costs[:, None], 0.0)
    counts = [term for term in rest.terms if isinstance(term, Counts)]
    constant = [term for term in rest.terms if isinstance(term, Constant)]
    if len(counts) + len(constant) < len(rest.terms) or any(term.areas is None for term in counts):
        return None
    for held in constant:
        each += held.costs[:, None]
    areas = [term.areas[:, None] for term in counts if term.areas is not None]
    sums = [each]
    for area in areas:
        kinds = (truth[:, None], ~truth[:, None], wrong & truth[:, None], wrong & ~truth[:, None])
        sums += [np.where(kind, area, 0.0) for kind in kinds]
    table, n = np.hstack(sums), min(len(truth), HEAPS)
    heaps = np.add.reduceat(table[rng.permutation(len(table))], np.arange(n) * len(table) // n)
    # A product of matrices would share this little work with other threads, which costs more.
    even = np.full(n, 1.0 / n)
    drawn = np.array([np.einsum("i,ij->j", rng.multinomial(n, even), heaps) for _ in range(replicates)])
    m, out = len(predictions), drawn[:, : len(predictions)]
    for k, term in enumerate(counts):
        P, N, fn, fp = np.split(drawn[:, m + k * (2 + 2 * m) :][:, : 2 + 2 * m], [1, 2, 2 + m], axis=1)
        # Rounded sums may leave the range of the totals.
        out = out + sum(c * f(np.minimum(fn, P), np.minimum(fp, N), P, N) for c, f in term.formulas)
    return np.asarray(out)


def _of_runs(
    task: Task, predictions: Sequence[NDArray[Any]], replicates: int, rng: np.random.Generator, runs: Ints
) -> Values:
    """Runs of rows are drawn with replacement, so that a replicate has about as many rows."""
    rows = np.split(np.argsort(runs, kind="stable"), np.cumsum(np.bincount(runs))[:-1])
    out = np.empty((replicates, len(predictions)))
    for row in out:
        drawn = np.concatenate([rows[run] for run in rng.integers(0, len(rows), len(rows))])
        part = task.take(drawn)
        row[:] = [part.mean_loss(one[drawn]) for one in predictions]
    return out


def _of_any_loss(task: Task, predictions: Sequence[NDArray[Any]], replicates: int, rng: np.random.Generator) -> Values:
    n = len(task.truth)
    out = np.empty((replicates, len(predictions)))
    for row in out:
        # A function of a user may read the order of rows.
        drawn = np.sort(rng.integers(0, n, n))
        part = task.take(drawn)
        row[:] = [part.mean_loss(one[drawn]) for one in predictions]
    return out
