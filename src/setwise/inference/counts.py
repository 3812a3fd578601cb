"""Exact maximization of losses that depend on counts, over independent decisions, and all max-marginals at once.

Less their own scores, max-marginals are those of HOL Eq. 4.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Floats, Ints, Values, as_count, as_scores
from setwise.core.counts import Counts
from setwise.core.exceptions import Refusal
from setwise.core.inference import Inference, Maximizer, Solutions, Takes, as_base_values
from setwise.core.pages import FORCED_LABELS
from setwise.core.terms import Trait
from setwise.inference.count_objective import (
    SMALL_TABLE,
    BoundCounts,
    CountObjective,
    RankedMargins,
    TableRows,
    falling_rows,
    flat_places,
    monge_sets,
    prune_table,
    scan_rows,
)
from setwise.inference.independent_decisions import SETS, ReducedProblem
from setwise.kernels.counts import quotient_argmax
from setwise.kernels.marginals import quotient_marginals, table_marginals
from setwise.kernels.segments import segment_argmax

BUDGET = 1 << 27
"""The most cells that the table of one set may have where it is not Monge."""


RowMaxima = tuple[Values, Ints]
"""The best loss less margins of the other class, for each set and each number of mistakes of one class.

They are flat, (sum of counts,), with how many there are for each set, (n,).
"""


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
    objective = CountObjective(counts, bound.rank(scores))
    order = objective.order
    if counts.predicted is not None:
        excess = counts.predicted.astype(np.int64) - sets.positives
        maxima = [_maxima_on_diagonal(objective, excess, side) for side in (0, 1)]
    elif bound.quotient is not None:
        return quotient_marginals(order.parts, scores, sets.truth, sets.offsets, order.base + base, bound.quotient)
    else:
        maxima = [_of_tables(objective, bound, side, name) for side in (0, 1)]
    return _marginals(order, base, *maxima)


def _marginals(order: RankedMargins, base: Values | float, first: RowMaxima, second: RowMaxima) -> Values:
    """Returns the max-marginals from the row maxima of both classes."""
    # The kernel takes the segments of positives and negatives in turn, so the row maxima are interleaved.
    (firsts, rows), (seconds, columns) = first, second
    counts = np.stack([rows, columns], axis=1)
    flat_maxima = np.empty(counts.sum())
    is_first = np.repeat(np.tile([True, False], len(counts)), counts.ravel())
    flat_maxima[is_first], flat_maxima[~is_first] = firsts, seconds
    edges = np.concatenate(([0], np.cumsum(counts)))
    sets = order.sets
    return table_marginals(order.parts, order.scores, sets.truth, sets.offsets, order.base + base, flat_maxima, edges)


def _one_class(bound: BoundCounts, scores: Floats, base: Values | float) -> Values:
    """Returns the max-marginals of a loss of the number of mistakes: all decisions form one class, as if positive."""
    sets = bound.sets
    merged = Sets(np.ones(sets.total, dtype=bool), sets.offsets)
    order = RankedMargins(merged, np.where(sets.truth, scores, -scores), bound.floor, bound.caps)
    first, counts = _forced_range(order, 0)
    at, place = flat_places(counts)
    # There is no other class, so the row maxima are the loss itself.
    mistakes, P = order.low[2 * at] + first[at] + place, sets.positives[at]
    fn = np.minimum(mistakes, P)
    values = bound.counts.of(fn.astype(np.float64), (mistakes - fn).astype(np.float64), at)
    out = _marginals(order, base, (values, counts), (np.empty(0), np.zeros_like(counts)))
    # A negative was turned into a positive, so its two entries change places.
    return np.where(sets.truth[:, None], out, out[:, ::-1])


def _maxima_on_diagonal(objective: CountObjective, excess: Ints, side: int) -> RowMaxima:
    """Returns the row maxima of a loss on labelings with ``fp - fn = excess``; -inf where there are none."""
    order = objective.order
    # One cell of each row lies on the diagonal, if it lies inside the table.
    i, x = flat_places(order.ranked[side::2] + 1)
    other = x - excess[i] if side else x + excess[i]
    inside = (other >= 0) & (other <= order.ranked[1 - side :: 2][i])
    i, x, other = i[inside], x[inside], other[inside]
    values = np.full(len(inside), -np.inf)
    fn, fp = (other, x) if side else (x, other)
    values[inside] = objective.loss_at(i, fn, fp) - order.score_lost(2 * i + 1 - side, other)
    return values, order.ranked[side::2] + 1


def _of_tables(objective: CountObjective, bound: BoundCounts, side: int, name: str) -> RowMaxima:
    """Returns the row maxima by divide and conquer for Monge losses, and by a scan of all cells for others."""
    order, sets = objective.order, bound.sets
    first, counts = _forced_range(order, side)
    widths = order.ranked[1 - side :: 2] + 1

    def value(i: Ints, r: Ints, c: Ints) -> Values:
        x = first[i] + r
        loss = objective.loss_at(i, c, x) if side else objective.loss_at(i, x, c)
        return loss - order.score_lost(2 * i + 1 - side, c)

    rows, edges = TableRows(value, counts, widths), np.concatenate(([0], np.cumsum(counts)))
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
    return out, counts


def _forced_range(order: RankedMargins, side: int) -> tuple[Ints, Ints]:
    """Returns the first number of ranked mistakes, 0 or -1, that a forced decision may lead to, and how many there are.

    It is -1 where a decision that is always wrong may be forced right.
    """
    low, ranked = order.low[side::2], order.ranked[side::2]
    size = order.sets.negatives if side else order.sets.positives
    shift = np.minimum(low, 1)
    return -shift, shift + np.minimum(ranked + 1, size - low) + 1


SCANNED_TABLE = 1 << 16
"""Tables of up to this number of cells are scanned; larger ones are pruned where a bound on the loss is known."""


@final
@dataclass(frozen=True)
class CountSearch(Inference):
    """``max_A Delta(fn, fp) - m(A)``, or with slack ``max_A Delta(fn, fp) (1 - m(A))``, for losses of the counts.

    For given counts the best mistakes are those of least margin, so the maximum is one over the (P+1) x (N+1) table of
    ``Delta(fn, fp) + S0(fn) + S1(fp)``, both S concave (Joachims 2005, DD Algorithm 1). The search depends on the loss:

    - quotients of linear functions (Jaccard, F_beta, Tversky, error rate), margin rescaling: O(p) after the sort;
    - losses on labelings with a given number of predicted positives: one diagonal, O(p) after the sort;
    - Monge losses (G-mean, H-mean), margin rescaling: divide and conquer, O(p log p);
    - other increasing losses, slack rescaling, and losses with a ceiling: bound and prune over blocks of the table;
    - all other losses: a scan of the whole table, O(P N).

    Parameters
    ----------
    budget : the most cells that are computed for one set. Where pruning needs more, the best labeling so far is
        returned with its bound and ``exact`` False; a larger table that can not be pruned is refused

    Raises
    ------
    TypeError : for a ``budget`` that is no whole number
    ValueError : for a ``budget`` below 1
    Refusal : from :meth:`prepare`, for losses that are no function of (fn, fp, P, N), and for tables beyond the budget
        that no promise lets it prune

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import CountSearch
    >>> from setwise.losses import FBeta
    >>> bound_loss = FBeta(1.0).bind(Sets.single([1, 1, 0]))
    >>> found = CountSearch().prepare(bound_loss).maximize([2.0, 0.25, -1.0])
    >>> print(found.labels, found.values.round(4))  # one miss: 1/3 - 0.25
    [ True False False] [0.0833]
    """

    budget: int = 1 << 27

    name: ClassVar[str] = "count_search"
    about: ClassVar[str] = "a search over the counts of misses and false alarms"
    takes: ClassVar[Takes] = SETS

    def __post_init__(self) -> None:
        as_count(self.budget, "budget")

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        counts = (bound_loss if slack else bound_loss.split()[1]).counts
        if counts is None or counts.areas is not None:
            return (
                f"CountSearch refuses {bound_loss!r}: it is not a function of (fn, fp, P, N). "
                "Use Enumeration or GreedySearch."
            )
        # A bounded function can be pruned, and a given number of positives leaves one diagonal.
        if counts.bounded or counts.predicted is not None:
            return None
        cells = (counts.P + 1) * (counts.N + 1)
        i = int(np.argmax(cells))
        if cells[i] <= self.budget or (not slack and bool(monge_sets(counts)[i])):
            return None
        return (
            f"CountSearch refuses {bound_loss!r} on {counts.P[i]:.0f} positives and {counts.N[i]:.0f} negatives: it "
            f"promises nothing, and {cells[i]:.0f} cells are more than budget={self.budget}. Promise Trait.INCREASING "
            "if it holds, or use GreedySearch."
        )

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _CountSearch(self, bound_loss, slack)


@final
class _CountSearch(Maximizer):
    """Searches the tables of counts; ``chosen`` are the counts of a whole, and the sets that are taken of it."""

    method: CountSearch

    def __init__(
        self, method: CountSearch, bound_loss: BoundLoss, slack: bool, chosen: tuple[BoundCounts, Ints] | None = None
    ) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, slack
        self._reduced = ReducedProblem.of(bound_loss, slack)
        sets, counts = self._reduced.sets, self._reduced.rest.counts
        assert isinstance(counts, Counts)
        self._bound = chosen[0].take(sets, counts, chosen[1]) if chosen else BoundCounts.of(sets, counts, slack)

    def take(self, parts: Ints) -> "Maximizer":
        return _CountSearch(self.method, self.bound_loss.take(parts), self.slack, (self._bound, parts))

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        moved = self._reduced.scores(scores)
        objective = CountObjective(self._bound.counts, self._bound.rank(moved), self.slack)
        above = None
        if self._bound.counts.predicted is not None:
            x, y = _on_diagonal(objective, self._bound.counts.predicted.astype(np.int64))
        elif self._bound.quotient is not None:
            order = objective.order
            x, y = quotient_argmax(order.margins, order.sums, order.starts, order.low, *self._bound.quotient)
        else:
            x, y, above = self._search(objective, tol)
        # Only a pruned table has a bound of its own; the other searches are exact.
        values = objective(np.arange(len(x)), x, y)
        bounds = values if above is None else np.maximum(values, above)
        base = (0.0 if self.slack else objective.order.base) + self._reduced.target_shift(scores)
        labels = self._reduced.labels(objective.order.mistakes(x, y))
        return Solutions(labels, values + base, bounds + base, bounds <= values)

    def max_marginals(self, scores: ArrayLike, base: Values | float = 0.0) -> Values:
        if self.slack:
            return super().max_marginals(scores, base)
        s = as_scores(scores, self.bound_loss.batch.n_scores)
        base = as_base_values(base, len(self.bound_loss.batch)) + self._reduced.target_shift(s)
        return count_marginals(self._bound, self._reduced.scores(s), base, repr(self.bound_loss))

    def _search(self, objective: CountObjective, tol: Values) -> tuple[Ints, Ints, Values]:
        """Searches the table of each set by divide and conquer, by a scan, or by bound and prune.

        Returns rows and columns of the best cells, and upper bounds, which are -inf where the search was exact.
        """
        order = objective.order
        heights, widths = order.ranked[::2] + 1, order.ranked[1::2] + 1
        x, y, above = np.zeros_like(heights), np.zeros_like(heights), np.full(len(heights), -np.inf)
        cells = heights * widths
        monge = self._bound.monge & (cells > SMALL_TABLE)
        prune = ~monge & (cells > SCANNED_TABLE) & objective.counts.bounded
        for chosen, search in ((monge, falling_rows), (~monge & ~prune, scan_rows)):
            tables = np.flatnonzero(chosen)
            if len(tables):
                x[tables], y[tables] = _best_rows(TableRows(objective, heights, widths).take(tables), search)
        for i in np.flatnonzero(prune):
            size = (int(heights[i]), int(widths[i]))
            found = prune_table(objective, objective.above, int(i), *size, self.method.budget, float(tol[i]))
            x[i], y[i], above[i] = found
        return x, y, above


def _on_diagonal(objective: CountObjective, predicted: Ints) -> tuple[Ints, Ints]:
    """Returns the best cells on the diagonals with ``P - fn + fp = predicted``, for losses with a given number."""
    positives, negatives = objective.order.sets.positives, objective.order.sets.negatives
    excess = predicted - positives
    # The diagonal enters the table at row ``first``; its cells are the rows of a table of one column.
    first = np.maximum(0, -excess)
    heights = np.minimum(positives, negatives - excess) - first + 1
    rows = TableRows(
        lambda i, r, _: objective(i, first[i] + r, first[i] + r + excess[i]), heights, np.ones_like(heights)
    )
    x = first + _best_rows(rows, scan_rows)[0]
    return x, x + excess


def _best_rows(rows: TableRows, search: Callable[[TableRows], tuple[Values, Ints]]) -> tuple[Ints, Ints]:
    """Returns the row and the column of the best cell of each table."""
    best, where = search(rows)
    at = segment_argmax(best, rows.edges)
    return at - rows.edges[:-1], where[at]
