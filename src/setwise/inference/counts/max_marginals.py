"""Max-marginals of a count loss over independent decisions, all at once: the messages of a loss factor (HOL Eq. 4)."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.checks import as_scores
from setwise.core.inference import Problem
from setwise.core.loss import Loss, Values
from setwise.core.ranking import RankLoss
from setwise.core.refusal import Refusal
from setwise.core.sets import Ints, Sets
from setwise.core.traits import Trait
from setwise.inference.counts.objective import Objective
from setwise.inference.counts.ranked_margins import RankedMargins
from setwise.inference.counts.structure import doubt, monge_tables, predicted_of, quotient_of
from setwise.inference.counts.tables import Rows, falling_rows, scan_rows
from setwise.kernels.marginals import quotient_marginals, table_marginals
from setwise.kernels.segments import segment_sums

BUDGET = 1 << 27


@final
@dataclass(frozen=True, eq=False)
class Heights:
    """For each set and number of mistakes of one class the best loss less margins of the other; flat, with sizes."""

    values: Values
    counts: Ints


def max_marginals(loss: Loss, y: ArrayLike, scores: ArrayLike) -> Values:
    """``M[i, v] = max over yhat with yhat_i = v of loss(y, yhat) + <scores, yhat>`` for all decisions, (p, 2); exact.

    HOL's message from the loss to decision i (Eq. 4) leaves out the decision's own score: ``M[i, v] - scores[i] v``.

    After the sort O(p) for Jaccard, Tversky with beta >= 1, modular losses and those of the number of mistakes; O(p log
    p) for Monge losses and F_beta with beta >= 1, a logarithm more for other F_beta. Other losses cost O(P N) and are
    refused beyond 134 million cells. Where the loss is defined for a given number of predicted positives and no such
    labeling has ``yhat_i = v``, the entry is -inf.

    Parameters
    ----------
    loss : any loss with ``Trait.COUNTS``
    y : (p,) in 0/1
    scores : (p,) finite, float32 or float64
    """
    if isinstance(loss, RankLoss):
        raise Refusal(f"max_marginals refuses {loss!r}: it judges a ranking, not a set of mistakes.")
    sets = Sets.single(y)
    loss.check(sets)
    return batch_max_marginals(loss, sets, as_scores(scores, sets.total))


def batch_max_marginals(loss: Loss, sets: Sets, scores: NDArray[Any]) -> Values:
    """The same for a ragged batch, (total, 2)."""
    if Trait.COUNTS not in loss.traits:
        raise Refusal(
            f"max_marginals refuses {loss!r}: it is not a function of (fn, fp, P, N). "
            "Use setwise.core.enumerate.max_marginals for small sets."
        )
    if Trait.CARDINALITY in loss.traits:
        return _one_class(loss, sets, scores)
    bare = Problem(loss, sets, scores).bare()
    if bare.loss is not loss:
        constant = segment_sums(np.where(sets.labels, loss.costs(sets), 0.0), sets.offsets)
        return batch_max_marginals(bare.loss, sets, bare.scores) + constant[sets.owners, None]
    quotient, predicted = quotient_of(loss, sets), predicted_of(loss, sets)
    if predicted is not None:
        objective = Objective(loss, RankedMargins.of(sets, scores))
        ahead = predicted.astype(np.int64) - sets.positives
        heights = [_tied_heights(objective, ahead, side) for side in (0, 1)]
    else:
        objective = Objective(loss, RankedMargins.of(sets, scores, *doubt(loss, sets, quotient)))
        if quotient is not None:
            parts = objective.order.parts
            return quotient_marginals(
                parts, scores, sets.labels, sets.offsets, objective.order.base + objective.order.truth, quotient
            )
        heights = [_free_heights(objective, side) for side in (0, 1)]
    return _marginals(objective.order, objective.order.truth, *heights)


def _marginals(order: RankedMargins, truth: Values, first: Heights, second: Heights) -> Values:
    """Max-marginals from the heights of both classes."""
    counts = np.stack([first.counts, second.counts], axis=1)
    heights = np.empty(counts.sum())
    owner = np.repeat(np.tile([True, False], len(counts)), counts.ravel())
    heights[owner], heights[~owner] = first.values, second.values
    edges = np.concatenate(([0], np.cumsum(counts)))
    sets = order.sets
    return table_marginals(order.parts, order.scores, sets.labels, sets.offsets, order.base + truth, heights, edges)


def _one_class(loss: Loss, sets: Sets, scores: NDArray[Any]) -> Values:
    """A loss of the number of mistakes: all decisions form one class, as if positive, and the loss is its heights."""
    merged = Sets(np.ones(sets.total, dtype=bool), sets.offsets)
    order = RankedMargins.of(merged, np.where(sets.labels, scores, -scores), *doubt(loss, sets, None))
    truth = segment_sums(np.where(sets.labels, scores, 0.0), sets.offsets)
    first, counts = _reach(order, 0)
    i, r = _flat(counts)
    k, P = order.low[2 * i] + first[i] + r, sets.positives[i]
    fn = np.minimum(k, P)
    heights = loss.of_counts(*(v.astype(np.float64) for v in (fn, k - fn, P, sets.negatives[i])))
    out = _marginals(order, truth, Heights(heights, counts), Heights(np.empty(0), np.zeros_like(counts)))
    return np.where(sets.labels[:, None], out, out[:, ::-1])


def _tied_heights(objective: Objective, ahead: Ints, side: int) -> Heights:
    """Heights of a loss on labelings with ``fp - fn = ahead``; -inf where there are none."""
    order = objective.order
    i, x = _flat(order.ranked[side::2] + 1)
    other = x - ahead[i] if side else x + ahead[i]
    inside = (other >= 0) & (other <= order.ranked[1 - side :: 2][i])
    i, x, other = i[inside], x[inside], other[inside]
    values = np.full(len(inside), -np.inf)
    fn, fp = (other, x) if side else (x, other)
    values[inside] = objective.loss_at(i, fn, fp) - order.paid(2 * i + 1 - side, other)
    return Heights(values, order.ranked[side::2] + 1)


def _free_heights(objective: Objective, side: int) -> Heights:
    """Heights by divide and conquer for Monge losses, else by a look at every cell."""
    order, sets = objective.order, objective.order.sets
    first, counts = _reach(order, side)
    widths = order.ranked[1 - side :: 2] + 1

    def value(i: Ints, r: Ints, c: Ints) -> Values:
        x = first[i] + r
        loss = objective.loss_at(i, c, x) if side else objective.loss_at(i, x, c)
        return loss - order.paid(2 * i + 1 - side, c)

    rows, edges = Rows(value, counts, widths), np.concatenate(([0], np.cumsum(counts)))
    out = np.empty(edges[-1])
    monge = monge_tables(objective.loss, sets, counts * widths)
    cells = np.where(monge, 0, counts * widths)
    if cells.max() > BUDGET:
        i = int(np.argmax(cells))
        raise Refusal(
            f"max_marginals refuses {objective.loss!r} on {sets.positives[i]} positives and {sets.negatives[i]} "
            f"negatives: it is not Monge there, and {cells[i]} cells are more than {BUDGET}. Use Jaccard or FBeta."
        )
    for chosen, search in ((monge, falling_rows), (~monge, scan_rows)):
        tables = np.flatnonzero(chosen)
        if len(tables):
            out[np.repeat(chosen, counts)] = search(rows.take(tables))[0]
    return Heights(out, counts)


def _reach(order: RankedMargins, side: int) -> tuple[Ints, Ints]:
    """First number of ranked mistakes, 0 or -1, that forcing one decision may ask for, and how many there are."""
    low, ranked = order.low[side::2], order.ranked[side::2]
    size = order.sets.negatives if side else order.sets.positives
    shift = np.minimum(low, 1)
    return -shift, shift + np.minimum(ranked + 1, size - low) + 1


def _flat(counts: Ints) -> tuple[Ints, Ints]:
    """Set and place inside it of every entry, flat."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
