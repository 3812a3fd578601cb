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

    ``ranks`` is (keys, margins, sums, starts, low, floor, caps), see :mod:`setwise.kernels.ranks`; ``base`` (n,) is
    added to every entry of a set; ``quotient`` is (top, bottom, origin), see :mod:`setwise.kernels.quotients`.
    """
    out = np.empty((len(labels), 2))
    longest = int(np.diff(ranks[3]).max()) + 3
    work = np.empty((2, longest))
    _quotient_marginals(ranks, scores, labels, offsets, base, quotient, work, np.empty(longest + 1, np.int32), out)
    return out


@kernel
def _quotient_marginals(
    ranks: Any, scores: Array, labels: Array, offsets: Array, base: Array,
    quotient: Any, work: Array, where: Array, out: Array,
) -> None:  # fmt: skip
    keys, margins, sums, starts, low, floor, caps = ranks
    top, bottom, origin = quotient
    shared = np.zeros((2, 3))
    for i in range(len(base)):
        first, last, k = offsets[i], offsets[i + 1], 2 * i
        positives = 0
        for j in range(first, last):
            positives += labels[j]
        for side in range(2):
            own, other = k + side, k + 1 - side
            size = last - first - positives if side else positives
            if size > 0:
                a, b, u, v = starts[own], starts[own + 1], starts[other], starts[other + 1]
                shift = min(low[own], 1)
                rows = shift + min(b - a + 1, size - low[own]) + 1
                c = coefficients(top[i], bottom[i], origin[i], side == 1)
                across = sums[u + other : v + other + 1]
                row_maxima(c, low[own] - shift, rows, low[other], margins[u:v], across, work[0], where)
                along = sums[a + own : b + own + 1]
                shared[side] = spread(
                    work[0, :rows], shift, keys[a:b], margins[a:b], along, base[i], side, work[1], out[first:last]
                )
        if starts[k + 2] - starts[k] < last - first:
            _fill(scores[first:last], labels[first:last], floor, caps[k : k + 2], base[i], shared, out[first:last])


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
    keys, margins, sums, starts, low, floor, caps = ranks
    shared = np.zeros((2, 3))
    for i in range(len(base)):
        first, last = offsets[i], offsets[i + 1]
        for side in range(2):
            k = 2 * i + side
            a, b = starts[k], starts[k + 1]
            if edges[k + 1] - edges[k] > 1:
                along, above = sums[a + k : b + k + 1], heights[edges[k] : edges[k + 1]]
                shared[side] = spread(
                    above, min(low[k], 1), keys[a:b], margins[a:b], along, base[i], side, work, out[first:last]
                )
        k = 2 * i
        if starts[k + 2] - starts[k] < last - first:
            _fill(scores[first:last], labels[first:last], floor, caps[k : k + 2], base[i], shared, out[first:last])


@kernel
def spread(
    heights: Array,
    shift: int,
    keys: Array,
    margins: Array,
    sums: Array,
    base: float,
    side: int,
    work: Array,
    out: Array,
) -> tuple[float, float, float]:
    """Write the max-marginals of the ranked decisions of one class of one set: positives (``side`` 0) or negatives (1).

    ``heights[x + shift]`` is H(x) for x from ``-shift`` on, where x counts the wrong decisions among the ranked ones: x
    = -1 means that one of those always wrong is right, x = n + 1 that one of those never wrong is wrong. Returns the
    maximum, the maximum of H(x) - S(x + 1) and that of H(x) - S(x - 1), which serve the decisions that are not ranked.

    With x* the best x, those of rank r < x* are wrong in a best labeling and the others right: one suffix maximum each.
    """
    n, rows = len(margins), len(heights)
    best, at = -np.inf, 0
    for x in range(n + 1):
        v = heights[x + shift] - sums[x]
        if v > best:
            best, at = v, x
    keep, fewer = -np.inf, -np.inf
    for r in range(n - 1, at - 1, -1):
        keep = _larger(keep, heights[r + 1 + shift] - sums[r + 1])
        fewer = _larger(fewer, heights[r + shift] - sums[r + 1])
        work[r] = keep
    for r in range(at - 1, -1, -1):
        fewer = _larger(fewer, heights[r + shift] - sums[r + 1])
        work[r] = fewer
    if shift == 1:
        fewer = _larger(fewer, heights[0] - sums[0])

    some, more = -np.inf, -np.inf
    for r in range(at):
        some = _larger(some, heights[r + shift] - sums[r])
        if r > 0:
            more = _larger(more, heights[r + shift] - sums[r - 1])
        j = np.int64(keys[r] & np.uint64(0xFFFFFFFF))
        out[j, side] = base + best
        out[j, 1 - side] = base + _larger(some, work[r] + margins[r])
    for r in range(at, n):
        if r > 0:
            more = _larger(more, heights[r + shift] - sums[r - 1])
        j = np.int64(keys[r] & np.uint64(0xFFFFFFFF))
        out[j, side] = base + _larger(work[r], more - margins[r])
        out[j, 1 - side] = base + best
    for x in range(max(n, 1), rows - shift):
        more = _larger(more, heights[x + shift] - sums[x - 1])
    return best, fewer, more


@kernel
def _fill(scores: Array, labels: Array, floor: float, caps: Array, base: float, shared: Array, out: Array) -> None:
    """Write the max-marginals of decisions always or never wrong; ``shared`` (2, 3) is from :func:`spread`."""
    for j in range(len(labels)):
        side = 1 - np.int64(labels[j])
        m = -scores[j] if side else scores[j]
        if floor < m < caps[side]:
            continue
        always = m <= floor
        best, fewer, more = shared[side, 0], shared[side, 1], shared[side, 2]
        out[j, side] = base + (best if always else more - m)
        out[j, 1 - side] = base + (m + fewer if always else best)


@kernel
def _larger(a: float, b: float) -> float:
    """``max`` for numbers that are never NaN: one instruction."""
    return a if a > b else b
