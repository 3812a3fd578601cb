"""Losses of a confusion matrix while rows change over to one class, one after another."""

import numpy as np

from setwise.kernels.jit import Array, kernel

EQUAL = 1e-12
"""Margins that differ by less, relative to themselves where they are above 1, are equal: it is rounding."""


@kernel
def best_others(scores: Array, offsets: Array, c: int, truth: Array, margins: Array, cells: Array) -> None:
    """Stores the score of each row's best other class b with offsets (k,), minus that of c without its own; O(n k).

    ``cells`` are ``truth k + b``. A row is predicted c once the offset of c is above its margin.
    """
    n, k = scores.shape
    for i in range(n):
        best, most = -1, 0.0
        for j in range(k):
            value = scores[i, j] + offsets[j]
            if j != c and (best < 0 or value > most):
                best, most = j, value
        cells[i] = truth[i] * k + best
        margins[i] = most - scores[i, c]


@kernel
def quotient_losses(
    cells: Array,
    weights: Array,
    c: int,
    tops: Array,
    bottoms: Array,
    zeros: Array,
    steps: Array,
    by_class: bool,
) -> Array:
    """Returns ``sum_r tops_r / bottoms_r`` once the first rows are predicted c, 0..m of them, (m+1,).

    ``tops`` and ``bottoms`` (R,) are those where no row is predicted c, and are changed. ``steps`` (R, 2, k, k) are
    what a cell of the confusion matrix adds to them; ``zeros`` (R,) is the value of 0/0. With ``by_class`` a cell is 0
    in all quotients but those of its two classes. O(m), or O(m R).
    """  # fmt: skip
    R, m, k = len(tops), len(cells), steps.shape[2]
    values, losses = np.empty(R), np.empty(m + 1)
    total = 0.0
    for r in range(R):
        values[r] = tops[r] / bottoms[r] if bottoms[r] > 0.0 else zeros[r]
        total += values[r]
    losses[0] = total
    # What a row of each cell changes in which quotients is looked up once, and not for each row.
    counts, touched = np.zeros(k * k, np.int64), np.empty((k * k, min(R, 3) if by_class else R), np.int64)
    moves = np.empty((2, k * k, touched.shape[1]))
    for y in range(k):
        for j in range(k):
            cell = y * k + j
            for r in range(R):
                if not by_class or r in (c, y, j):
                    u = counts[cell]
                    touched[cell, u] = r
                    for part in range(2):
                        moves[part, cell, u] = steps[r, part, y, c] - steps[r, part, y, j]
                    counts[cell] += 1
    for place in range(m):
        cell, w = cells[place], weights[place]
        for u in range(counts[cell]):
            r = touched[cell, u]
            tops[r] += w * moves[0, cell, u]
            bottoms[r] += w * moves[1, cell, u]
            value = tops[r] / bottoms[r] if bottoms[r] > 1e-12 else zeros[r]
            total += value - values[r]
            values[r] = value
        losses[place + 1] = total
    return losses


@kernel
def correlation_losses(cells: Array, weights: Array, c: int, confusion: Array) -> Array:
    """Returns one minus Matthews' correlation once the first rows are predicted c, 0..m of them, (m+1,).

    ``confusion`` (k, k) is that where no row is predicted c. O(m).
    """
    k, m = len(confusion), len(cells)
    true, said, losses = np.zeros(k), np.zeros(k), np.empty(m + 1)
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
    losses[0] = 1.0 - (n * right - shared) / scale if scale > 0.0 else 1.0
    for place in range(m):
        w = weights[place]
        y, j = divmod(cells[place], k)
        if y == c:
            right += w
        if y == j:
            right -= w
        shared += w * (true[c] - true[j])
        squares += 2.0 * w * (said[c] - said[j] + w)
        said[c] += w
        said[j] -= w
        scale = np.sqrt(max(n * n - squares, 0.0)) * np.sqrt(spread)
        losses[place + 1] = 1.0 - (n * right - shared) / scale if scale > 1e-9 * n * n else 1.0
    return losses


@kernel
def best_cut(margins: Array, losses: Array) -> tuple[float, int]:
    """Returns (least loss, rows predicted c) for the losses (m+1,) of 0..m rows in the order of rising margins; O(m).

    Rows of equal margins change over together.
    """
    best, where = losses[0], 0
    for place in range(len(margins)):
        margin = margins[place]
        ends = place + 1 == len(margins) or margins[place + 1] - margin > EQUAL * max(1.0, abs(margin))
        if losses[place + 1] < best - 1e-12 and ends:
            best, where = losses[place + 1], place + 1
    return best, where
