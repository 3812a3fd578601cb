"""Loss and score together as a function of how many ranked decisions of each class are wrong.

The decisions of a batch are in the order in which they become mistakes. The maxima of such functions over tables are
found by a scan, by divide and conquer, or by bound and prune; what needs no scores is prepared once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.batch import Sets
from setwise.core.checks import Bools, Floats, Ints, Values
from setwise.core.counts import Counts
from setwise.core.terms import Trait
from setwise.kernels.counts import gain_caps
from setwise.kernels.rankings import mark_mistakes, prefix_sums, rank_margins
from setwise.kernels.segments import count_true, segment_argmax


@final
class RankedMargins:
    """The margins of each class of each set, sorted upwards: the best c mistakes of a class are its c smallest margins.

    Segment 2 i holds the positives of set i and segment 2 i + 1 its negatives. Decisions with a margin at or under
    ``floor`` are always wrong, ``low`` (2n,) of them, and win ``base`` (n,) in score; those at or over their cap are
    never wrong. The rest are ranked. ``sums`` (m + 2n,) are prefix sums of the ranked margins; those of segment k begin
    at ``starts[k] + k``. The sort costs O(p log p).
    """

    def __init__(self, sets: Sets, scores: Floats, floor: float, caps: Values) -> None:
        self.sets, self.scores, self.floor = sets, scores, floor
        found = rank_margins(scores, sets.truth, sets.offsets, floor, caps)
        self.keys, self.margins, self.starts, self.low, self.base = found
        self.sums: Values = prefix_sums(self.margins, self.starts)

    @cached_property
    def ranked(self) -> Ints:
        """The number of ranked decisions of each segment, (2n,)."""
        return np.diff(self.starts)

    @cached_property
    def gainful(self) -> Ints:
        """The number of ranked decisions of each segment whose mistake wins score, (2n,): those of negative margin."""
        return np.asarray(count_true(self.margins < 0, self.starts))

    @property
    def parts(self) -> tuple[Any, ...]:
        """The arrays as kernels take them."""
        return self.keys, self.margins, self.sums, self.starts, self.low, self.floor

    def score_lost(self, segment: Ints, count: Ints) -> Values:
        """Returns the sum of the ``count`` smallest ranked margins of segments; vectorized."""
        return np.asarray(self.sums[self.starts[segment] + segment + count])

    def mistakes(self, x: Ints, y: Ints) -> Bools:
        """Returns the best mistakes with x (n,) ranked positives and y (n,) ranked negatives wrong, (total,)."""
        counts = np.stack([x, y], axis=1).ravel()
        sets = self.sets
        return np.asarray(
            mark_mistakes(self.scores, sets.truth, sets.offsets, self.floor, self.keys, self.starts, counts)
        )


SMALL_TABLE = 512
"""Tables of up to this number of cells are scanned, Monge or not."""

CHECKED_TABLE = 1 << 22
"""A table with more cells than this counts as Monge only where the loss promises it."""


@final
@dataclass(frozen=True, eq=False)
class BoundCounts:
    """A function of counts bound to its sets, with the range of the margins that have to be ranked.

    For an increasing loss some best labeling makes a mistake of every decision with a margin <= ``floor``, for it costs
    no score, and of none with a margin at or above its cap, for no gain can pay for it. Only the others are ranked.

    Parameters
    ----------
    sets, counts : the sets and the function
    floor : margins up to this one are not ranked; -inf where all are
    caps : (2n,) the least margins that are not ranked, for the positives and the negatives of each set; inf where all
        are
    quotient : coefficients (n, 3) of numerator and denominator and the value (n,) without mistakes; None where the
        function is no quotient of linear functions
    monge : (n,) whether the best number of false positives never rises with that of false negatives
    """

    sets: Sets
    counts: Counts
    floor: float
    caps: Values
    quotient: tuple[Values, Values, Values] | None
    monge: Bools

    @classmethod
    def of(cls, sets: Sets, counts: Counts, slack: bool) -> "BoundCounts":
        """Binds a function, with what it promises or what its tables show where they are small enough."""
        quotient = None
        if counts.quotient is not None and not slack:
            quotient = (*counts.quotient, counts.origin)
        floor, caps = _range(counts, quotient, slack)
        # Only a search over tables asks for the Monge property, and to check it takes time.
        searched = quotient is None and counts.predicted is None and not slack
        monge = monge_sets(counts) if searched else np.zeros(len(sets), dtype=bool)
        return cls(sets, counts, floor, caps, quotient, monge)

    def take(self, sets: Sets, counts: Counts, parts: Ints) -> "BoundCounts":
        """Returns the same for the chosen ``parts``, whose ``sets`` and ``counts`` were taken already."""
        quotient = None if self.quotient is None else tuple(part[parts] for part in self.quotient)
        caps = self.caps.reshape(-1, 2)[parts].ravel()
        return BoundCounts(sets, counts, self.floor, caps, quotient, self.monge[parts])  # type: ignore[arg-type]

    def rank(self, scores: Floats) -> RankedMargins:
        """Ranks the margins of these scores that lie between floor and caps."""
        return RankedMargins(self.sets, scores, self.floor, self.caps)


def _range(counts: Counts, quotient: tuple[Values, Values, Values] | None, slack: bool) -> tuple[float, Values]:
    """Returns the floor and the caps (2n,) of the margins that are ranked."""
    no_caps = np.full(2 * len(counts.P), np.inf)
    if Trait.INCREASING not in counts.traits or counts.predicted is not None:
        return -np.inf, no_caps
    # Under slack rescaling the loss multiplies the score, so a margin above every gain may still be paid.
    if slack:
        return 0.0, no_caps
    # No mistake of an increasing loss gains more than the whole loss.
    most = np.repeat(counts.of(counts.P, counts.N) - counts.origin, 2)
    return 0.0, most if quotient is None else np.minimum(most, gain_caps(*quotient[:2], counts.P, counts.N))


def monge_sets(counts: Counts) -> Bools:
    """Returns which sets have Monge tables, (n,): ``f(fn+1, fp+1) - f(fn+1, fp) - f(fn, fp+1) + f(fn, fp) <= 0``.

    What the function promises is taken as true. Where it promises nothing, all mixed differences are computed, once for
    each pair of sizes, in tables of up to 4 million cells. Small tables count as not Monge, for they are scanned
    anyway; so do larger ones, which would take long to check.
    """
    if counts.monge is not None:
        return np.full(len(counts.P), counts.monge)
    cells = (counts.P + 1) * (counts.N + 1)
    out = np.zeros(len(cells), dtype=bool)
    checked = np.flatnonzero((cells > SMALL_TABLE) & (cells <= CHECKED_TABLE))
    # Sets of equal size have equal tables, so one table of each size is checked.
    sizes = np.stack([counts.P, counts.N])[:, checked]
    _, first, which = np.unique(sizes, axis=1, return_index=True, return_inverse=True)
    out[checked] = np.array([_is_monge(counts, int(checked[i])) for i in first], dtype=bool)[which.ravel()]
    return out


def _is_monge(counts: Counts, i: int) -> bool:
    """Returns whether no mixed difference of the table of set i is positive, up to rounding."""
    fn, fp = np.arange(counts.P[i] + 1.0)[:, None], np.arange(counts.N[i] + 1.0)
    table = np.broadcast_to(counts.of(fn, fp, i), (fn.size, fp.size))
    with np.errstate(invalid="ignore"):
        mixed = np.diff(np.diff(table, axis=0), axis=1)
        return bool((mixed <= 8 * np.finfo(float).eps * np.abs(table).max()).all())


@final
@dataclass(frozen=True, eq=False)
class CountObjective:
    """``f + won`` where x ranked positives and y ranked negatives of set i are wrong; with ``slack``, ``f (1 + won)``.

    ``won`` is the score that the mistakes win. Without ``slack`` it leaves out ``order.base``, the share of the
    decisions that are always wrong: where that is huge, the loss would be lost in its rounding.
    """

    counts: Counts
    order: RankedMargins
    slack: bool = False

    def loss_at(self, i: Ints, x: Ints, y: Ints) -> Values:
        """Returns ``f(fn, fp, P, N)``, where x and y do not count the decisions that are always wrong."""
        low = self.order.low
        return self.counts.of((low[2 * i] + x).astype(np.float64), (low[2 * i + 1] + y).astype(np.float64), i)

    def __call__(self, i: Ints, x: Ints, y: Ints) -> Values:
        """Returns the objective at cells (x, y) of sets i; vectorized."""
        won, loss = self._won(i, x, y), self.loss_at(i, x, y)
        if not self.slack:
            return loss + won
        # A loss of -inf forbids a labeling, and times a negative factor it would become +inf.
        return np.where(loss > -np.inf, loss * (1.0 + won), -np.inf)

    def above(self, i: Ints, rows: Ints, columns: Ints) -> Values:
        """Returns upper bounds on boxes of cells, for a bounded function of counts.

        ``rows`` and ``columns`` (m, 2) hold the first and the last row and column of each box. The loss and the score
        are bounded apart. Most score is won where all mistakes that win some are made, and no others.
        """
        x = np.clip(self.order.gainful[2 * i], rows[:, 0], rows[:, 1])
        y = np.clip(self.order.gainful[2 * i + 1], columns[:, 0], columns[:, 1])
        low = self.order.low
        fn, fp = low[2 * i] + rows.T.astype(np.float64), low[2 * i + 1] + columns.T.astype(np.float64)
        won, most = self._won(i, x, y), self.counts.above((fn[0], fn[1]), (fp[0], fp[1]), i)
        return most * np.maximum(1.0 + won, 0.0) if self.slack else most + won

    def _won(self, i: Ints, x: Ints, y: Ints) -> Values:
        # Under slack rescaling the base is part of the factor, and can not be added later.
        lost = self.order.score_lost(2 * i, x) + self.order.score_lost(2 * i + 1, y)
        return self.order.base[i] - lost if self.slack else -lost


Value = Callable[[Ints, Ints, Ints], Values]

CHUNK = 1 << 20
"""The most cells that are computed in one call of a vectorized function."""

LEAF = 256
"""Boxes of up to this number of cells are computed whole."""


@final
@dataclass(frozen=True, eq=False)
class TableRows:
    """All rows of a batch of tables; table i has ``heights[i] >= 1`` rows of ``widths[i] >= 1`` cells.

    ``value(table, row, column)`` is vectorized over integer arrays.
    """

    value: Value
    heights: Ints
    widths: Ints

    @property
    def edges(self) -> Ints:
        """The places at which the rows of each table begin in flat results, (n+1,)."""
        return np.concatenate(([0], np.cumsum(self.heights)))

    def take(self, tables: Ints) -> "TableRows":
        """Returns the rows of some of the tables."""
        return TableRows(lambda t, r, c: self.value(tables[t], r, c), self.heights[tables], self.widths[tables])


def flat_places(counts: Ints) -> tuple[Ints, Ints]:
    """Returns the set of every entry, and its place inside the set, for sets with ``counts`` entries each."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)


