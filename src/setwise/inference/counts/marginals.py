"""All max-marginals of a count loss over independent decisions; less their own scores, they are those of HOL Eq. 4."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Floats, Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.pages import FORCED_LABELS
from setwise.core.terms import Trait
from setwise.inference.counts.bound import SMALL_TABLE, BoundCounts
from setwise.inference.counts.objective import Objective
from setwise.inference.counts.ranked_margins import RankedMargins
from setwise.inference.counts.table_search import Rows, falling_rows, scan_rows
from setwise.kernels.marginals import quotient_marginals, table_marginals

BUDGET = 1 << 27
"""The most cells that the table of one set may have where it is not Monge."""


@final
@dataclass(frozen=True, eq=False)
class RowMaxima:
    """The best loss less margins of the other class, for each set and each number of mistakes of one class.

    ``values`` is flat, and ``counts`` (n,) says how many of them belong to each set.
    """

    values: Values
    counts: Ints


def count_marginals(bound: BoundCounts, scores: Floats, base: Values | float, name: str) -> Values:
    """Returns ``M[i, v] = base + max over y with y_i = v of f(fn, fp, P, N) + <s, y - truth>``, (total, 2); exact.

    After the sort O(p) for Jaccard, Tversky with beta >= 1 and losses of the number of mistakes; O(p log p) for Monge
    losses and F_beta with beta >= 1, a logarithm more for other F_beta. Other losses cost O(P N) and are refused beyond
    134 million cells. Where the number of predicted positives is given and no such labeling has ``y_i = v``, the entry
    is -inf. ``base`` (n,) is added to all entries of a set, and ``name`` names the loss in a refusal.
    """
    counts, sets = bound.counts, bound.sets
    if Trait.CARDINALITY in counts.traits:
        return _one_class(bound, scores, base)
    objective = Objective(counts, bound.rank(scores))
    order = objective.order
    if counts.predicted is not None:
        excess = counts.predicted.astype(np.int64) - sets.positives
        maxima = [_on_diagonal(objective, excess, side) for side in (0, 1)]
    elif bound.quotient is not None:
        return quotient_marginals(order.parts, scores, sets.truth, sets.offsets, order.base + base, bound.quotient)
    else:
        maxima = [_of_tables(objective, bound, side, name) for side in (0, 1)]
    return _marginals(order, base, *maxima)


def _marginals(order: RankedMargins, base: Values | float, first: RowMaxima, second: RowMaxima) -> Values:
    """Returns the max-marginals from the row maxima of both classes."""
    # The kernel takes the segments of positives and negatives in turn, so the row maxima are interleaved.
    counts = np.stack([first.counts, second.counts], axis=1)
    flat_maxima = np.empty(counts.sum())
    is_first = np.repeat(np.tile([True, False], len(counts)), counts.ravel())
    flat_maxima[is_first], flat_maxima[~is_first] = first.values, second.values
    edges = np.concatenate(([0], np.cumsum(counts)))
    sets = order.sets
    return table_marginals(order.parts, order.scores, sets.truth, sets.offsets, order.base + base, flat_maxima, edges)


def _one_class(bound: BoundCounts, scores: Floats, base: Values | float) -> Values:
    """Returns the max-marginals of a loss of the number of mistakes: all decisions form one class, as if positive."""
    sets = bound.sets
    merged = Sets(np.ones(sets.total, dtype=bool), sets.offsets)
    order = RankedMargins.of(merged, np.where(sets.truth, scores, -scores), bound.floor, bound.caps)
    first, counts = _forced_range(order, 0)
    at, place = _flat(counts)
    # There is no other class, so the row maxima are the loss itself.
    mistakes, P = order.low[2 * at] + first[at] + place, sets.positives[at]
    fn = np.minimum(mistakes, P)
    values = bound.counts.of(fn.astype(np.float64), (mistakes - fn).astype(np.float64), at)
    out = _marginals(order, base, RowMaxima(values, counts), RowMaxima(np.empty(0), np.zeros_like(counts)))
    # A negative was turned into a positive, so its two entries change places.
    return np.where(sets.truth[:, None], out, out[:, ::-1])


def _on_diagonal(objective: Objective, excess: Ints, side: int) -> RowMaxima:
    """Returns the row maxima of a loss on labelings with ``fp - fn = excess``; -inf where there are none."""
    order = objective.order
    # One cell of each row lies on the diagonal, if it lies inside the table.
    i, x = _flat(order.ranked[side::2] + 1)
    other = x - excess[i] if side else x + excess[i]
    inside = (other >= 0) & (other <= order.ranked[1 - side :: 2][i])
    i, x, other = i[inside], x[inside], other[inside]
    values = np.full(len(inside), -np.inf)
    fn, fp = (other, x) if side else (x, other)
    values[inside] = objective.loss_at(i, fn, fp) - order.score_lost(2 * i + 1 - side, other)
    return RowMaxima(values, order.ranked[side::2] + 1)


def _of_tables(objective: Objective, bound: BoundCounts, side: int, name: str) -> RowMaxima:
    """Returns the row maxima by divide and conquer for Monge losses, and by a scan of all cells for others."""
    order, sets = objective.order, bound.sets
    first, counts = _forced_range(order, side)
    widths = order.ranked[1 - side :: 2] + 1

    def value(i: Ints, r: Ints, c: Ints) -> Values:
        x = first[i] + r
        loss = objective.loss_at(i, c, x) if side else objective.loss_at(i, x, c)
        return loss - order.score_lost(2 * i + 1 - side, c)

    rows, edges = Rows(value, counts, widths), np.concatenate(([0], np.cumsum(counts)))
    out = np.empty(edges[-1])
    monge = bound.monge & (counts * widths > SMALL_TABLE)
    cells = np.where(monge, 0, counts * widths)
    if cells.max() > BUDGET:
        i = int(np.argmax(cells))
        raise Refusal(
            f"max_marginals refuses {name} on {sets.positives[i]} positives and {sets.negatives[i]} negatives: it is "
            f"not Monge there, and {cells[i]} cells are more than {BUDGET}. Use Jaccard or FBeta.",
            FORCED_LABELS,
        )
    for chosen, search in ((monge, falling_rows), (~monge, scan_rows)):
        tables = np.flatnonzero(chosen)
        if len(tables):
            out[np.repeat(chosen, counts)] = search(rows.take(tables))[0]
    return RowMaxima(out, counts)


def _forced_range(order: RankedMargins, side: int) -> tuple[Ints, Ints]:
    """Returns the first number of ranked mistakes, 0 or -1, that a forced decision may lead to, and how many there are.

    It is -1 where a decision that is always wrong may be forced right.
    """
    low, ranked = order.low[side::2], order.ranked[side::2]
    size = order.sets.negatives if side else order.sets.positives
    shift = np.minimum(low, 1)
    return -shift, shift + np.minimum(ranked + 1, size - low) + 1


def _flat(counts: Ints) -> tuple[Ints, Ints]:
    """Returns the set of every entry, and its place inside the set, for sets with ``counts`` entries each."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
