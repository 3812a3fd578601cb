"""Branch and bound over sets of windows: Efficient Subwindow Search (Lampert, Blaschko and Hofmann 2009).

Lists of windows of large sums hold the best one that those before it do not forbid, one after another.
"""

from typing import Any

import numpy as np

from setwise.kernels.jit import Array, bare, kernel
from setwise.kernels.set_functions import heapify, pop, push, sift_down
from setwise.kernels.windows import (
    Grid,
    all_forbidden,
    between_rows,
    grown,
    is_allowed,
    new_room,
    row_pair_values,
    window_sum,
)


@kernel
def subwindows_above(
    before: Array,
    rows: Array,
    columns: Array,
    negative: Array,
    boxes: Array,
    limits: Array,
    floor: float,
    count: int,
    overlap: float,
    budget: int,
) -> tuple[Array, Array, int, bool, Array, float]:
    """Returns what :func:`setwise.kernels.subwindows.windows_above` does, as far as a budget of sets allows.

    That is the windows as lines (k, 4), their sums (k,), how many sets were visited, and whether the list is complete;
    further the lines (4,) and the sum of an allowed window that may come next, -1 and ``floor`` if none is known.

    ``before`` are those of the positive scores (:class:`Grid`), and ``negative`` those of the others. A set of
    windows is four spans of lines. No window of it has a larger sum than the positive scores in its largest window
    and the negative ones in its smallest one; it is left out where this is not above ``floor``, or where one of
    ``boxes`` (m, 4), or a window of the list, forbids all of it. The set of largest bound is halved next. O(budget
    (log budget + m + count))
    """
    grid = Grid(before, rows, columns)
    h, w, m = len(grid.rows) - 1, len(grid.columns) - 1, len(boxes)
    sets, bounds = np.empty((2 * budget + 1, 8), np.int32), np.empty(2 * budget + 1, np.float64)
    seen, heap = np.empty(2 * budget + 1, np.int32), np.empty(2 * budget + 1, np.int64)
    size, made = np.int64(0), np.int64(0)
    all_boxes, all_limits = grown(boxes, m), grown(limits, m)
    found, sums, k = np.empty((16, 4), np.int64), np.empty(16, np.float64), np.int64(0)
    best, window, spans = floor, np.full(4, -1, np.int64), np.empty(8, np.int64)
    least, most = np.empty(4, np.int64), np.empty(4, np.int64)
    # The first and the last top, left, bottom and right line.
    spans[0], spans[1], spans[2], spans[3] = 0, h - 1, 0, w - 1
    spans[4], spans[5], spans[6], spans[7] = 1, h, 1, w
    visited, entry, side = 0, np.int64(0), np.int64(-1)
    while True:
        for half in range(2 if side >= 0 else 1):
            if side >= 0:
                _halve(sets[entry], side, half, spans)
            if not _tighten(spans):
                continue
            bound, reached = _bounds(grid.sums, negative, spans)
            # What is not above the best window may come after it.
            if not bound > (best if k + 1 == count else floor):
                continue
            _extremes(grid.rows, grid.columns, spans, least, most)
            if all_forbidden(least, most, all_boxes, all_limits, np.int64(0), m + k):
                continue
            if reached > best and is_allowed(most[0], most[1], most[2], most[3], all_boxes, all_limits, m + k):
                best = reached
                window[0], window[1], window[2], window[3] = spans[0], spans[2], spans[5], spans[7]
            sets[made] = spans
            bounds[made], seen[made] = bound, m + k
            size = push(heap, size, bounds, made)
            made += 1
        side = np.int64(-1)
        while side < 0:
            if size == 0 or not bounds[heap[0]] > best:
                if window[0] < 0:
                    return found[:k].copy(), sums[:k].copy(), visited, True, window, best
                if k == len(found):
                    found, sums = grown(found, k), grown(sums, k)
                if m + k == len(all_boxes):
                    all_boxes, all_limits = grown(all_boxes, m + k), grown(all_limits, m + k)
                found[k] = window
                sums[k], all_limits[m + k] = best, overlap
                _pixels(grid.rows, grid.columns, window, all_boxes[m + k])
                k += 1
                best, window[:] = floor, -1
                if k == count:
                    return found[:k].copy(), sums[:k].copy(), visited, True, window, best
                continue
            if visited == budget:
                return found[:k].copy(), sums[:k].copy(), visited, False, window, best
            entry, size = pop(heap, size, bounds)
            visited += 1
            # Windows of the list that came later may forbid all of a set.
            spans[:] = sets[entry]
            _extremes(grid.rows, grid.columns, spans, least, most)
            if seen[entry] < m + k and all_forbidden(least, most, all_boxes, all_limits, np.int64(seen[entry]), m + k):
                continue
            side = _widest(spans)
            if side < 0:
                # A single window whose sum is the largest bound.
                best = bounds[entry]
                window[0], window[1], window[2], window[3] = spans[0], spans[2], spans[4], spans[6]