def scan_rows(rows: TableRows) -> tuple[Values, Ints]:
    """Returns the maximum of every row and its first column, flat; computes all cells, about a million at a time."""
    table, row = flat_places(rows.heights)
    cells = np.concatenate(([0], np.cumsum(rows.widths[table])))
    best, where = np.empty(len(table)), np.empty(len(table), dtype=np.int64)
    start = 0
    while start < len(table):
        # As many whole rows as fit into a chunk, and at least one.
        stop = max(start + 1, int(np.searchsorted(cells, cells[start] + CHUNK, side="right")) - 1)
        first = np.zeros(stop - start, dtype=np.int64)
        last = rows.widths[table[start:stop]] - 1
        best[start:stop], where[start:stop] = _best_columns(rows.value, table[start:stop], row[start:stop], first, last)
        start = stop
    return best, where


def falling_rows(rows: TableRows) -> tuple[Values, Ints]:
    """Returns the same for Monge tables, whose best column never rises with the row; O((rows + columns) log rows).

    Rows are visited in the order of a binary tree, all tables and all rows of a level at once: the best column of a row
    lies between those of its two neighbors that were visited before.
    """
    edges = rows.edges
    best, where = np.empty(edges[-1]), np.empty(edges[-1], dtype=np.int64)
    stride = 1 << (int(rows.heights.max()).bit_length() - 1)
    while stride:
        # This level visits the rows stride - 1, 3 stride - 1, 5 stride - 1, ... of each table.
        found = np.maximum((rows.heights + stride) // (2 * stride), 0)
        table, rank = flat_places(found)
        row = stride - 1 + 2 * stride * rank
        flat = edges[table] + row
        # The neighbors are a stride away; beyond the first and the last row all columns are possible.
        above = np.where(row >= stride, where[np.maximum(flat - stride, 0)], rows.widths[table] - 1)
        inside = row + stride < rows.heights[table]
        below = np.where(inside, where[np.where(inside, flat + stride, 0)], 0)
        best[flat], where[flat] = _best_columns(rows.value, table, row, below, above)
        stride //= 2
    return best, where


def _best_columns(value: Value, table: Ints, row: Ints, first: Ints, last: Ints) -> tuple[Values, Ints]:
    """Returns the maximum over the columns ``first..last`` of each row, and its column."""
    sizes = last - first + 1
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    column = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], sizes)
    values = value(np.repeat(table, sizes), np.repeat(row, sizes), column)
    at = segment_argmax(values, offsets)
    return values[at], column[at]


