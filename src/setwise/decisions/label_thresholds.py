"""One threshold for each column of a label matrix, for a loss of columns, of rows, or of all decisions as one set."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import (
    Bools,
    Floats,
    Ints,
    Values,
    as_array,
    as_choice,
    as_number,
    as_random_state,
    as_row_weights,
    as_scores,
    shown,
)
from setwise.core.counts import Counts
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import RARE_LABELS, THRESHOLDS_REFUSE
from setwise.decisions.label_columns import AMOUNTS, LabelColumns, of_counts
from setwise.decisions.thresholds import SortedDecisions, bound, counted, sweep_all, sweep_each
from setwise.kernels.jit import outside
from setwise.kernels.segments import running_sums
from setwise.kernels.thresholds import EQUAL
from setwise.losses import as_loss

LARGEST_ROUNDS = 100
"""Columns are changed one after another at most so often; the loss falls in each round but the last."""


@final
@dataclass(frozen=True, eq=False)
class ScoredLabelMatrix:
    """A label matrix with scores.

    Parameters
    ----------
    rows : n sets of p decisions, the rows of the matrix
    scores : (n, p) float32 or float64
    weights : (n,) of the rows; None weighs all alike
    """

    rows: Sets
    scores: Floats
    weights: Values | None

    @classmethod
    def of(cls, Y: Any, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> ScoredLabelMatrix:
        """A matrix (n, p) of labels 0 and 1, or a batch of sets of equal size, with scores (n, p).

        Labels of rows of weight 0 are not known.
        """
        if isinstance(Y, Batch) and not isinstance(Y, Sets):
            raise TypeError(f"Y must be labels of shape (n, p), or a batch of the kind Sets; got {type(Y).__name__}.")
        rows = Y if isinstance(Y, Sets) else Sets.rows(Y)
        if (rows.sizes != rows.sizes[0]).any():
            raise ValueError(f"Y must have sets of one size; got {rows.sizes.min()} to {rows.sizes.max()} decisions.")
        shape, given = (len(rows), int(rows.sizes[0])), as_array(scores, "scores")
        if given.shape != shape:
            raise ValueError(f"scores must have shape {shape}, one per decision; got shape {given.shape}.")
        values, weights = as_scores(given.ravel(), rows.total).reshape(shape), None
        if sample_weight is not None:
            weights = as_row_weights(sample_weight, len(rows))
            _, rows = counted(rows, np.repeat(weights, shape[1]))
        return cls(rows, values, weights)

    @cached_property
    def sets(self) -> Sets:
        """The batch in which each column is one set."""
        n, p = self.scores.shape
        return Sets(np.ascontiguousarray(self.rows.labels.reshape(n, p).T).ravel(), n * np.arange(p + 1))

    @cached_property
    def order(self) -> SortedDecisions:
        """The decisions of each column in falling order of their scores; O(n p log n)."""
        return SortedDecisions.of(self.sets, np.ascontiguousarray(self.scores.T).ravel())

    @cached_property
    def places(self) -> Ints:
        """The places of the decisions of :attr:`order` in the flat matrix, row by row, (m,)."""
        n, p = self.scores.shape
        column, row = np.divmod(self.order.items.astype(np.int64), n)
        return np.asarray(row * p + column)

    @cached_property
    def columns(self) -> LabelColumns:
        """The columns, for a loss of their counts."""
        n, order = len(self.scores), self.order
        weights = np.ones(n) if self.weights is None else self.weights
        return LabelColumns(order.scores, order.labels, (order.items % n).astype(np.int32), order.offsets, weights)

    def labels(self, thresholds: Values) -> Bools:
        """The labels that thresholds (p,) predict, (n, p)."""
        return np.asarray(self.scores >= thresholds)


LARGEST_TABLE = 1 << 21
"""The losses of rows are read from a table if it has at most so many values."""


def best_of_rows(columns: ScoredLabelMatrix, loss: Loss) -> tuple[Values, float, bool]:
    """Thresholds that no change of a single one makes better, the mean loss of the rows, and whether it is the least.

    The best common threshold is the start. Then each column in turn is swept while the others stay.
    """
    n, p = columns.scores.shape
    bound_loss = bound(loss, columns.rows, "label_thresholds")
    shares = None if columns.weights is None else columns.weights / columns.weights.sum()
    each = np.full(n, 1.0 / n) if shares is None else shares
    common = sweep_all(bound_loss, columns.scores.ravel(), shares).best()[0]
    thresholds, value = np.full(p, common.threshold), common.loss
    rows = row_losses(bound_loss, columns.labels(thresholds))
    for _ in range(LARGEST_ROUNDS if p > 1 else 0):
        before = value
        for c in range(p):
            order = columns.order.segment(c)
            without, within = rows.pair(c)
            # A decision that is predicted too changes the loss of its own row alone.
            start = np.array([each @ without])
            losses = start[0] + np.cumsum((each * (within - without))[order.items - c * n])
            cut = order.best(losses, start)
            lower = float(order.at(losses, start, cut)[0])
            if lower < value - EQUAL * abs(value):
                thresholds[c], value = order.between(cut)[0], lower
                rows.change(c, columns.scores[:, c] >= thresholds[c])
        if value >= before:
            break
    # A sum of costs of single decisions is a sum over columns, and each of them was given its best threshold.
    exact = p == 1 or not bound_loss.split()[1].terms
    return thresholds, float(np.average(bound_loss.values(columns.labels(thresholds).ravel()), weights=shares)), exact


def row_losses(bound_loss: BoundLoss, labels: Bools) -> TableRowLosses | GeneralRowLosses:
    """The rows of a bound loss at a labeling (n, p), in the form that is the fastest for their loss."""
    counts = bound_loss.counts
    if counts is None or counts.areas is not None:
        return GeneralRowLosses(bound_loss, labels)
    first, table = _table(counts)
    if not len(table):
        return GeneralRowLosses(bound_loss, labels)
    truth = np.asarray(bound_loss.batch.labels).reshape(labels.shape).T
    width = counts.N.astype(np.int64) + 1
    steps, chosen = np.where(truth == 1, -width, 1 * (truth == 0)), np.ascontiguousarray(labels.T)
    missed = width * ((truth == 1).sum(axis=0))
    return TableRowLosses(table, first + missed + (steps * chosen).sum(axis=0), steps, chosen)


def _table(counts: Counts) -> tuple[Ints, Values]:
    """The place of ``fn = fp = 0`` of each row, (n,), in a table of all values of the loss; none if it is too large.

    Rows with the same P and N share a part of the table, in which ``fn`` goes down and ``fp`` across.
    """
    P, N = counts.P.astype(np.int64), counts.N.astype(np.int64)
    _, rows, kinds = np.unique(P * (N.max() + 1) + N, return_index=True, return_inverse=True)
    sizes = (P[rows] + 1) * (N[rows] + 1)
    shared = counts.linear is None or (counts.linear == counts.linear[rows][kinds]).all()
    if not shared or sizes.sum() > LARGEST_TABLE:
        return np.zeros(0, np.int64), np.zeros(0)
    firsts = np.cumsum(sizes) - sizes
    owners = np.repeat(np.arange(len(rows)), sizes)
    fn, fp = np.divmod(np.arange(len(owners)) - firsts[owners], N[rows][owners] + 1)
    return firsts[kinds], counts.of(fn.astype(np.float64), fp.astype(np.float64), rows[owners])


@final
@dataclass(eq=False)
class TableRowLosses:
    """The losses of rows as their columns change, for a function of counts, given as a table; a column costs O(n).

    Parameters
    ----------
    table : the values of the loss
    places : (n,) the place of each row in the table
    steps : (p, n) by how much the place changes when a decision is predicted
    labels : (p, n) the labeling
    """

    table: Values
    places: Ints
    steps: Ints
    labels: Bools

    def pair(self, c: int) -> tuple[Values, Values]:
        """The losses of all rows if column c is predicted nowhere, and if it is predicted everywhere, (n,) each."""
        none = self.places - self.steps[c] * self.labels[c]
        return self.table[none], self.table[none + self.steps[c]]

    def change(self, c: int, labels: Bools) -> None:
        """Give column c other labels (n,)."""
        self.places += (labels.astype(np.int64) - self.labels[c]) * self.steps[c]
        self.labels[c] = labels


@final
@dataclass(eq=False)
class GeneralRowLosses:
    """The same for any loss, which is evaluated anew: a column costs O(n p) or more."""

    bound_loss: BoundLoss
    labels: Bools

    def pair(self, c: int) -> tuple[Values, Values]:
        """The losses of all rows if column c is predicted nowhere, and if it is predicted everywhere, (n,) each."""
        none, every = self.labels.copy(), self.labels.copy()
        none[:, c], every[:, c] = False, True
        return self.bound_loss.values(none.ravel()), self.bound_loss.values(every.ravel())

    def change(self, c: int, labels: Bools) -> None:
        """Give column c other labels (n,)."""
        self.labels[:, c] = labels


ROUNDING = 1e-15
"""The values of a sum over columns are exact up to this, relative to the largest of them."""

DIRECTIONS = 2.0 ** np.arange(-4, 5)
"""Costs of a miss against those of a false alarm, as shares of the rate at which both classes weigh the same."""


@final
@dataclass(frozen=True, eq=False)
class Tally:
    """A sum of mistakes along each column, (m,), and its values where none is predicted, (p,)."""

    along: Values
    start: Values

    @classmethod
    def of(cls, order: SortedDecisions, each: Values, missed: bool, alarms: bool) -> Tally:
        """The sum of ``each`` (m,) over the positives not predicted, and over the negatives predicted."""
        found = np.where(order.labels, each if missed else 0.0, 0.0)
        wrong = np.where(order.labels, 0.0, each if alarms else 0.0)
        start = np.add.reduceat(np.append(found, 0.0), order.offsets[:-1]) * (np.diff(order.offsets) > 0)
        left = np.repeat(start, np.diff(order.offsets)) - running_sums(found, order.offsets)
        # A positive sum can't fall below 0; what is left of it is rounding.
        return cls(np.maximum(left, 0.0) + running_sums(wrong, order.offsets), start)


@final
@dataclass(frozen=True, eq=False)
class PooledColumns:
    """``counts(fn, fp) + cost`` of the columns of a matrix, whose mistakes are summed.

    Parameters
    ----------
    order : the columns in falling order
    counts : a function of the sums of fn and fp over the columns, or None
    fn, fp, cost : the numbers, or areas, of false negatives and false positives, and the costs of mistakes
    """

    order: SortedDecisions
    counts: Counts | None
    fn: Tally
    fp: Tally
    cost: Tally

    @classmethod
    def of(cls, columns: ScoredLabelMatrix, loss: Loss) -> PooledColumns:
        """The loss of all decisions of the matrix as one set."""
        whole = Sets(columns.rows.labels, np.array([0, columns.rows.total], dtype=np.int64))
        weights = None if columns.weights is None else np.repeat(columns.weights, columns.scores.shape[1])
        bound_loss = bound(loss, whole, "label_thresholds", weights)
        counts, costs = _parts(bound_loss)
        order, none = columns.order, np.zeros(len(columns.order.items))
        area = np.ones(len(none)) if counts is None or counts.areas is None else counts.areas[columns.places]
        cost = none if costs is None else costs[columns.places]
        tallies = Tally.of(order, area, True, False), Tally.of(order, area, False, True)
        return cls(order, counts, *tallies, Tally.of(order, cost, True, True))

    def value(self, cuts: Ints) -> float:
        """The loss at one cut of each column."""
        fn, fp, cost = (float(self.order.at(t.along, t.start, cuts).sum()) for t in (self.fn, self.fp, self.cost))
        return float(self._of(np.array([fn]), np.array([fp]), np.array([cost]))[0])

    def _of(self, fn: Values, fp: Values, cost: Values) -> Values:
        if self.counts is None:
            return cost
        # Rounded sums of areas may leave the range of the totals, outside of which the formula is not defined.
        return self.counts.of(np.clip(fn, 0.0, self.counts.P), np.clip(fp, 0.0, self.counts.N)) + cost

    def weighted(self, miss: float, alarm: float, cost: float) -> Ints:
        """The cut of each column that minimizes ``miss * fn + alarm * fp + cost * costs``, (p,)."""
        along, start = (
            miss * fn + alarm * fp + cost * paid
            for fn, fp, paid in zip(*((t.along, t.start) for t in (self.fn, self.fp, self.cost)), strict=True)
        )
        return self.order.best(along, start, ROUNDING)

    def column(self, cuts: Ints, c: int) -> int:
        """The best cut of one column while the others stay."""
        a, b = self.order.offsets[c], self.order.offsets[c + 1]
        along, start = [], []
        for t in (self.fn, self.fp, self.cost):
            here = self.order.at(t.along, t.start, cuts)
            others = here.sum() - here[c]
            along.append(others + t.along[a:b])
            start.append(np.array([others + t.start[c]]))
        return int(self.order.segment(c).best(self._of(*along), self._of(*start))[0])


def _parts(bound_loss: BoundLoss) -> tuple[Counts | None, Values | None]:
    """The function of counts and the costs that the loss is the sum of."""
    if bound_loss.counts is not None and bound_loss.counts.predicted is None:
        return bound_loss.counts, None
    costs, rest = bound_loss.split()
    if len(rest.terms) > 1 or not all(isinstance(t, Counts) and t.predicted is None for t in rest.terms):
        raise Refusal(
            f"average='micro' refuses {bound_loss!r}: it is neither a function of counts nor a sum of costs. Use "
            "average='samples'.",
            THRESHOLDS_REFUSE,
        )
    return (rest.terms[0] if rest.terms else None), costs  # type: ignore[return-value]


def best_of_pool(columns: ScoredLabelMatrix, loss: Loss) -> tuple[Values, float, bool]:
    """The thresholds of least loss of all decisions as one set, this loss, and whether it is the least."""
    pool = PooledColumns.of(columns, loss)
    counts = pool.counts
    if counts is None:
        cuts, exact = pool.weighted(0.0, 0.0, 1.0), True
    elif not counts.formulas and counts.linear is not None:
        cuts, exact = pool.weighted(counts.linear[0, 0], counts.linear[0, 1], 0.0), True
    elif counts.quotient is not None and not pool.cost.start.any() and not pool.cost.along.any():
        cuts, exact = _of_quotient(pool, counts.quotient[0][0], counts.quotient[1][0]), True
    else:
        cuts, exact = _one_by_one(pool, counts), columns.scores.shape[1] == 1
    return columns.order.between(cuts), float(pool.value(cuts)), exact


def _of_quotient(pool: PooledColumns, top: Values, bottom: Values) -> Ints:
    """The cuts that minimize a quotient of linear functions of the counts (Dinkelbach 1967)."""
    cuts = np.zeros(len(pool.fn.start), dtype=np.int64)
    # The denominator vanishes only without mistakes, which is then best: the loss increases.
    if bottom[0] <= 0.0:
        return cuts
    value = pool.value(cuts)
    while True:
        # All quotients are at least v where min (numerator - v denominator) is 0, and that is a sum over columns.
        found = pool.weighted(top[1] - value * bottom[1], top[2] - value * bottom[2], 0.0)
        lower = pool.value(found)
        if lower >= value:
            return found if lower == value else cuts
        cuts, value = found, lower


def _one_by_one(pool: PooledColumns, counts: Counts) -> Ints:
    """Cuts that no change of a single column makes better, from the best weighting of misses and false alarms."""
    rate = max(float(counts.N[0]), 1.0) / max(float(counts.P[0]), 1.0)
    starts = [pool.weighted(rate * share, 1.0, 1.0) for share in DIRECTIONS]
    value, cuts = min(((pool.value(cuts), i) for i, cuts in enumerate(starts)))
    best = starts[cuts]
    for _ in range(LARGEST_ROUNDS):
        before = value
        for c in range(len(best)):
            changed = best.copy()
            changed[c] = pool.column(best, c)
            lower = pool.value(changed)
            if lower < value:
                best, value = changed, lower
        if value >= before - EQUAL * abs(before):
            break
    return best


@final
@dataclass(frozen=True, eq=False)
class LabelThresholds:
    """The thresholds of the columns of a label matrix: ``scores >= thresholds`` are predicted positive.

    Attributes
    ----------
    thresholds : (p,) float64; inf predicts none of a column and -inf all of it
    loss : the averaged loss at these thresholds
    exact : whether no other thresholds have a smaller loss on these scores

    Examples
    --------
    >>> from setwise.decisions import label_thresholds
    >>> scores = np.array([[0.9, 0.2], [0.3, 0.4]])
    >>> found = label_thresholds([[1, 0], [0, 1]], scores, "f1", average="micro")
    >>> (scores >= found.thresholds).tolist(), found.loss
    ([[True, False], [False, True]], 0.0)
    """

    thresholds: Values
    loss: float
    exact: bool


FEW = 10
"""With fewer positives the threshold of a label is mostly luck."""


def label_thresholds(
    Y: Any,
    scores: Any,
    loss: Loss | str,
    average: str = "macro",
    *,
    shrinkage: Literal["auto"] | float = "auto",
    sample_weight: ArrayLike | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> LabelThresholds:
    """``argmin over t_1..t_p of the averaged loss of [scores[:, j] >= t_j]``: one threshold for each label.

    - ``average="macro"``: the mean of the losses of the columns, each of which is one set. With ``shrinkage=0.0`` every
      column has its own best threshold, so the answer is exact. One sort, O(n p log n). By default the thresholds are
      shrunk, see below.
    - ``average="micro"``: the loss of all n p decisions as one set. For a quotient of counts (F, Jaccard) the best
      value v makes ``min of numerator - v denominator`` zero, which is a sum over columns; v is found in a few passes
      of O(n p) (Dinkelbach 1967). This is exact, as it is for sums of costs. Other losses of counts are lowered one
      column after another.
    - ``average="samples"``: the mean of the losses of the rows. From the best common threshold on, one column after
      another is given its best threshold while the loss falls.

    ``exact`` is False where columns are changed one after another, unless p is 1 or the loss is a sum of costs of
    single decisions. No change of a single threshold makes such a loss smaller, and that of ``"samples"`` is at most
    the loss of the best common threshold.

    The best threshold of a rare label is partly luck. So under macro ``macro loss + shrinkage * micro loss`` is
    minimized on resamples of the rows, and the thresholds are the means over the resamples (bagging). The micro loss is
    taken as linear in the counts, with its slopes at the best common threshold. It decides about rare labels, and
    hardly about frequent ones. ``"auto"`` tries 0, .05, .1 and .2. It takes the largest one that costs at most
    one hundredth of the macro gain over no prediction, on the rows that resamples leave out. This takes some 10 to 60
    times as long, and ``exact`` is False. Losses that are no function of counts are not shrunk by ``"auto"``.

    In sparse matrices, under macro, entries that are not stored are labels 0 and scores 0, the least score.

    Parameters
    ----------
    Y : (n, p) labels 0 and 1, dense or sparse, or a batch of n sets of p decisions each, in which labels may be unknown
        (-1)
    scores : (n, p) finite; the larger, the more likely positive. For a batch they may be flat, (n p,). A sparse matrix,
        for a sparse Y, must not have negative scores
    loss : any loss of labels, or its name; under micro a loss of counts or a sum of costs, for sparse scores a loss of
        counts
    average : "macro", "micro" or "samples"
    shrinkage : the weight of the micro loss, from 0 on; 0.0 takes the best thresholds of these scores, and "auto"
        chooses by rows held out. Under micro and samples nothing is shrunk
    sample_weight : (n,) the weight of each row, which counts as so many equal ones, none for 0. It is for losses of
        counts, and those that are a sum over rows; under samples it weighs the rows in the mean, for any loss
    random_state : the seed of the resamples, an int, a numpy Generator or None

    Returns
    -------
    LabelThresholds
        The thresholds (p,), the averaged loss at them, and whether no others have a smaller one

    Warns
    -----
    UserWarning : under macro for labels with fewer than ten positives

    Raises
    ------
    Refusal : for losses of a ranking, those that weights of rows do not fit, and those that neither counts nor costs
        determine, under micro, for sparse scores and an amount above 0
    ValueError : for labels, scores and weights that do not fit, another average or amount
    TypeError : for a loss of another kind

    Examples
    --------
    >>> from setwise.decisions import label_thresholds
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.random((300, 2)) < [0.5, 0.05]
    >>> scores = Y + rng.standard_normal((300, 2))
    >>> best, shrunk = (label_thresholds(Y, scores, "f1", shrinkage=s) for s in (0.0, "auto"))
    >>> best.thresholds.round(2).tolist(), best.exact, round(best.loss, 2)
    ([-0.08, 1.29], True, 0.53)
    >>> shrunk.thresholds.round(2).tolist(), shrunk.exact, round(shrunk.loss, 2)
    ([-0.11, 1.26], False, 0.54)
    """
    loss, average = as_loss(loss), as_choice(average, "average", AVERAGES)
    as_amounts(shrinkage)
    seed = as_random_state(random_state)
    if issparse(scores):
        known: ScoredLabelMatrix | LabelColumns = _sparse_columns(Y, scores, loss, average, sample_weight)
    else:
        known = ScoredLabelMatrix.of(Y.toarray() if issparse(Y) else Y, scores, sample_weight)
    if average == "macro":
        warn_of_few((known if isinstance(known, LabelColumns) else known.columns).n_positives)
    return thresholds_of(known, loss, average, shrinkage, seed)


def thresholds_of(
    known: ScoredLabelMatrix | LabelColumns,
    loss: Loss,
    average: str,
    shrinkage: Literal["auto"] | float = "auto",
    random_state: int | np.random.Generator | None = 0,
) -> LabelThresholds:
    """:func:`label_thresholds` of labels and scores that are checked, without a warning."""
    amounts = as_amounts(shrinkage)
    if average != "macro" and amounts is not AMOUNTS and amounts.any():
        raise ValueError(f"shrinkage must be 'auto' or 0 for average={average!r}; got {shown(shrinkage)}.")
    counted = average == "macro" and loss.reads == "labels" and of_counts(loss)
    if average != "macro" or not amounts.any() or (amounts is AMOUNTS and not counted):
        if isinstance(known, ScoredLabelMatrix):
            return LabelThresholds(*AVERAGES[average](known, loss))
        thresholds = known.best(loss)
        return LabelThresholds(thresholds, known.loss_at(loss, thresholds), True)
    if not counted:
        raise Refusal(
            f"shrinkage={shown(shrinkage)} refuses {loss!r}: it is not a function of counts. Use shrinkage=0.0.",
            THRESHOLDS_REFUSE,
        )
    columns = known.columns if isinstance(known, ScoredLabelMatrix) else known
    thresholds = columns.shrunk(loss, amounts, np.random.default_rng(random_state))
    return LabelThresholds(thresholds, columns.loss_at(loss, thresholds), False)


def as_amounts(shrinkage: Any) -> Values:
    """The amounts among which held-out rows choose: those of "auto", or the given one."""
    if isinstance(shrinkage, str) and shrinkage == "auto":
        return AMOUNTS
    if isinstance(shrinkage, str):
        raise ValueError(f"shrinkage must be 'auto' or a number from 0 on; got {shown(shrinkage)}.")
    return np.array([as_number(shrinkage, "shrinkage", low=0.0)])


def _sparse_columns(Y: Any, scores: Any, loss: Loss, average: str, sample_weight: Any) -> LabelColumns:
    """The columns of sparse scores, if they can be decided."""
    if not issparse(Y):
        raise TypeError(f"Y must be a sparse matrix, as scores is; got {type(Y).__name__}.")
    if average != "macro":
        raise ValueError(f"average must be 'macro' for sparse scores; got {average!r}.")
    if loss.reads != "labels" or not of_counts(loss):
        raise Refusal(
            f"label_thresholds refuses {loss!r} for sparse scores: it is not a function of counts. Pass dense scores.",
            THRESHOLDS_REFUSE,
        )
    return LabelColumns.of_sparse(Y, scores, sample_weight)


def warn_of_few(positives: Ints) -> None:
    """Warn of labels with few positives, of numbers (p,) of them."""
    few = int((positives < FEW).sum())
    if few:
        words = (
            f"{few} of {len(positives)} labels have fewer than {FEW} positives, so that their thresholds are mostly "
        )
        warnings.warn(words + "luck." + RARE_LABELS.see, UserWarning, stacklevel=outside())


def _of_columns(columns: ScoredLabelMatrix, loss: Loss) -> tuple[Values, float, bool]:
    """The best threshold of each column, the mean of their losses, and that it is the least."""
    weights = None if columns.weights is None else np.tile(columns.weights, columns.scores.shape[1])
    found = sweep_each(bound(loss, columns.sets, "label_thresholds", weights), columns.order).best()
    return np.array([one.threshold for one in found]), float(np.mean([one.loss for one in found])), True


AVERAGES = {"macro": _of_columns, "micro": best_of_pool, "samples": best_of_rows}
"""How the losses of a label matrix become one number, by name."""