@bare
def _widest(spans: Array) -> int:
    """The side whose span has the most lines, the first of equal ones; -1 for a single window."""
    side, width = -1, 0
    for s in range(4):
        if spans[2 * s + 1] - spans[2 * s] > width:
            side, width = s, spans[2 * s + 1] - spans[2 * s]
    return side


@bare
def _halve(parent: Array, side: int, half: int, spans: Array) -> None:
    """Writes the spans of the first or the second half of a set, which is halved along one side."""
    for s in range(8):
        spans[s] = parent[s]
    middle = (spans[2 * side] + spans[2 * side + 1]) // 2
    if half == 0:
        spans[2 * side + 1] = middle
    else:
        spans[2 * side] = middle + 1


@bare
def _pixels(rows: Array, columns: Array, window: Array, box: Array) -> None:
    """Writes the pixels (4,) of a window of lines."""
    box[0], box[1], box[2], box[3] = rows[window[0]], columns[window[1]], rows[window[2]], columns[window[3]]


@bare
def _tighten(spans: Array) -> bool:
    """Leaves out lines that no window of the set has, and tells whether it holds a window."""
    for s in range(0, 4, 2):
        # A window begins before it ends.
        spans[s + 1] = min(spans[s + 1], spans[s + 5] - 1)
        spans[s + 4] = max(spans[s + 4], spans[s] + 1)
        if spans[s] > spans[s + 1] or spans[s + 4] > spans[s + 5]:
            return False
    return True


@bare
def _bounds(positive: Array, negative: Array, spans: Array) -> Any:
    """A bound of the sums of the windows of a set, and the sum of its largest window."""
    up = window_sum(positive, spans[0], spans[2], spans[5], spans[7])
    down = window_sum(negative, spans[0], spans[2], spans[5], spans[7])
    if spans[1] < spans[4] and spans[3] < spans[6]:
        return up + window_sum(negative, spans[1], spans[3], spans[4], spans[6]), up + down
    return up, up + down


@bare
def _extremes(rows: Array, columns: Array, spans: Array, least: Array, most: Array) -> None:
    """Writes the pixels of the smallest and of the largest window of a set; the smallest one may be empty."""
    least[0], least[1], least[2], least[3] = rows[spans[1]], columns[spans[3]], rows[spans[4]], columns[spans[6]]
    most[0], most[1], most[2], most[3] = rows[spans[0]], columns[spans[2]], rows[spans[5]], columns[spans[7]]


@kernel
def windows_above(
    before: Array, rows: Array, columns: Array, boxes: Array, limits: Array, floor: float, count: int, overlap: float
) -> tuple[Array, Array, int]:
    """Returns windows (k, 4) of a :class:`Grid` as numbers of lines, their sums, and how many searches between rows.

    Each is the window of largest sum that overlaps each of ``boxes`` (m, 4) by less than its limit (m,) and each window
    before it by less than ``overlap``. The list ends at ``count`` windows, or where no sum is above ``floor``. With an
    overlap of 1 it holds the best windows. O(h^2 w) for the sums between all pairs of rows, which stay bounds whatever
    is forbidden: between two rows it is searched again only where their bound is the largest one that is left.
    """
    # The caller passes plain arrays: a signal that comes while a tuple with names is taken apart would be lost.
    grid = Grid(before, rows, columns)
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
    all_boxes, all_limits = grown(boxes, m), grown(limits, m)
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
            found, sums = grown(found, k), grown(sums, k)
        if m + k == len(all_boxes):
            all_boxes, all_limits = grown(all_boxes, m + k), grown(all_limits, m + k)
            room = new_room(w, len(all_boxes))
        top, bottom, left, right = pairs[chosen, 0], pairs[chosen, 1], ends[chosen, 0], ends[chosen, 1]
        found[k, 0], found[k, 1], found[k, 2], found[k, 3] = top, left, bottom, right
        sums[k], all_limits[m + k] = bounds[chosen], overlap
        _pixels(grid.rows, grid.columns, found[k], all_boxes[m + k])
        k += 1
    return found[:k].copy(), sums[:k].copy(), searches
