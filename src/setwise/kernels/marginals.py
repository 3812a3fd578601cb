"""Max-marginals of a count loss: the best objective with one decision forced right or wrong, for all decisions at once.

Let ``S(x)`` be the sum of the x smallest margins of one class, ``m_r`` the margin of rank r from 0, and ``H(x)`` the best loss less
margins of the other class when x decisions of this one are wrong. Without the decision of rank r the sum of the x smallest margins is
``S(x)`` for x <= r and ``S(x + 1) - m_r`` for x >= r, so (HOL Eq. 4)

    forced wrong:  max( max_(x > r) H(x) - S(x),  max_(1 <= x <= r) H(x) - S(x - 1) - m_r )
    forced right:  max( max_(x <= r) H(x) - S(x),  max_(x >= r) H(x) - S(x + 1) + m_r )

and prefix and suffix maxima give all of them in O(p). Decisions that are always or never mistakes in a best labeling share one such
maximum each.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel
from setwise.kernels.quotients import coefficients, row_maxima

Array = NDArray[Any]


def quotient_marginals(
    ranks: Any, scores: Array, labels: Array, offsets: Array, base: Array,
    quotient: tuple[Array, Array, Array],
) -> Array:  # fmt: skip
    """Max-marginals (total, 2) of a quotient loss by label value 0 and 1; O(p) where its rows and columns are concave.

    ``ranks`` is (keys, margins, sums, starts, low, floor, caps), see :mod:`setwise.kernels.ranks`; ``base`` (n,) is added to every entry of a set;
    ``quotient`` is (top, bottom, origin), see :mod:`setwise.kernels.quotients`.
    """
    out = np.empty((len(labels), 2), np.float64)
    longest = int(np.diff(ranks[3]).max()) + 3
    work = np.empty((3, longest), np.float64)
    _quotient_marginals(ranks, scores, labels, offsets, base, quotient, work, np.empty(longest, np.int32), out)
    return out


@kernel
def _quotient_marginals(
    ranks: Any, scores: Array, labels: Array, offsets: Array, base: Array,
    quotient: Any, work: Array, where: Array, out: Array,
) -> None:  # fmt: skip
    keys, margins, sums, starts, low, floor, caps = ranks
    top, bottom, origin = quotient
    for i in range(len(base)):
        first, last = offsets[i], offsets[i + 1]
        positives = 0
        for j in range(first, last):
            positives += labels[j]
        for side in range(2):
            k, o = 2 * i + side, 2 * i + 1 - side
            size = positives if side == 0 else last - first - positives
            if size == 0:
                continue
            a, e = starts[k], starts[k + 1]
            shift = min(low[k], 1)
            rows = shift + min(e - a + 1, size - low[k]) + 1
            c = coefficients(top[i], bottom[i], origin[i], side == 1)
            other = margins[starts[o] : starts[o + 1]]
            across = sums[starts[o] + o : starts[o + 1] + o + 1]
            row_maxima(c, low[k] - shift, rows, low[o], other, across, work[0], where)
            spread(
                work[0, :rows], shift, keys[a:e], margins[a:e], sums[a + k : e + k + 1], base[i], side, floor,
                caps[k], scores[first:last], labels[first:last], work[1:], out[first:last],
            )  # fmt: skip


def table_marginals(
    ranks: Any, scores: Array, labels: Array, offsets: Array, base: Array,
    heights: Array, edges: Array,
) -> Array:  # fmt: skip
    """Max-marginals (total, 2) from known row maxima: ``heights[edges[k]:edges[k+1]]`` are the H of segment k, from
    x = max(low - 1, 0) to min(low + ranked + 1, size); other arguments as in :func:`quotient_marginals`. O(p).
    """  # fmt: skip
    out = np.empty((len(labels), 2), np.float64)
    _table_marginals(ranks, scores, labels, offsets, base, heights, edges, out)
    return out


@kernel
def _table_marginals(
    ranks: Any, scores: Array, labels: Array, offsets: Array, base: Array, heights: Array, edges: Array, out: Array
) -> None:
    keys, margins, sums, starts, low, floor, caps = ranks
    longest = 0
    for k in range(len(starts) - 1):
        longest = max(longest, starts[k + 1] - starts[k])
    work = np.empty((2, longest + 1), np.float64)
    for k in range(len(starts) - 1):
        i, a, e = k // 2, starts[k], starts[k + 1]
        first, last = offsets[i], offsets[i + 1]
        if edges[k + 1] - edges[k] > 1:
            spread(
                heights[edges[k] : edges[k + 1]], min(low[k], 1), keys[a:e], margins[a:e], sums[a + k : e + k + 1],
                base[i], k % 2, floor, caps[k], scores[first:last], labels[first:last], work, out[first:last],
            )  # fmt: skip


@kernel
def spread(
    heights: Array, shift: int, keys: Array, margins: Array, sums: Array, base: float, side: int, floor: float,
    cap: float, scores: Array, labels: Array, work: Array, out: Array,
) -> None:  # fmt: skip
    """Write the max-marginals of one class of one set: positives (``side`` 0) or negatives (``side`` 1).

    ``heights[x + shift]`` is H(x) for x from ``-shift`` on, where x counts the wrong decisions among the ranked ones: x = -1 means
    that one of those always wrong is right, x = n + 1 that one of those never wrong is wrong.
    """
    n, rows = len(margins), len(heights)
    keep, drop = work[0], work[1]
    best, fewer = -np.inf, -np.inf
    for x in range(n, -1, -1):
        best = _larger(best, heights[x + shift] - sums[x])
        keep[x] = best
        if x < n:
            fewer = _larger(fewer, heights[x + shift] - sums[x + 1])
            drop[x] = fewer
    right, more = -np.inf, -np.inf
    wrong_at, right_at = side, 1 - side
    for r in range(n):
        right = _larger(right, heights[r + shift] - sums[r])
        if r > 0:
            more = _larger(more, heights[r + shift] - sums[r - 1])
        j = np.int64(keys[r] & np.uint64(0xFFFFFFFF))
        out[j, wrong_at] = base + _larger(keep[r + 1], more - margins[r])
        out[j, right_at] = base + _larger(right, drop[r] + margins[r])
    if shift == 0 and rows == n + 1:
        return
    if shift == 1:
        fewer = _larger(fewer, heights[0] - sums[0])
    for x in range(max(n, 1), rows - shift):
        more = _larger(more, heights[x + shift] - sums[x - 1])
    for j in range(len(labels)):
        m = -scores[j] if side else scores[j]
        if labels[j] == side or floor < m < cap:
            continue
        always = m <= floor
        out[j, wrong_at] = base + (best if always else more - m)
        out[j, right_at] = base + (m + fewer if always else best)


@kernel
def _larger(a: float, b: float) -> float:
    """``max`` for numbers that are never NaN: one instruction."""
    return a if a > b else b
