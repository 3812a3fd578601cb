"""The best windows of an image of scored points: branch and bound with a budget, then the search over pairs of rows."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.subwindows import subwindows_above
from setwise.kernels.window_lists import windows_above
from setwise.kernels.windows import Grid, grid_sums

Array = NDArray[Any]

STEPS_OF_A_SET = 2000
"""A set of windows takes about 0.2 us in branch and bound, and the search over pairs of rows as long for 1,000 cells.
By default branch and bound may take half as long as the other search would."""

MOST_SETS = 500_000
"""Branch and bound never visits more sets for one list, which bounds its memory to 60 MB."""


class Points(NamedTuple):
    """Where the points of an image lie.

    Attributes
    ----------
    height, width : of the image, in pixels
    rows, columns : (m,) int64, from 0 on
    stride : windows begin and end at its multiples, and at the lower and the right border
    """

    height: int
    width: int
    rows: Array
    columns: Array
    stride: int = 1


class Found(NamedTuple):
    """Windows (k, 4) as (top, left, bottom, right), the sums of their scores (k,), and what it took to find them.

    Attributes
    ----------
    visited : sets of windows that branch and bound has halved
    searches : pairs of rows between which windows were searched with the boxes that forbid them
    method : what has closed the search: "bound" of all windows, "branch and bound" or "row pairs"
    """

    windows: Array
    sums: Array
    visited: int
    searches: int
    method: str


def lines(size: int, stride: int) -> Array:
    """The pixels at which windows may begin or end: the multiples of the stride, and the border."""
    return np.append(np.arange(0, size, stride), size).astype(np.int64)


def search(
    points: Points,
    scores: Array,
    boxes: Array,
    limits: Array,
    floor: float = -np.inf,
    count: int = 1,
    overlap: float = 1.0,
    budget: int | None = None,
) -> Found:
    """Finds up to ``count`` windows whose scores have a sum above ``floor``, each the best one that is allowed.

    A window is allowed if it overlaps each of ``boxes`` (m, 4) by less than its limit (m,), and each window found
    before it by less than ``overlap``; an overlap of 1 excludes equal windows alone. Which of equal sums comes first is
    left open. O(h^2 w) for h rows and w columns, the fewer of them being the rows. Branch and bound may visit
    ``budget`` sets before for each window asked for; None stands for about half the time of the other search.
    """
    high, wide = points.height, points.width
    flipped = wide < high
    rows, columns = (points.columns, points.rows) if flipped else (points.rows, points.columns)
    high, wide = min(high, wide), max(high, wide)
    row_lines, column_lines = lines(high, points.stride), lines(wide, points.stride)
    h, w = len(row_lines) - 1, len(column_lines) - 1
    if flipped:
        boxes = boxes[:, [1, 0, 3, 2]]
    boxes = np.ascontiguousarray(boxes, np.int64)
    limits = np.ascontiguousarray(limits, np.float64)

    def grid(values: Array) -> Grid:
        return Grid(grid_sums(rows, columns, values, points.stride, h, w), row_lines, column_lines)

    allowed = h * (h + 1) // 2 * w // STEPS_OF_A_SET if budget is None else budget
    allowed = min(allowed * count, MOST_SETS)
    parts, sums, visited, searches, method = [], [], 0, 0, "row pairs"
    left = count
    if allowed:
        negative = grid(np.minimum(scores, 0.0)).sums
        found, values, visited, closed, following, best = subwindows_above(
            grid(np.maximum(scores, 0.0)), negative, boxes, limits, floor, count, overlap, allowed
        )
        parts, sums, left = [found], [values], count - len(found)
        if closed:
            method = "branch and bound" if visited else "bound"
            left = 0
        if left:
            chosen = _pixels(found, row_lines, column_lines)
            boxes = np.concatenate((boxes, chosen))
            limits = np.concatenate((limits, np.full(len(chosen), overlap)))
    if left:
        # The best allowed window that is known stands, unless there is a better one.
        known = bool(allowed) and left == 1 and following[0] >= 0
        found, values, searches = windows_above(
            grid(scores), boxes, limits, max(floor, best) if known else floor, left, overlap
        )
        if known and not len(found):
            found, values = following[None], np.array([best])
        parts.append(found)
        sums.append(values)
    windows = _pixels(np.concatenate(parts), row_lines, column_lines)
    return Found(windows[:, [1, 0, 3, 2]] if flipped else windows, np.concatenate(sums), visited, searches, method)


def _pixels(windows: Array, rows: Array, columns: Array) -> Array:
    """Windows (k, 4) of pixels instead of lines."""
    return np.stack(
        [rows[windows[:, 0]], columns[windows[:, 1]], rows[windows[:, 2]], columns[windows[:, 3]]], axis=1
    ).reshape(-1, 4)
