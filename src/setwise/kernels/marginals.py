"""Max-marginals of a count loss: the best objective with one decision forced right or wrong, for all decisions at once.

Let ``S(x)`` be the sum of the x smallest margins of one class, ``m_r`` the margin of rank r from 0, and ``H(x)`` the
best loss less margins of the other class when x decisions of this one are wrong. Without the decision of rank r the sum
of the x smallest margins is ``S(x)`` for x <= r and ``S(x + 1) - m_r`` for x >= r, so (HOL Eq. 4)

    forced wrong:  max( max_(x > r) H(x) - S(x),  max_(1 <= x <= r) H(x) - S(x - 1) - m_r )
    forced right:  max( max_(x <= r) H(x) - S(x),  max_(x >= r) H(x) - S(x + 1) + m_r )

and prefix and suffix maxima give all of them in O(p). Decisions that are always or never mistakes in a best labeling
share one such maximum each.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel
from setwise.kernels.quotients import coefficients, row_maxima

Array = NDArray[Any]


def quotient_marginals(
    ranks: Any, scores: Array, labels: Array, offsets: Array, base: Array, quotient: tuple[Array, Array, Array]
) -> Array:
    """Max-marginals (total, 2) of a quotient loss by label value 0 and 1; O(p) where its rows and columns are concave.

    ``ranks`` is (keys, margins, sums, starts, low, floor), see :mod:`setwise.kernels.ranks`; ``base`` (n,) is
    added to every entry of a set; ``quotient`` is (top, bottom, origin), see :mod:`setwise.kernels.quotients`.
    """
    out = np.empty((len(labels), 2))
    longest = int(np.diff(ranks[3]).max()) + 3
    work = np.empty((3, longest))
    _quotient_marginals(ranks, scores, labels, offsets, base, quotient, work, np.empty(longest + 1, np.int32), out)
    return out


@kernel
def _quotient_marginals(
    ranks: Any, scores: Array, labels: Array, offsets: Array, base: Array,
    quotient: Any, work: Array, where: Array, out: Array,
) -> None:  # fmt: skip
    keys, margins, sums, starts, low, floor = ranks
    top, bottom, origin = quotient
    maxima, rows = np.zeros((2, 4)), np.zeros(2, np.int64)
    for i in range(len(base)):
        first, last = offsets[i], offsets[i + 1]
        positives = 0
        for j in range(first, last):
            positives += labels[j]
        for side in range(2):
            own, other = 2 * i + side, 2 * i + 1 - side
            size = last - first - positives if side else positives
            a, b, u, v = starts[own], starts[own + 1], starts[other], starts[other + 1]
            shift = min(low[own], 1)
            rows[side] = shift + min(b - a + 1, size - low[own]) + 1 if size > 0 else 0
            if size > 0:
                c = coefficients(top[i], bottom[i], origin[i], side == 1)
                across = sums[u + other : v + other + 1]
                row_maxima(c, low[own] - shift, rows[side], low[other], margins[u:v], across, work[side], where)
                _find_maxima(work[side, : rows[side]], shift, sums[a + own : b + own + 1], maxima[side])
        if starts[2 * i + 2] - starts[2 * i] < last - first:
            _fill(scores[first:last], labels[first:last], floor, base[i], maxima, out[first:last])
        for side in range(2):
            k = 2 * i + side
            a, b, along = starts[k], starts[k + 1], sums[starts[k] + k : starts[k + 1] + k + 1]
            above, shift = work[side, : rows[side]], min(low[k], 1)
            if b > a:
                _spread(
                    above, shift, keys[a:b], margins[a:b], along, base[i], side, maxima[side], work[2], out[first:last]
                )


def table_marginals(
    ranks: Any, scores: Array, labels: Array, offsets: Array, base: Array, heights: Array, edges: Array
) -> Array:
    """Max-marginals (total, 2) where H is known, O(p): ``heights[edges[k]:edges[k+1]]`` is that of segment k.

    It begins at x = max(low - 1, 0) and ends at min(low + ranked + 1, size) wrong decisions; with one entry the segment
    is empty. Other arguments as in :func:`quotient_marginals`.
    """
    out = np.empty((len(labels), 2))
    work = np.empty(int(np.diff(ranks[3]).max()) + 1)
    _table_marginals(ranks, scores, labels, offsets, base, heights, edges, work, out)
    return out


@kernel
def _table_marginals(
    ranks: Any, scores: Array, labels: Array, offsets: Array, base: Array,
    heights: Array, edges: Array, work: Array, out: Array,
) -> None:  # fmt: skip
    keys, margins, sums, starts, low, floor = ranks
    maxima = np.zeros((2, 4))
    for i in range(len(base)):
        first, last = offsets[i], offsets[i + 1]
        for side in range(2):
            k = 2 * i + side
            if edges[k + 1] - edges[k] > 1:
                above, along = heights[edges[k] : edges[k + 1]], sums[starts[k] + k : starts[k + 1] + k + 1]
                _find_maxima(above, min(low[k], 1), along, maxima[side])
        if starts[2 * i + 2] - starts[2 * i] < last - first:
            _fill(scores[first:last], labels[first:last], floor, base[i], maxima, out[first:last])
        for side in range(2):
            k = 2 * i + side
            a, b, along = starts[k], starts[k + 1], sums[starts[k] + k : starts[k + 1] + k + 1]
            above, shift = heights[edges[k] : edges[k + 1]], min(low[k], 1)
            if b > a:
                _spread(
                    above, shift, keys[a:b], margins[a:b], along, base[i], side, maxima[side], work, out[first:last]
                )


@kernel
def _find_maxima(heights: Array, shift: int, sums: Array, maxima: Array) -> None:
    """The maxima over x of ``H(x) - S(x)``, ``H(x) - S(x + 1)`` and ``H(x) - S(x - 1)``, and the x of the first.

    ``heights[x + shift]`` is H(x) for x from ``-shift`` on, where x counts the wrong decisions among the n ranked ones:
    x = -1 means that one of those always wrong is right, x = n + 1 that one of those never wrong is wrong.
    """
    n = len(sums) - 1
    best, at, fewer, more = -np.inf, 0, -np.inf, -np.inf
    for x in range(n + 1):
        v = heights[x + shift] - sums[x]
        if v > best:
            best, at = v, x
    for x in range(-shift, n):
        fewer = _larger(fewer, heights[x + shift] - sums[x + 1])
    for x in range(1, len(heights) - shift):
        more = _larger(more, heights[x + shift] - sums[x - 1])
    maxima[0], maxima[1], maxima[2], maxima[3] = best, fewer, more, at


@kernel
def _fill(scores: Array, labels: Array, floor: float, base: float, maxima: Array, out: Array) -> None:
    """Write the max-marginals of all decisions of a set as if they were always or never wrong.

    They are linear in the score: ``level + slope s`` for each label, of four kinds. There are no branches, and ranked
    decisions are written over later: which they are, nothing could predict.
    """
    level, slope = np.empty((4, 2)), np.zeros((4, 2))
    for y in range(2):
        side, sign = 1 - y, 2.0 * y - 1.0
        best, fewer, more = base + maxima[side, 0], base + maxima[side, 1], base + maxima[side, 2]
        never, always = 2 * y, 2 * y + 1
        level[never, side], slope[never, side], level[never, y] = more, -sign, best
        level[always, side], level[always, y], slope[always, y] = best, fewer, sign
    for j in range(len(labels)):
        s = np.float64(scores[j])
        wrong = s * (2.0 * np.float64(labels[j]) - 1.0) <= floor
        kind = np.uint64(2) * np.uint64(labels[j]) + np.uint64(wrong)
        out[j, 0] = level[kind, 0] + slope[kind, 0] * s
        out[j, 1] = level[kind, 1] + slope[kind, 1] * s


@kernel
def _spread(
    heights: Array, shift: int, keys: Array, margins: Array, sums: Array,
    base: float, side: int, maxima: Array, work: Array, out: Array,
) -> None:  # fmt: skip
    """Write the max-marginals of the ranked decisions of one class of one set: positives (``side`` 0) or negatives (1).

    With x* the best x, those of rank r < x* are wrong in a best labeling and the others right: one suffix maximum each.
    """
    n, best, at = len(margins), maxima[0], np.int64(maxima[3])
    keep, fewer = -np.inf, -np.inf
    for r in range(n - 1, at - 1, -1):
        keep = _larger(keep, heights[r + 1 + shift] - sums[r + 1])
        fewer = _larger(fewer, heights[r + shift] - sums[r + 1])
        work[r] = keep
    for r in range(at - 1, -1, -1):
        fewer = _larger(fewer, heights[r + shift] - sums[r + 1])
        work[r] = fewer

    some, more = -np.inf, -np.inf
    for r in range(at):
        some = _larger(some, heights[r + shift] - sums[r])
        if r > 0:
            more = _larger(more, heights[r + shift] - sums[r - 1])
        j = np.int64((keys[r] & np.uint64(0xFFFFFFFF)) >> np.uint64(1))
        out[j, side] = base + best
        out[j, 1 - side] = base + _larger(some, work[r] + margins[r])
    for r in range(at, n):
        if r > 0:
            more = _larger(more, heights[r + shift] - sums[r - 1])
        j = np.int64((keys[r] & np.uint64(0xFFFFFFFF)) >> np.uint64(1))
        out[j, side] = base + _larger(work[r], more - margins[r])
        out[j, 1 - side] = base + best


@kernel
def _larger(a: float, b: float) -> float:
    """``max`` for numbers that are never NaN: one instruction."""
    return a if a > b else b
