"""Thresholds of the columns of a label matrix, dense or CSR: the best ones, and bagged ones that are shrunk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Bools, Floats, Ints, Values, as_reals, as_row_weights, shown
from setwise.core.counts import Counts
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.decisions.resampling import counts_of
from setwise.kernels.label_columns import column_weights, counts_at, merged_columns, penalized_thresholds
from setwise.kernels.segments import count_true, owners_of
from setwise.kernels.sorting import sort_falling
from setwise.kernels.thresholds import falling_counts, falling_quotient

AMOUNTS = np.array([0.0, 0.05, 0.1, 0.2])
"""The weights of the micro loss that are tried."""

SHARE = 0.01
"""The largest amount is taken that costs at most this share of what thresholds gain over no prediction."""

RESAMPLES, FEWEST, MANY = 60, 10, 300_000
"""How many resamples of rows are drawn; for more decisions than ``MANY`` fewer in proportion, but so many at least."""


@final
@dataclass(frozen=True, eq=False)
class LabelColumns:
    """The decisions of each column of a label matrix, in falling order of their scores.

    Parameters
    ----------
    scores, labels : (m,) of the decisions, column after column
    rows : (m,) the row of each; -1 stands for all rows that are not stored, negatives of score 0
    offsets : (p+1,) the columns
    weights : (n,) of the rows
    """

    scores: Floats
    labels: Bools
    rows: Ints | NDArray[np.int32]
    offsets: Ints
    weights: Values

    @classmethod
    def of_sparse(cls, Y: Any, scores: Any, sample_weight: Any = None) -> LabelColumns:
        """Labels and scores that SciPy holds in any sparse format, (n, p) each; O(stored log stored)."""
        if Y.shape != scores.shape or 0 in Y.shape:
            raise ValueError(f"Y and scores must have one shape (n, p); got {Y.shape} and {scores.shape}.")
        weights = np.ones(Y.shape[0]) if sample_weight is None else as_row_weights(sample_weight, Y.shape[0])
        if not weights.all():
            rows = np.flatnonzero(weights)
            Y, scores, weights = Y.tocsr()[rows], scores.tocsr()[rows], weights[rows]
        Y, scores = _sorted_columns(Y, "Y"), _sorted_columns(scores, "scores")
        if not np.isin(Y.data, (0, 1)).all():
            raise ValueError("Y must hold 0 and 1 only; got other numbers.")
        Y.eliminate_zeros()
        values: Floats = as_reals(scores.data, "scores").astype(
            np.float32 if scores.dtype == np.float32 else np.float64
        )
        if (values < 0).any():
            raise ValueError(
                "sparse scores must not be negative, since entries that are not stored have the score 0, which is the "
                f"least; got {shown(float(values.min()))}."
            )
        wide = [at.astype(np.int64) for at in (Y.indices, Y.indptr, scores.indices, scores.indptr)]
        rows, labels, values, offsets = merged_columns(wide[0], wide[1], wide[2], wide[3], values, Y.shape[0])
        items, labels, values, _ = sort_falling(values, labels, offsets)
        return cls(values, labels, rows[items], offsets, weights)

    @property
    def n_positives(self) -> Ints:
        """The number of positives of each column, (p,)."""
        return count_true(self.labels, self.offsets)

    def at(self, weights: Values) -> Values:
        """The weights (m,) of the decisions for weights (n,) of rows."""
        return np.asarray(column_weights(self.rows, self.offsets, weights))

    def positives(self, weights: Values) -> tuple[Values, Values]:
        """The weights of the positives and of the negatives of each column, (p,) each."""
        nothing = np.full((1, len(self.offsets) - 1), np.inf)
        everything = -nothing
        P = counts_at(self.scores, self.labels, weights, self.offsets, nothing)[0][0]
        return P, counts_at(self.scores, self.labels, weights, self.offsets, everything)[1][0]

    def losses(self, loss: Loss, weights: Values) -> tuple[Values, Values]:
        """The loss of each column once each decision is predicted too, (m,), and where none is, (p,)."""
        P, N = self.positives(weights)
        counts = column_counts(loss, P, N)
        start = counts.of(counts.P, np.zeros(len(P)))
        given = self.labels, self.offsets, counts.P, weights
        if counts.quotient is None:
            fn, fp = falling_counts(*given)
            # Sums of weights may leave their range by rounding, where a formula is not defined.
            at = owners_of(self.offsets)
            return counts.of(np.clip(fn, 0.0, counts.P[at]), np.clip(fp, 0.0, counts.N[at]), at), start
        return np.asarray(falling_quotient(*given, *counts.quotient, counts.origin)), start

    def loss_at(self, loss: Loss, thresholds: Values) -> float:
        """The mean loss of the columns at thresholds (p,)."""
        weights = self.at(self.weights)
        fn, fp = counts_at(self.scores, self.labels, weights, self.offsets, thresholds[None])
        return float(column_counts(loss, *self.positives(weights)).of(fn[0], fp[0]).mean())

    def best(self, loss: Loss) -> Values:
        """The threshold of least loss of each column, (p,)."""
        weights = self.at(self.weights)
        return np.asarray(self.penalized(*self.losses(loss, weights), weights, np.zeros((1, 2)))[0])

    def penalized(self, losses: Values, start: Values, weights: Values, costs: Values) -> Values:
        """The thresholds of least ``loss + costs[a, 0] fn + costs[a, 1] fp`` of each column, (a, p)."""
        given = self.scores, self.labels, weights, losses, start, self.offsets, costs
        return np.asarray(penalized_thresholds(*given))

    def slopes(self, loss: Loss) -> Values:
        """What one more false negative, and one more false positive, adds to the micro loss at the best common cut."""
        whole = np.array([0, len(self.scores)])
        items, labels, scores, _ = sort_falling(self.scores, self.labels, whole)
        weights = self.at(self.weights)[items]
        pooled = LabelColumns(scores, labels, items, whole, weights)
        along, start = pooled.losses(loss, weights)
        common = pooled.penalized(along, start, weights, np.zeros((1, 2)))
        fn, fp = (float(x[0, 0]) for x in counts_at(scores, labels, weights, whole, common))
        counts = column_counts(loss, *pooled.positives(weights))
        sides = []
        for miss, alarm in ((1.0, 0.0), (0.0, 1.0)):
            low = np.maximum([fn - miss, fp - alarm], 0.0)
            high = np.minimum([fn + miss, fp + alarm], [counts.P[0], counts.N[0]])
            rise = counts.of(high[:1], high[1:])[0] - counts.of(low[:1], low[1:])[0]
            sides.append(rise / max((high - low).sum(), 1.0))
        return np.array(sides)

    def shrunk(self, loss: Loss, amounts: Values, rng: np.random.Generator) -> Values:
        """Bagged thresholds of ``macro loss + amount * micro loss``, (p,); inf for labels without positives.

        Of several amounts (a,) the largest one is taken whose macro loss on the rows that a resample leaves out is the
        least one, up to ``SHARE`` of what that gains over no prediction.
        """
        p, n, m = len(self.offsets) - 1, len(self.weights), len(self.scores)
        n_resamples = max(FEWEST, RESAMPLES * MANY // max(m, MANY))
        costs = p * amounts[:, None] * self.slopes(loss)
        total, held_out = np.zeros((len(amounts), p)), np.zeros((4, len(amounts), p))
        # Where a resample predicts none or all, the mean takes what is just above all scores, or the least one.
        ends = np.append(self.scores, 0.0)
        top, low = np.nextafter(ends[self.offsets[:-1]], np.inf), ends[self.offsets[1:] - 1]
        counted = np.flatnonzero(self.weights > 0)
        for _ in range(n_resamples):
            drawn = np.bincount(counted[rng.integers(len(counted), size=len(counted))], minlength=n)
            weights = self.at(self.weights * drawn)
            found = self.penalized(*self.losses(loss, weights), weights, costs)
            total += np.where(found == np.inf, top, np.where(found == -np.inf, low, found))
            if len(amounts) > 1:
                left = self.at(np.where(drawn == 0, self.weights, 0.0))
                held_out[:2] += counts_at(self.scores, self.labels, left, self.offsets, found)
                held_out[2:] += np.array(self.positives(left))[:, None]
        place = _largest(loss, *held_out) if len(amounts) > 1 else 0
        return np.asarray(np.where(self.n_positives > 0, total[place] / n_resamples, np.inf))


def _largest(loss: Loss, fn: Values, fp: Values, P: Values, N: Values) -> int:
    """The place of the largest amount of which the counts (a, p) on rows held out lose nearly the least."""
    counts = column_counts(loss, P[0], N[0])
    fn, fp = np.minimum(fn, counts.P), np.minimum(fp, counts.N)
    losses = np.array([counts.of(*pair).mean() for pair in zip(fn, fp, strict=True)])
    none = counts.of(counts.P, np.zeros(len(counts.P))).mean()
    return int(np.flatnonzero(losses <= losses.min() + SHARE * max(none - losses.min(), 0.0))[-1])


def column_counts(loss: Loss, P: Values, N: Values) -> Counts:
    """The loss as a function of the counts of columns; one without known decisions has a negative, and loses nothing.

    Raises Refusal for another loss.
    """
    return counts_of(loss, P, np.where(P + N > 0, N, 1.0))


def _sorted_columns(matrix: Any, name: str) -> Any:
    """A sparse matrix as a CSC one of its own, with sorted rows and each entry once."""
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers; got dtype {matrix.dtype}.")
    out = matrix.tocsc(copy=True)
    # Entries that are stored twice are added.
    out.sum_duplicates()
    return out


def of_counts(loss: Loss) -> bool:
    """Whether the loss is a function of the counts of a column."""
    try:
        # Parameters of single decisions fit one size at most.
        counts = column_counts(loss, np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    except Refusal:
        return False
    return counts.areas is None and counts.predicted is None
