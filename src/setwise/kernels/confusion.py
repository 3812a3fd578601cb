"""Losses of a confusion matrix while rows change over to one class, one after another."""

import numpy as np

from setwise.kernels.jit import Array, kernel

EQUAL = 1e-12
"""Margins that differ by less, relative to themselves where they are above 1, are equal: it is rounding."""


@kernel
def best_others(scores: Array, c: int, margins: Array, others: Array) -> None:
    """Stores the best class beside c of each row, and its score minus that of c; O(n k).

    ``scores`` (n, k) have the offsets added. A row is predicted c once the offset of c grows by more than its margin.
    """
    n, k = scores.shape
    for i in range(n):
        best = -1
        for j in range(k):
            if j != c and (best < 0 or scores[i, j] > scores[i, best]):
                best = j
        others[i] = best
        margins[i] = scores[i, best] - scores[i, c]


@kernel
def best_quotient_cut(
    order: Array,
    margins: Array,
    truth: Array,
    others: Array,
    weights: Array,
    c: int,
    tops: Array,
    bottoms: Array,
    zeros: Array,
    steps: Array,
    by_class: bool,
) -> tuple[float, int]:
    """Returns (least loss, rows predicted c) of ``sum_r tops_r / bottoms_r`` along the order of rising margins.

    ``tops`` and ``bottoms`` (R,) are those where no row is predicted c, and are changed. ``steps`` (R, 2, k, k) are
    what a cell of the confusion matrix adds to them; ``zeros`` (R,) is the value of 0/0. With ``by_class`` a cell is 0
    in all quotients but those of its two classes. Rows of equal margins change over together. O(n), or O(n R).
    """  # fmt: skip
    R, m = len(tops), len(order)
    values = np.empty(R)
    total = 0.0
    for r in range(R):
        values[r] = tops[r] / bottoms[r] if bottoms[r] > 0.0 else zeros[r]
        total += values[r]
    best, where = total, 0
    touched = np.empty(max(R, 3), np.int64)
    for r in range(R):
        touched[r] = r
    count = R
    for place in range(m):
        i = order[place]
        y, j, w = truth[i], others[i], weights[i]
        if by_class:
            touched[0], count = c, 1
            if y != c:
                touched[count] = y
                count += 1
            if j != c and j != y:
                touched[count] = j
                count += 1
        for u in range(count):
            r = touched[u]
            tops[r] += w * (steps[r, 0, y, c] - steps[r, 0, y, j])
            bottoms[r] += w * (steps[r, 1, y, c] - steps[r, 1, y, j])
            value = tops[r] / bottoms[r] if bottoms[r] > 1e-12 else zeros[r]
            total += value - values[r]
            values[r] = value
        ends = place + 1 == m or margins[order[place + 1]] - margins[i] > EQUAL * max(1.0, abs(margins[i]))
        if ends and total < best - 1e-12:
            best, where = total, place + 1
    return best, where


@kernel
def best_correlation_cut(
    order: Array, margins: Array, truth: Array, others: Array, weights: Array, c: int, confusion: Array
) -> tuple[float, int]:
    """Returns (least loss, rows predicted c) of one minus Matthews' correlation along the order of rising margins.

    ``confusion`` (k, k) is that where no row is predicted c. O(n).
    """
    k, m = len(confusion), len(order)
    true, said = np.zeros(k), np.zeros(k)
    right, n = 0.0, 0.0
    for a in range(k):
        right += confusion[a, a]
        for b in range(k):
            true[a] += confusion[a, b]
            said[b] += confusion[a, b]
            n += confusion[a, b]
    spread, shared, squares = n * n, 0.0, 0.0
    for a in range(k):
        spread -= true[a] * true[a]
        shared += true[a] * said[a]
        squares += said[a] * said[a]
    scale = np.sqrt(max(n * n - squares, 0.0)) * np.sqrt(spread)
    best = 1.0 - (n * right - shared) / scale if scale > 0.0 else 1.0
    where = 0
    for place in range(m):
        i = order[place]
        y, j, w = truth[i], others[i], weights[i]
        if y == c:
            right += w
        if y == j:
            right -= w
        shared += w * (true[c] - true[j])
        squares += 2.0 * w * (said[c] - said[j] + w)
        said[c] += w
        said[j] -= w
        if place + 1 == m or margins[order[place + 1]] - margins[i] > EQUAL * max(1.0, abs(margins[i])):
            scale = np.sqrt(max(n * n - squares, 0.0)) * np.sqrt(spread)
            value = 1.0 - (n * right - shared) / scale if scale > 1e-9 * n * n else 1.0
            if value < best - 1e-12:
                best, where = value, place + 1
    return best, where
