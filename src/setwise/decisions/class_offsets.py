"""Offsets of the scores of several classes, with which the predicted class is the largest score plus its offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import Sets
from setwise.core.checks import (
    Bools,
    Ints,
    Values,
    as_class_labels,
    as_count,
    as_random_state,
    as_reals,
    as_row_weights,
)
from setwise.decisions.confusion import ConfusionLoss, Uncorrelated, class_loss, confusion_at, confusion_of
from setwise.decisions.floors import SLACK, Floor, as_requests, together
from setwise.decisions.operating_point import CutCounts
from setwise.kernels.confusion import EQUAL, best_cut, best_others, correlation_losses, quotient_losses

ROUNDS = 20
"""Passes over all classes; a pass that changes nothing is the last one."""

FIRST_ROWS = 50_000
"""Of more rows so many say first where to begin; then all rows do."""

CUTS = 64
"""Where a loss has no closed form along a coordinate so many cut points are tried."""


@final
@dataclass(frozen=True, eq=False)
class ClassOffsets:
    """Offsets of the scores, and the loss of ``argmax_c scores[i, c] + offsets[c]``.

    Attributes
    ----------
    offsets : (k,), with the mean 0; of log-probabilities they are the logarithms of multipliers of the probabilities
    loss : the loss on the rows that they were tuned on

    Examples
    --------
    >>> from setwise.decisions import class_offsets
    >>> found = class_offsets([0, 1, 1], [[2.0, 1.0], [2.0, 1.5], [2.0, 1.4]])
    >>> found.offsets.round(2).tolist(), found.loss
    ([-0.4, 0.4], 0.0)
    """

    offsets: Values
    loss: float


def class_offsets(
    y: ArrayLike,
    scores: ArrayLike,
    loss: object = "f1",
    *,
    sample_weight: ArrayLike | None = None,
    n_starts: int = 3,
    n_resamples: int = 0,
    random_state: Any = 0,
) -> ClassOffsets:
    """Offsets b of k classes for which ``argmax_c scores[i, c] + b_c`` has a small loss on these rows.

    Coordinate ascent: each b_c in turn moves to the best of all its values, which is exact for quotients of the
    confusion matrix, as F_beta, the Jaccard index, kappa, balanced accuracy and costs, and for Matthews' correlation.
    The whole need not be the best; the best of several starts is taken. Other losses of counts are tried at 64 cuts.
    Where rows lack a class, a mean over the classes is tuned as if it occurred; the returned loss leaves the class out.

    Source: own; coordinate ascent over multipliers is that of Narasimhan et al. (2015), who iterate over costs.

    Parameters
    ----------
    y : (n,) labels 0..k-1
    scores : (n, k), as logarithms of probabilities; rows that the model did not see
    loss : a loss of labels, its name, or a loss of classes; see :func:`~setwise.decisions.confusion.class_loss`
    sample_weight : (n,) the weight of each row in the loss
    n_starts : the number of starts: 1 is 0, 2 are also offsets that undo the shares of the classes, 3 also half of them
    n_resamples : the offsets are the mean of those of so many bootstrap samples; 0 takes those of the rows themselves
    random_state : the seed of the resamples

    Returns
    -------
    ClassOffsets
        The offsets and their loss.

    Raises
    ------
    ValueError : for labels, scores and weights that do not fit together, and scores that are not finite
    Refusal : a ValueError, for a loss that is no function of the confusion matrix

    Examples
    --------
    >>> import numpy as np
    >>> from setwise.decisions import class_offsets
    >>> y = [0, 0, 0, 1, 2]
    >>> p = np.array([[0.8, 0.1, 0.1], [0.7, 0.1, 0.2], [0.6, 0.2, 0.2], [0.5, 0.4, 0.1], [0.5, 0.1, 0.4]])
    >>> found = class_offsets(y, np.log(p), "f1")
    >>> (np.log(p) + found.offsets).argmax(axis=1).tolist(), found.loss
    ([0, 0, 0, 1, 2], 0.0)
    """
    table = as_reals(scores, "scores")
    truth = as_class_labels(y, "y")
    if table.ndim != 2 or table.shape[1] < 2 or len(table) != len(truth):
        raise ValueError(f"scores must have shape ({len(truth)}, k), a column for each class; got {table.shape}.")
    k = table.shape[1]
    if truth.max() >= k:
        raise ValueError(f"y must hold labels 0..{k - 1}, the columns of scores; got {truth.max()}.")
    # The names are known only after all files of losses are imported.
    from setwise.losses import as_loss

    form = class_loss(as_loss(loss), k)
    weights = np.ones(len(truth)) if sample_weight is None else as_row_weights(sample_weight, len(truth))
    # The losses are shares, so that only ratios of weights count.
    weights = weights / max(float(weights.max()), 1e-300)
    as_count(n_starts, "n_starts", low=1, high=3)
    as_count(n_resamples, "n_resamples", low=0)
    rng, problem = np.random.default_rng(as_random_state(random_state)), _Rows(table, truth, form, weights)
    starts = problem.starts(n_starts)
    if len(truth) > 2 * FIRST_ROWS:
        some = rng.choice(len(truth), FIRST_ROWS, replace=False)
        few = _Rows(table[some], truth[some], form, weights[some])
        starts = [few.ascend(start).offsets for start in starts]
    found = min((problem.ascend(start) for start in starts), key=lambda one: one.loss)
    if not n_resamples:
        return found
    sums = np.zeros(k)
    for _ in range(n_resamples):
        drawn = np.bincount(rng.integers(len(truth), size=len(truth)), minlength=len(truth))
        sums += _Rows(table, truth, form, weights * drawn).ascend(found.offsets).offsets
    mean = sums / n_resamples
    return ClassOffsets(mean, problem.loss(mean))


@final
class _Rows:
    """The rows that offsets are tuned on."""

    def __init__(self, scores: Values, truth: Ints, form: ConfusionLoss, weights: Values) -> None:
        self.scores, self.truth, self.form, self.weights = scores, truth, form, weights
        self.k = scores.shape[1]
        self.true = np.bincount(truth, weights, minlength=self.k).astype(np.float64)
        self.fractions = form.fractions(self.true)

    def loss(self, offsets: Values) -> float:
        """The loss of the largest scores plus these offsets."""
        predicted = (self.scores + offsets).argmax(axis=1)
        return float(self.form.of_confusion(confusion_of(self.truth, predicted, self.k, self.weights)))

    def starts(self, n: int) -> list[Values]:
        """Where coordinate ascent begins."""
        rarer = -np.log(np.maximum(self.true, 1.0) / max(self.true.sum(), 1.0))
        rarer -= rarer.mean()
        return [np.zeros(self.k), rarer, 0.5 * rarer][:n]

    def ascend(self, start: Values) -> ClassOffsets:
        """Move one offset after the other to its best value, until none moves."""
        offsets, best = start.copy(), self.loss(start)
        margins, cells = np.empty(len(self.truth)), np.empty(len(self.truth), np.int64)
        since = 0
        for step in range(ROUNDS * self.k):
            c = step % self.k
            best_others(self.scores, offsets, c, self.truth, margins, cells)
            value, cut, rising = self._best_cut(margins, cells, c)
            since += 1
            if value < best - 1e-9:
                best, since = value, 0
                offsets[c] = _between(rising, cut)
            if since >= self.k:
                break
        offsets -= offsets.mean()
        return ClassOffsets(offsets, self.loss(offsets))

    def _best_cut(self, margins: Values, cells: Ints, c: int) -> tuple[float, int, Values]:
        """The least loss, how many rows of the least margins are then predicted c, and the margins in rising order."""
        order = np.argsort(margins)
        rising = margins[order]
        apart = np.concatenate(([True], np.diff(rising) > 0, [True]))
        return *best_cut(rising, self.losses_along(cells[order], self.weights[order], c, apart)), rising

    def losses_along(self, cells: Ints, weights: Values, c: int, cuts: Bools) -> Values:
        """The losses once the first 0..m rows are predicted c, (m+1,); inf where the loss is tried at some cuts only.

        ``cells`` are those of :func:`best_others`, and ``cuts`` (m+1,) the numbers of rows that count.
        """
        at = confusion_at(cells, self.k, weights)
        if self.fractions is not None:
            tops, bottoms = self.fractions.of(at)
            parts = (self.fractions.zeros, self.fractions.steps, self.fractions.by_class)
            return quotient_losses(cells, weights, c, tops, bottoms, *parts)
        if isinstance(self.form, Uncorrelated):
            return correlation_losses(cells, weights, c, at)
        losses, able = np.full(len(cuts), np.inf), np.flatnonzero(cuts)
        tried = np.unique(able[np.linspace(0, len(able) - 1, CUTS).astype(int)])
        tables = []
        for cut in tried:
            moved = confusion_at(cells[:cut], self.k, weights[:cut])
            table = at - moved
            table[:, c] += moved.sum(axis=1)
            tables.append(table)
        losses[tried] = self.form.of_confusion(np.array(tables))
        return losses


def _between(margins: Values, cut: int) -> float:
    """An offset for which so many rows, in the order of rising margins, go over: half way between two margins."""
    if cut == 0:
        return float(margins[0] - 1.0)
    if cut == len(margins):
        return float(margins[-1] + 1.0)
    return float(0.5 * (margins[cut - 1] + margins[cut]))


def floored_offset(
    offsets: Values,
    truth: Ints,
    scores: Values,
    form: ConfusionLoss,
    c: int,
    floors: tuple[Floor, ...],
    weights: Values | None = None,
    nearest: bool = False,
) -> tuple[ClassOffsets, float]:
    """Offsets of which that of class c is the best one with which floors of this class hold; the others stay.

    A row is predicted c where its lead, ``scores[i, c] - max_{j != c} (scores[i, j] + offsets[j])``, is above minus the
    offset of c. So the floors are those of two classes, c and the rest, for a threshold of the leads. Infinite offsets
    predict c for all rows, or for none.

    Parameters
    ----------
    offsets : (k,)
    truth : (n,) labels 0..k-1
    scores : (n, k)
    form : the loss. Those that :func:`class_offsets` tries at 64 cuts are tried at 64 that keep the floors
    c : the class
    floors : what the decisions for class c must keep
    weights : (n,) the weight of each row; None counts all alike
    nearest : whether the offset is the best one of those that come nearest to the floors

    Returns
    -------
    offsets, short : the offsets with their loss, and what ``nearest`` leaves them short of the floors

    Raises
    ------
    UnmetFloor : where no offset keeps the floors; it names the best reachable value
    """
    w = np.ones(len(truth)) if weights is None else weights / max(float(weights.max()), 1e-300)
    rows, margins, cells = _Rows(scores, truth, form, w), np.empty(len(truth)), np.empty(len(truth), np.int64)
    best_others(scores, offsets, c, truth, margins, cells)
    asked = as_requests(floors) if nearest else together(as_requests(floors))
    cuts = CutCounts.of_scores(Sets.single(truth == c), -_merged(margins), asked, weights)
    able, short = cuts.nearest(asked) if nearest else (cuts.meeting(asked), 0.0)
    items = cuts.order.items
    losses = rows.losses_along(cells[items], w[items], c, able)
    found = np.where(np.arange(len(offsets)) == c, -cuts.best(losses, able, asked).threshold, offsets)
    return ClassOffsets(found, rows.loss(found)), max(short, SLACK) if nearest else 0.0


def _merged(margins: Values) -> Values:
    """Margins of which those that differ by rounding only are equal."""
    order = np.argsort(margins)
    rising = margins[order]
    first = np.append(True, np.diff(rising) > EQUAL * np.maximum(1.0, np.abs(rising[:-1])))
    merged = np.empty(len(margins))
    merged[order] = rising[first][np.cumsum(first) - 1]
    return merged
