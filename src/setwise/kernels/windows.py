"""The best windows of an image of points: exact search over pairs of rows, and over the columns between them.

Also how far boxes (top, left, bottom, right) overlap, and which of them the boxes of a list forbid.
"""

from typing import Any, NamedTuple

import numpy as np

from setwise.kernels.jit import Array, bare, inlined, kernel


@inlined
def overlap(top: Any, left: Any, bottom: Any, right: Any, boxes: Array, j: Any) -> Any:
    """The area of the intersection of a box and ``boxes[j]`` over that of their union."""
    high = min(bottom, boxes[j, 2]) - max(top, boxes[j, 0])
    wide = min(right, boxes[j, 3]) - max(left, boxes[j, 1])
    # Boxes apart along both axes would have a product of two negative numbers.
    both = max(high, 0) * max(wide, 0)
    own = (boxes[j, 2] - boxes[j, 0]) * (boxes[j, 3] - boxes[j, 1])
    return both / ((bottom - top) * (right - left) + own - both)


@kernel
def overlaps(boxes: Array, others: Array) -> Array:
    """Returns the area of the intersection over that of the union of all pairs, (m, k), for (m, 4) and (k, 4)."""
    out = np.empty((len(boxes), len(others)), np.float64)
    for i in range(len(boxes)):
        for j in range(len(others)):
            out[i, j] = overlap(boxes[i, 0], boxes[i, 1], boxes[i, 2], boxes[i, 3], others, j)
    return out


@kernel
def overlap_costs(labels: Array, truths: Array, difficult: Array, limit: float) -> Array:
    """Returns for each of ``labels`` (k, 4) 0 if it overlaps one of the other boxes by the limit or more, else 1, (k,).

    The other boxes are ``truths`` (m, 4) and ``difficult`` (u, 4). What is equal to a truth gets 1. O(k (m + u))
    """
    out = np.empty(len(labels), np.float64)
    for k in range(len(labels)):
        top, left, bottom, right = labels[k, 0], labels[k, 1], labels[k, 2], labels[k, 3]
        near, equal = False, False
        for j in range(len(truths)):
            share = overlap(top, left, bottom, right, truths, j)
            near |= share >= limit
            equal |= share >= 1.0
        for j in range(len(difficult)):
            near |= overlap(top, left, bottom, right, difficult, j) >= limit
        out[k] = 1.0 if equal or not near else 0.0
    return out


@kernel
def is_allowed(top: int, left: int, bottom: int, right: int, boxes: Array, limits: Array, n: int) -> bool:
    """Returns whether a box overlaps each of the first n ``boxes`` (m, 4) by less than its limit (m,); O(n)."""
    allowed = True
    for j in range(n):
        allowed &= overlap(top, left, bottom, right, boxes, j) < limits[j]
    return allowed


@kernel
def all_forbidden(least: Array, most: Array, boxes: Array, limits: Array, first: int, last: int) -> bool:
    """Returns whether one of ``boxes[first:last]`` overlaps every box between two by its limit or more; O(n).

    Every box of the set holds ``least`` (4,), which may be empty, and lies inside ``most`` (4,). So its intersection
    with another box is at least that of ``least``, and its union with it at most that of ``most``. The quotient is
    rounded as :func:`overlap` is, and rounding keeps the order, so this never forbids too much.
    """
    around = (most[2] - most[0]) * (most[3] - most[1])
    for j in range(first, last):
        high = min(least[2], boxes[j, 2]) - max(least[0], boxes[j, 0])
        wide = min(least[3], boxes[j, 3]) - max(least[1], boxes[j, 1])
        if high > 0 and wide > 0:
            outer_high = min(most[2], boxes[j, 2]) - max(most[0], boxes[j, 0])
            outer_wide = min(most[3], boxes[j, 3]) - max(most[1], boxes[j, 1])
            own = (boxes[j, 2] - boxes[j, 0]) * (boxes[j, 3] - boxes[j, 1])
            if high * wide / (around + own - outer_high * outer_wide) >= limits[j]:
                return True
    return False


@kernel
def match_windows(truths: Array, predictions: Array, difficult: Array, limit: float) -> Array:
    """Returns for each prediction (k,) 1 if it finds a truth, 0 if not, and -1 if it is not judged; O(k m).

    In the order in which they stand, each finds the one of ``truths`` (m, 4) that it overlaps most and that is not
    found yet, the last one of several, if that is ``limit`` or more. What finds none is not judged if it overlaps one
    of ``difficult`` (u, 4) so.
    """
    out, free = np.zeros(len(predictions), np.int64), np.ones(len(truths), np.bool_)
    for k in range(len(predictions)):
        top, left, bottom, right = predictions[k, 0], predictions[k, 1], predictions[k, 2], predictions[k, 3]
        most, where = limit, -1
        for j in range(len(truths)):
            if free[j]:
                here = overlap(top, left, bottom, right, truths, j)
                if here >= most:
                    most, where = here, j
        if where >= 0:
            free[where], out[k] = False, 1
        else:
            for j in range(len(difficult)):
                if overlap(top, left, bottom, right, difficult, j) >= limit:
                    out[k] = -1
    return out


