"""The best windows of an image of scored points: branch and bound with a budget, then the search over pairs of rows."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.subwindows import subwindows_above, windows_above
from setwise.kernels.windows import grid_sums

Array = NDArray[Any]

STEPS_OF_A_SET = 10_000
"""To halve a set of windows takes .2 us, and as long as some 1,000 steps of the search over pairs of rows. So by
default branch and bound may take a tenth of the time of that search, which grows faster with the image
(``benchmarks/windows.py``)."""

SWAPPED = [1, 0, 3, 2]
"""The numbers of a window where rows and columns change places."""

FEWEST_SETS = 100
"""With a smaller budget branch and bound is not begun by default, as on coarse grids."""

MOST_SETS = 500_000
"""Branch and bound never visits more sets for one list, which bounds its memory to 60 MB."""


class Points(NamedTuple):
    """Where the points of an image lie.

    Attributes
    ----------
    height, width : of the image, in pixels
    cells : (m, 2) int64, the rows and columns of the points, divided by the stride
    stride : windows begin and end at its multiples, and at the lower and the right border
    """

    height: int
    width: int
    cells: Array
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


@lru_cache(maxsize=256)
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
    ``budget`` sets before for each window asked for; None stands for about a tenth of the time of the other search.
    """
    if not np.maximum(scores, 0.0).sum() > floor:
        return Found(np.zeros((0, 4), np.int64), np.zeros(0), 0, 0, "bound")
    flipped = points.width < points.height
    if not flipped:
        return _search(points, scores, boxes, limits, floor, count, overlap, budget)
    turned = Points(points.width, points.height, points.cells[:, ::-1], points.stride)
    found = _search(turned, scores, boxes[:, SWAPPED], limits, floor, count, overlap, budget)
    return found._replace(windows=found.windows[:, SWAPPED])


def _search(
    points: Points,
    scores: Array,
    boxes: Array,
    limits: Array,
    floor: float,
    count: int,
    overlap: float,
    budget: int | None,
) -> Found:
    """:func:`search` in images that are not higher than wide."""
    rows, columns = lines(points.height, points.stride), lines(points.width, points.stride)
    cells, h, w = np.ascontiguousarray(points.cells), len(rows) - 1, len(columns) - 1
    boxes, limits = np.ascontiguousarray(boxes, np.int64), np.ascontiguousarray(limits, np.float64)
    # Around a window that alone is left out are many sets, and few pairs of rows have to be searched again.
    usual = h * (h + 1) // 2 * w // STEPS_OF_A_SET
    allowed = (usual if usual >= FEWEST_SETS else 0) if budget is None else budget
    allowed = 0 if count > 1 and overlap == 1.0 else min(allowed * count, MOST_SETS)
    first, sums, visited, known = np.zeros((0, 4), np.int64), np.zeros(0), 0, np.full(4, -1)
    best, method = floor, "row pairs"
    if allowed:
        positive, negative = grid_sums(cells, scores, h, w, 1), grid_sums(cells, scores, h, w, -1)
        first, sums, visited, closed, known, best = subwindows_above(
            positive, rows, columns, negative, boxes, limits, floor, count, overlap, allowed
        )
        if closed:
            return Found(_pixels(first, rows, columns), sums, visited, 0, "branch and bound")
        if len(first):
            boxes = np.concatenate((boxes, _pixels(first, rows, columns)))
            limits = np.concatenate((limits, np.full(len(first), overlap)))
    left = count - len(first)
    # If a window is known that may be the last one, only a better one matters.
    known_last = left == 1 and known[0] >= 0
    both, low = grid_sums(cells, scores, h, w, 0), best if known_last else floor
    found, values, searches = windows_above(both, rows, columns, boxes, limits, low, left, overlap)
    if known_last and not len(found):
        found, values = known[None], np.array([best])
    if len(first):
        found, values = np.concatenate([first, found]), np.concatenate([sums, values])
    return Found(_pixels(found, rows, columns), values, visited, searches, method)


def _pixels(windows: Array, rows: Array, columns: Array) -> Array:
    """Windows (k, 4) of pixels instead of lines."""
    out = np.empty_like(windows)
    out[:, 0::2], out[:, 1::2] = rows[windows[:, 0::2]], columns[windows[:, 1::2]]
    return out
