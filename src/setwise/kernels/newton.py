"""Newton steps on the planes in use of a master problem: they end the zigzag of pairwise steps."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.bounded import RIDGE, move_bounded, search_line
from setwise.kernels.jit import kernel

Array = NDArray[Any]


@kernel
def newton_steps(
    gram: Array, scale: float, alpha: Array, gradient: Array, bounded: Array, low: Array, free: Array
) -> None:
    """Climbs to the maximum over the k planes in use, dropping a plane each time that its weight falls to zero.

    ``gradient`` stays true for the planes in use only. Weights are sorted downwards: the planes that are likely to drop
    stand last, where the Cholesky factor is cheap to mend. O(k^3) at first, then O(k^2) or little more for each drop.
    """
    used = np.empty(len(alpha), np.int64)
    k = 0
    for i in range(len(alpha)):
        if alpha[i] > 0.0:
            a = k
            while a > 0 and alpha[used[a - 1]] < alpha[i]:
                used[a] = used[a - 1]
                a -= 1
            used[a] = i
            k += 1
    factor, direction, change = np.empty((k, k)), np.empty(k), np.empty(len(low))
    held = free < low
    mended = 0
    while k > 1:
        _factor_rows(gram, scale, bounded, held, used[:k], factor, mended)
        _newton_direction(factor, gradient, used[:k], direction)
        step, wall, slope = np.inf, -1, 0.0
        for a in range(k):
            slope += gradient[used[a]] * direction[a]
            if alpha[used[a]] < -step * direction[a]:
                step, wall = -alpha[used[a]] / direction[a], a
        if not slope > 0.0:
            return
        longest = step
        if len(low):
            step = _newton_length(gram, scale, slope, bounded, low, free, used[:k], direction, change, longest)
        else:
            step = min(step, 1.0)
        if step < longest:
            wall = -1
        for a in range(k):
            alpha[used[a]] = max(alpha[used[a]] + step * direction[a], 0.0)
        if wall < 0 and len(low) == 0:
            return
        for a in range(k):
            shift = scale * step * direction[a]
            for c in range(k):
                gradient[used[c]] -= shift * gram[used[a], used[c]]
        if len(low):
            move_bounded(scale * step, change, bounded, low, free, gradient)
            if wall < 0:
                return
        alpha[used[wall]] = 0.0
        if wall == 0:
            return
        k -= 1
        for c in range(wall, k):
            used[c] = used[c + 1]
        mended = wall - 1
        for j in range(len(low)):
            # Where another weight is held now, the factor is one of another matrix.
            if held[j] != (free[j] < low[j]):
                held[j] = free[j] < low[j]
                mended = 0
        for a in range(mended):
            for c in range(mended, k - 1):
                factor[a, c] = factor[a, c + 1]


@kernel
def _newton_length(
    gram: Array,
    scale: float,
    slope: float,
    bounded: Array,
    low: Array,
    free: Array,
    used: Array,
    direction: Array,
    change: Array,
    longest: float,
) -> float:
    """The best step along a direction of the planes in use; ``change`` receives how their bounded slopes move."""
    k, bend = len(used), 0.0
    for j in range(len(low)):
        change[j] = 0.0
        for a in range(k):
            change[j] += direction[a] * bounded[used[a], j]
    for a in range(k):
        for c in range(k):
            bend += direction[a] * direction[c] * gram[used[a], used[c]]
    return float(search_line(slope, scale * max(bend, 0.0) + 1e-300, scale, change, low, free, longest))


@kernel
def _factor_rows(
    gram: Array, scale: float, bounded: Array, held: Array, used: Array, factor: Array, start: int
) -> None:
    """Rows ``start`` and later of the Cholesky factor R: ``R'R = scale (G + ridge)`` on differences from ``used[0]``.

    Slopes of weights that are held at their least values do not count. ``factor`` (k - 1, k - 1) or larger; row a
    belongs to ``used[a + 1]``. By rows, so that inner loops are contiguous.
    """
    first, m = used[0], len(used) - 1
    top = gram[first, first]
    for a in range(m):
        top = max(top, gram[used[a + 1], used[a + 1]])
    ridge = scale * (RIDGE * top) + 1e-300
    for a in range(start, m):
        i = used[a + 1]
        for c in range(a, m):
            j = used[c + 1]
            bend = (gram[i, j] - gram[i, first]) - (gram[first, j] - gram[first, first])
            for b in range(len(held)):
                if held[b]:
                    bend -= (bounded[i, b] - bounded[first, b]) * (bounded[j, b] - bounded[first, b])
            factor[a, c] = scale * bend
        factor[a, a] += ridge
        for b in range(a):
            lift = factor[b, a]
            for c in range(a, m):
                factor[a, c] -= lift * factor[b, c]
        root = np.sqrt(max(factor[a, a], ridge))
        for c in range(a + 1, m):
            factor[a, c] /= root
        factor[a, a] = root


@kernel
def _newton_direction(factor: Array, gradient: Array, used: Array, z: Array) -> None:
    """``z = argmax g'z - 0.5 z'R'R z`` over ``sum z = 0`` on the k planes ``used``; O(k^2)."""
    m = len(used) - 1
    for a in range(m):
        z[a + 1] = gradient[used[a + 1]] - gradient[used[0]]
    for a in range(m):
        z[a + 1] /= factor[a, a]
        for c in range(a + 1, m):
            z[c + 1] -= factor[a, c] * z[a + 1]
    z[0] = 0.0
    for a in range(m - 1, -1, -1):
        for c in range(a + 1, m):
            z[a + 1] -= factor[a, c] * z[c + 1]
        z[a + 1] /= factor[a, a]
        z[0] -= z[a + 1]