class Grid(NamedTuple):
    """The lines of an image between which windows lie, and the sums of the scores of points before them.

    Attributes
    ----------
    sums : (columns + 1, rows + 1), entry (c, r) is the sum of the cells before column line c and row line r
    rows, columns : (rows + 1,) and (columns + 1,) int64, the pixels at which the lines stand
    """

    sums: Array
    rows: Array
    columns: Array


class SearchArrays(NamedTuple):
    """Arrays for the search between two rows of a grid of w columns, with n boxes at most that forbid windows.

    Attributes
    ----------
    before : (w + 1,) the sums of the columns before each line
    best : (w + 1,) the largest entry of ``before`` from each line on, without the first
    at : (w + 1,) where it stands
    table : (levels, w + 1) where the largest of 1, 2, 4, ... entries of ``before`` from each line on stands
    near : (n,) the boxes that may forbid windows between the rows
    firsts, lasts : (n,) the first and the last right line that they forbade beside the last left line
    open : (n + 1, 2) spans of right lines that are left to search
    """

    before: Array
    best: Array
    at: Array
    table: Array
    near: Array
    firsts: Array
    lasts: Array
    open: Array


@kernel
def grid_sums(cells: Array, scores: Array, n_rows: int, n_columns: int, sign: int) -> Array:
    """Returns the sums of :class:`Grid` of points in ``cells`` (m, 2), rows and columns; O(m + cells).

    With a sign of 1 or -1 scores of the other sign count as 0; with 0 all count.
    """
    out = np.zeros((n_columns + 1, n_rows + 1), np.float64)
    for j in range(len(scores)):
        if sign * scores[j] >= 0.0:
            out[cells[j, 1] + 1, cells[j, 0] + 1] += scores[j]
    for c in range(1, n_columns + 1):
        running = 0.0
        for r in range(1, n_rows + 1):
            running += out[c, r]
            out[c, r] = out[c - 1, r] + running
    return out


@kernel
def sums_inside(points: Array, scores: Array, windows: Array) -> Array:
    """Returns the sum of the scores of the ``points`` (m, 2) that lie in each of ``windows`` (k, 4), (k,); O(k m)."""
    out = np.zeros(len(windows), np.float64)
    for k in range(len(windows)):
        for j in range(len(points)):
            out[k] += scores[j] if is_inside(points, j, windows, k) else 0.0
    return out


@kernel
def mark_inside(points: Array, windows: Array, k: int, out: Array) -> None:
    """Writes 1 for the ``points`` (m, 2) that lie in ``windows[k]``, and 0 for the others; O(m)."""
    for j in range(len(points)):
        out[j] = 1.0 if is_inside(points, j, windows, k) else 0.0


@bare
def is_inside(points: Array, j: int, windows: Array, k: int) -> Any:
    """Whether a point lies in a window (top, left, bottom, right)."""
    y, x = points[j, 0], points[j, 1]
    return (y >= windows[k, 0]) & (y < windows[k, 2]) & (x >= windows[k, 1]) & (x < windows[k, 3])


@bare
def window_sum(sums: Array, top: int, left: int, bottom: int, right: int) -> Any:
    """The sum of the cells between four lines."""
    return (sums[right, bottom] - sums[right, top]) - (sums[left, bottom] - sums[left, top])


