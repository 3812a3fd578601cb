"""Lists of windows of large sums, each the best one that those before it do not forbid."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.heaps import heapify, sift_down
from setwise.kernels.jit import kernel
from setwise.kernels.overlaps import is_allowed
from setwise.kernels.windows import Grid, between_rows, grown, grown_boxes, new_room, row_pair_values

Array = NDArray[Any]


@kernel
def windows_above(
    sums_before: Array,
    rows: Array,
    columns: Array,
    boxes: Array,
    limits: Array,
    floor: float,
    count: int,
    overlap: float,
) -> tuple[Array, Array, int]:
    """Returns windows (k, 4) of a :class:`Grid` as numbers of lines, their sums, and how many searches between rows.

    Each is the window of largest sum that overlaps each of ``boxes`` (m, 4) by less than its limit (m,) and each window
    before it by less than ``overlap``. The list ends at ``count`` windows, or where no sum is above ``floor``. With an
    overlap of 1 it holds the best windows. O(h^2 w) for the sums between all pairs of rows, which stay bounds whatever
    is forbidden: between two rows it is searched again only where their bound is the largest one that is left.
    """
    # The caller passes plain arrays: a signal that comes while a tuple with names is taken apart would be lost.
    grid = Grid(sums_before, rows, columns)
    h, w = len(grid.rows) - 1, len(grid.columns) - 1
    every = row_pair_values(grid.sums)
    size = np.int64(0)
    for value in every:
        if value > floor:
            size += 1
    heap, bounds, pairs = np.arange(size), np.empty(size, np.float64), np.empty((size, 2), np.int64)
    at, kept = 0, 0
    for top in range(h):
        for bottom in range(top + 1, h + 1):
            if every[at] > floor:
                bounds[kept], pairs[kept, 0], pairs[kept, 1] = every[at], top, bottom
                kept += 1
            at += 1
    heapify(heap, size, bounds)
    # Where the window of a bound is known, these are its column lines.
    ends = np.full((size, 2), -1, np.int64)
    m = len(boxes)
    all_boxes, all_limits = grown_boxes(boxes, m), grown(limits, m)
    room = new_room(w, len(all_boxes))
    found, sums = np.empty((16, 4), np.int64), np.empty(16, np.float64)
    k, searches = np.int64(0), 0
    while k < count:
        best, chosen = floor, -1
        while size > 0:
            if not bounds[heap[0]] > best:
                break
            entry = heap[0]
            top, bottom = pairs[entry, 0], pairs[entry, 1]
            left, right = ends[entry, 0], ends[entry, 1]
            known = left >= 0 and is_allowed(
                grid.rows[top], grid.columns[left], grid.rows[bottom], grid.columns[right], all_boxes, all_limits, m + k
            )
            if known:
                best, chosen = bounds[entry], entry
                break
            value, left, right = between_rows(
                grid, room, top, bottom, all_boxes, all_limits, m + k, best if k + 1 == count else floor
            )
            searches += 1
            # Without a window above the best one, the sum of the best one is a bound.
            bounds[entry], ends[entry, 0], ends[entry, 1] = value, left, right
            if left >= 0 and value > best:
                best, chosen = value, entry
            if not value > floor:
                size -= 1
                heap[0] = heap[size]
            if size > 0:
                sift_down(heap, size, bounds, np.int64(0))
        if chosen < 0:
            break
        if k == len(found):
            found, sums = grown_boxes(found, k), grown(sums, k)
        if m + k == len(all_boxes):
            all_boxes, all_limits = grown_boxes(all_boxes, m + k), grown(all_limits, m + k)
            room = new_room(w, len(all_boxes))
        top, bottom, left, right = pairs[chosen, 0], pairs[chosen, 1], ends[chosen, 0], ends[chosen, 1]
        found[k, 0], found[k, 1], found[k, 2], found[k, 3] = top, left, bottom, right
        sums[k] = bounds[chosen]
        all_boxes[m + k, 0], all_boxes[m + k, 1] = grid.rows[top], grid.columns[left]
        all_boxes[m + k, 2], all_boxes[m + k, 3] = grid.rows[bottom], grid.columns[right]
        all_limits[m + k] = overlap
        k += 1
    return found[:k].copy(), sums[:k].copy(), searches
