"""Exact maxima over tables of vectorized functions: by a scan, by divide and conquer, by bound and prune."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Ints
from setwise.kernels.segments import segment_argmax

Floats = NDArray[np.float64]
Value = Callable[[Ints, Ints, Ints], Floats]

CHUNK = 1 << 20
"""The most cells that are computed in one call of a vectorized function."""

LEAF = 256
"""Boxes of up to this number of cells are computed whole."""


@final
@dataclass(frozen=True, eq=False)
class Rows:
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

    def take(self, tables: Ints) -> "Rows":
        """Returns the rows of some of the tables."""
        return Rows(lambda t, r, c: self.value(tables[t], r, c), self.heights[tables], self.widths[tables])


def scan_rows(rows: Rows) -> tuple[Floats, Ints]:
    """Returns the maximum of every row and its first column, flat; computes all cells, about a million at a time."""
    table = np.repeat(np.arange(len(rows.heights)), rows.heights)
    row = np.arange(len(table)) - np.repeat(rows.edges[:-1], rows.heights)
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


def falling_rows(rows: Rows) -> tuple[Floats, Ints]:
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
        table = np.repeat(np.arange(len(found)), found)
        rank = np.arange(len(table)) - np.repeat(np.cumsum(found) - found, found)
        row = stride - 1 + 2 * stride * rank
        flat = edges[table] + row
        # The neighbors are a stride away; beyond the first and the last row all columns are possible.
        above = np.where(row >= stride, where[np.maximum(flat - stride, 0)], rows.widths[table] - 1)
        inside = row + stride < rows.heights[table]
        below = np.where(inside, where[np.where(inside, flat + stride, 0)], 0)
        best[flat], where[flat] = _best_columns(rows.value, table, row, below, above)
        stride //= 2
    return best, where


def _best_columns(value: Value, table: Ints, row: Ints, first: Ints, last: Ints) -> tuple[Floats, Ints]:
    """Returns the maximum over the columns ``first..last`` of each row, and its column."""
    sizes = last - first + 1
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    column = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], sizes)
    values = value(np.repeat(table, sizes), np.repeat(row, sizes), column)
    at = segment_argmax(values, offsets)
    return values[at], column[at]


@final
@dataclass(frozen=True)
class Found:
    """The best cell seen, its value, and a bound on every cell of the table."""

    row: int
    column: int
    value: float
    bound: float


def prune_table(
    value: Value, above: Value, table: int, height: int, width: int, budget: int, tol: float = 0.0
) -> Found:
    """Finds the best cell of one table by bound and prune: boxes are split until none has a bound above the best value.

    ``value(table, row, column)`` is the function; ``above(table, rows, columns)`` bounds it on boxes, given as arrays
    (m, 2) of first and last rows and columns. The search stops earlier after about ``budget`` cells and boxes, and
    where ``bound - value <= tol``; then ``bound`` is above ``value``.
    """
    boxes = np.array([[0, height - 1, 0, width - 1]], dtype=np.int64)
    bounds, spent = np.array([np.inf]), 0
    best, cell = -np.inf, (0, 0)
    while len(boxes):
        if spent > budget or (tol > 0.0 and float(bounds.max()) - best <= tol):
            return Found(*cell, best, max(best, float(bounds.max())))
        # All boxes are split at once, or those of the largest bounds where there are many.
        picked = np.argsort(-bounds)[: CHUNK // LEAF] if len(bounds) > CHUNK // LEAF else np.arange(len(bounds))
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
    return Found(*cell, best, best)


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
    widths = boxes[:, 3] - boxes[:, 2] + 1
    sizes = widths * (boxes[:, 1] - boxes[:, 0] + 1)
    place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    width = np.repeat(widths, sizes)
    return np.repeat(boxes[:, 0], sizes) + place // width, np.repeat(boxes[:, 2], sizes) + place % width