@kernel
def row_pair_values(sums: Array) -> Array:
    """Returns the best sum of a window between each pair of row lines, in the order (0, 1), (0, 2), ...; O(h^2 w).

    This is Kadane's maximum for all lower rows at a time, so that the processor works on several of them.
    """
    w, h = sums.shape[0] - 1, sums.shape[1] - 1
    out = np.empty(h * (h + 1) // 2, np.float64)
    lowest = np.empty(h, np.float64)
    begin = 0
    for top in range(h):
        n = h - top
        best, low = out[begin : begin + n], lowest[:n]
        first = sums[0, top]
        for k in range(n):
            best[k] = -np.inf
            low[k] = sums[0, top + 1 + k] - first
        for c in range(1, w + 1):
            line, base = sums[c, top + 1 :], sums[c, top]
            for k in range(n):
                here = line[k] - base
                value = here - low[k]
                best[k] = value if value > best[k] else best[k]
                low[k] = here if here < low[k] else low[k]
        begin += n
    return out


@kernel
def new_room(w: int, n: int) -> SearchArrays:
    """Returns the arrays of a search in w columns with at most n boxes."""
    levels = 1
    while 2**levels <= w + 1:
        levels += 1
    return SearchArrays(
        np.empty(w + 1, np.float64),
        np.empty(w + 1, np.float64),
        np.empty(w + 1, np.int64),
        np.empty((levels, w + 1), np.int32),
        np.empty(n, np.int64),
        np.ones(n, np.int64),
        np.ones(n, np.int64),
        np.empty((n + 1, 2), np.int64),
    )


@kernel
def between_rows(
    grid: Grid, room: SearchArrays, top: int, bottom: int, boxes: Array, limits: Array, n: int, floor: float
) -> tuple[Any, Any, Any]:
    """Returns the best allowed window between two row lines as (sum, left, right); left is -1 if none is above floor.

    A window is forbidden if it overlaps one of the first n ``boxes`` (m, 4) by its limit (m,) or more. With k boxes
    near these rows it takes O(w), or O(w (log w + k)) and O(k) for each end that they forbid.
    """
    sums, rows, columns = grid
    before, best, at, table, near, firsts, lasts, spans = room
    w = len(columns) - 1
    for c in range(w + 1):
        before[c] = sums[c, bottom] - sums[c, top]
    highest, where = -np.inf, w
    for c in range(w, 0, -1):
        if before[c] >= highest:
            highest, where = before[c], c
        best[c], at[c] = highest, where
    y, z = rows[top], rows[bottom]
    k = _boxes_near(y, z, boxes, limits, n, near)
    value, left, right = floor, -1, -1
    tabled = False
    for c in range(w):
        if not best[c + 1] - before[c] > value:
            continue
        # The best right end comes first; where it is forbidden, the ends on both sides of those forbidden with it.
        spans[0, 0], spans[0, 1] = c + 1, w
        count = 1
        while count > 0:
            count -= 1
            first, last = spans[count, 0], spans[count, 1]
            if last == w:
                end = at[first]
            else:
                if not tabled:
                    _fill(before, table)
                    tabled = True
                end = _largest(before, table, first, last)
            if not before[end] - before[c] > value:
                continue
            lower, upper = _forbidden_ends(columns, y, z, c, first, last, end, boxes, limits, k, near, firsts, lasts)
            if lower > upper:
                value, left, right = before[end] - before[c], c, end
                continue
            if lower > first:
                spans[count, 0], spans[count, 1] = first, lower - 1
                count += 1
            if upper < last:
                spans[count, 0], spans[count, 1] = upper + 1, last
                count += 1
    return value, left, right


@bare
def _boxes_near(y: Any, z: Any, boxes: Array, limits: Array, n: int, near: Array) -> Any:
    """Writes which boxes may overlap a window between two rows by their limits, and returns how many these are."""
    k = 0
    for j in range(n):
        both = min(z, boxes[j, 2]) - max(y, boxes[j, 0])
        # No window overlaps by more than the rows do alone.
        if both > 0 and both / ((z - y) + (boxes[j, 2] - boxes[j, 0]) - both) >= limits[j]:
            near[k] = j
            k += 1
    return k


@bare
def _forbidden_ends(
    columns: Array,
    y: Any,
    z: Any,
    c: int,
    first: Any,
    last: Any,
    end: Any,
    boxes: Array,
    limits: Array,
    k: int,
    near: Array,
    firsts: Array,
    lasts: Array,
) -> Any:
    """The right ends in first..last around ``end`` that are forbidden by boxes that forbid it; none: (end + 1, end).

    The overlap with a box rises with the right end up to the end of the box, and falls after it, so that a box forbids
    ends side by side. The borders move little from one left end to the next: they are searched from where they were.
    """
    lower, upper, x = end + 1, end, columns[c]
    for i in range(k):
        j = near[i]
        if not overlap(y, x, z, columns[end], boxes, j) >= limits[j]:
            continue
        a = min(max(firsts[j], first), end)
        if overlap(y, x, z, columns[a], boxes, j) >= limits[j]:
            while a > first and overlap(y, x, z, columns[a - 1], boxes, j) >= limits[j]:
                a -= 1
        else:
            while not overlap(y, x, z, columns[a], boxes, j) >= limits[j]:
                a += 1
        b = max(min(lasts[j], last), end)
        if overlap(y, x, z, columns[b], boxes, j) >= limits[j]:
            while b < last and overlap(y, x, z, columns[b + 1], boxes, j) >= limits[j]:
                b += 1
        else:
            while not overlap(y, x, z, columns[b], boxes, j) >= limits[j]:
                b -= 1
        firsts[j], lasts[j] = a, b
        lower, upper = min(lower, a), max(upper, b)
    return lower, upper


@bare
def _fill(before: Array, table: Array) -> None:
    """Writes where the largest of 1, 2, 4, ... entries from each one on stands; O(w log w)."""
    n = len(before)
    for c in range(n):
        table[0, c] = c
    width = 1
    for level in range(1, len(table)):
        for c in range(n - 2 * width + 1):
            one, other = table[level - 1, c], table[level - 1, c + width]
            table[level, c] = other if before[other] > before[one] else one
        width *= 2


@bare
def _largest(before: Array, table: Array, first: Any, last: Any) -> Any:
    """The place of the largest entry in first..last."""
    level, width = 0, 1
    while 2 * width <= last - first + 1:
        level += 1
        width *= 2
    one, other = np.int64(table[level, first]), np.int64(table[level, last - width + 1])
    return other if before[other] > before[one] else one


@kernel
def grown(values: Array, n: int) -> Array:
    """A copy of the first n rows, or numbers, with room for more."""
    out = np.empty((2 * n + 16,) + values.shape[1:], values.dtype)  # noqa: RUF005  (what Numba knows)
    out[:n] = values[:n]
    return out