def prune_table(
    value: Value, above: Value, table: int, height: int, width: int, budget: int, tol: float
) -> tuple[int, int, float]:
    """Finds the best cell of one table by bound and prune: boxes are split until none has a bound above the best value.

    ``value(table, row, column)`` is the function; ``above(table, rows, columns)`` bounds it on boxes, given as arrays
    (m, 2) of first and last rows and columns. The search stops earlier after about ``budget`` cells and boxes, and
    where ``bound - value <= tol``. Returns the row and the column of the best cell seen, and the bound of every cell.
    """
    boxes = np.array([[0, height - 1, 0, width - 1]], dtype=np.int64)
    bounds, spent, most = np.array([np.inf]), 0, CHUNK // LEAF
    best, cell = -np.inf, (0, 0)
    while len(boxes):
        if spent > budget or (tol > 0.0 and float(bounds.max()) - best <= tol):
            return *cell, max(best, float(bounds.max()))
        # All boxes are split at once, or those of the largest bounds where there are many.
        picked = np.argpartition(-bounds, most)[:most] if len(bounds) > most else np.arange(len(bounds))
        rest = np.ones(len(bounds), dtype=bool)
        rest[picked] = False
        chosen = boxes[picked]
        small = (chosen[:, 1] - chosen[:, 0] + 1) * (chosen[:, 3] - chosen[:, 2] + 1) <= LEAF
        children = _quarters(chosen[~small])
        rows, columns = _cells(chosen[small])
        # The middle cell of each new box is looked at too: a good value early prunes much.
        rows = np.concatenate((rows, (children[:, 0] + children[:, 1]) // 2))
        columns = np.concatenate((columns, (children[:, 2] + children[:, 3]) // 2))
        values = value(np.full(len(rows), table), rows, columns)
        spent += len(values) + len(children)
        at = int(np.argmax(values))
        if values[at] > best:
            best, cell = float(values[at]), (int(rows[at]), int(columns[at]))
        fresh = above(np.full(len(children), table), children[:, :2], children[:, 2:])
        boxes, bounds = np.concatenate((boxes[rest], children)), np.concatenate((bounds[rest], fresh))
        # Prune the boxes that can not hold a better cell.
        alive = bounds > best
        boxes, bounds = boxes[alive], bounds[alive]
    return *cell, best


def _quarters(boxes: Ints) -> Ints:
    """Returns each box cut in the middle of both sides, or of one side where the other is a single line."""
    r0, r1, c0, c1 = boxes.T
    r, c = (r0 + r1) // 2, (c0 + c1) // 2
    parts = [(r0, r, c0, c), (r0, r, c + 1, c1), (r + 1, r1, c0, c), (r + 1, r1, c + 1, c1)]
    cut = np.concatenate([np.stack(part, axis=1) for part in parts])
    # Where a box is a single line, two of its quarters are empty.
    return cut[(cut[:, 0] <= cut[:, 1]) & (cut[:, 2] <= cut[:, 3])]


def _cells(boxes: Ints) -> tuple[Ints, Ints]:
    """Returns the rows and the columns of all cells of all boxes, flat."""
    top, bottom, left, right = boxes.T
    widths = right - left + 1
    box, place = flat_places(widths * (bottom - top + 1))
    down, across = np.divmod(place, widths[box])
    return top[box] + down, left[box] + across
