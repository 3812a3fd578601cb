"""Newton's method on the planes in use of a master problem, which ends the zigzag of pairwise steps."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.bounded import RIDGE, move_bounded, search_line
from setwise.kernels.jit import kernel

Array = NDArray[Any]


def plain_newton_steps(gram: Array, scale: float, alpha: Array, gradient: Array) -> None:
    """:func:`newton_steps` without bounds on weights, the same bits by NumPy."""
    used = np.flatnonzero(alpha > 0.0)
    used = used[np.argsort(-alpha[used], kind="stable")]
    factor, intact = np.empty((len(used), len(used))), 0
    while len(used) > 1:
        _plain_factor_rows(gram, scale, used, factor, intact)
        direction = _plain_newton_direction(factor, gradient[used])
        length, blocking = np.inf, -1
        for a, (weight, step) in enumerate(zip(alpha[used].tolist(), direction.tolist(), strict=True)):
            if weight < -length * step:
                length, blocking = -weight / step, a
        if not np.cumsum(gradient[used] * direction)[-1] > 0.0:
            return
        limit, length = length, min(length, 1.0)
        alpha[used] = np.maximum(alpha[used] + length * direction, 0.0)
        if length < limit:
            return
        for a in range(len(used)):
            gradient[used] -= scale * length * direction[a] * gram[used[a], used]
        alpha[used[blocking]] = 0.0
        if blocking == 0:
            return
        used = np.delete(used, blocking)
        intact = blocking - 1
        factor[:intact, : len(used) - 1] = np.delete(factor[:intact, : len(used)], intact, axis=1)


def _plain_factor_rows(gram: Array, scale: float, used: Array, factor: Array, start: int) -> None:
    first, others, m = used[0], used[1:], len(used) - 1
    ridge = scale * (RIDGE * gram[used, used].max()) + 1e-300
    for a in range(start, m):
        i, j = others[a], others[a:]
        row = scale * ((gram[i, j] - gram[i, first]) - (gram[first, j] - gram[first, first]))
        row[0] += ridge
        for b in range(a):
            row -= factor[b, a] * factor[b, a:m]
        root = np.sqrt(max(row[0], ridge))
        factor[a, a + 1 : m] = row[1:] / root
        factor[a, a] = root


def _plain_newton_direction(factor: Array, gradient: Array) -> Array:
    m = len(gradient) - 1
    z = gradient - gradient[0]
    z[0] = 0.0
    for a in range(m):
        z[a + 1] /= factor[a, a]
        z[a + 2 :] -= factor[a, a + 1 : m] * z[a + 1]
    for a in range(m - 1, -1, -1):
        # One subtraction after another, as the kernel does.
        z[a + 1] = np.subtract.accumulate(np.append(z[a + 1], factor[a, a + 1 : m] * z[a + 2 :]))[-1] / factor[a, a]
        z[0] -= z[a + 1]
    return z


@kernel
def newton_steps(
    gram: Array, scale: float, alpha: Array, gradient: Array, bounded: Array, low: Array, free: Array
) -> None:
    """Climbs to the maximum over the k planes in use, and drops a plane each time that its weight falls to zero.

    The ``gradient`` is updated for the planes in use only. The planes are sorted by falling weight: those that are
    likely to drop stand last, where the Cholesky factor is cheap to update. O(k^3) at first, then O(k^2) or little more
    for each drop. The arguments are as in :func:`setwise.kernels.simplex.pair_steps`.
    """
    used = np.empty(len(alpha), np.int64)
    k = 0
    # Sort the planes in use by falling weight, by insertion.
    for i in range(len(alpha)):
        if alpha[i] > 0.0:
            a = k
            while a > 0 and alpha[used[a - 1]] < alpha[i]:
                used[a] = used[a - 1]
                a -= 1
            used[a] = i
            k += 1
    factor, direction, change = np.empty((k, k)), np.empty(k), np.empty(len(low))
    # The weights at their least values, and the number of rows of the factor that are still valid.
    held = free < low
    intact = np.int64(0)
    while k > 1:
        _factor_rows(gram, scale, bounded, held, used[:k], factor, intact)
        _newton_direction(factor, gradient, used[:k], direction)
        # Find the longest step that keeps all weights >= 0, and the plane that limits it.
        length, blocking, slope = np.inf, -1, 0.0
        for a in range(k):
            slope += gradient[used[a]] * direction[a]
            if alpha[used[a]] < -length * direction[a]:
                length, blocking = -alpha[used[a]] / direction[a], a
        if not slope > 0.0:
            # The direction is no ascent within rounding: this is the maximum.
            return
        limit = length
        if len(low):
            length = _newton_length(gram, scale, slope, bounded, low, free, used[:k], direction, change, limit)
        else:
            # Without bounds the dual is one quadratic, whose maximum on the line is at length 1.
            length = min(length, 1.0)
        if length < limit:
            blocking = -1
        for a in range(k):
            alpha[used[a]] = max(alpha[used[a]] + length * direction[a], 0.0)
        if blocking < 0 and len(low) == 0:
            # The caller computes the gradient afresh, so it need not follow here.
            return
        for a in range(k):
            shift = scale * length * direction[a]
            for c in range(k):
                gradient[used[c]] -= shift * gram[used[a], used[c]]
        if len(low):
            move_bounded(scale * length, change, bounded, low, free, gradient)
            if blocking < 0:
                return
        # Drop the plane that blocks. Where it is the first, from which differences are taken, the whole factor is lost:
        # the next round of the caller makes a new one.
        alpha[used[blocking]] = 0.0
        if blocking == 0:
            return
        k -= 1
        for c in range(blocking, k):
            used[c] = used[c + 1]
        intact = blocking - 1
        for j in range(len(low)):
            # Where other weights are held than before, the matrix itself has changed.
            if held[j] != (free[j] < low[j]):
                held[j] = free[j] < low[j]
                intact = np.int64(0)
        # The rows before the dropped one stay valid without its column.
        for a in range(intact):
            for c in range(intact, k - 1):
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
    """Returns the best step along a direction of the planes in use, where some weights have least values; O(k^2 + k r).

    ``change`` (r,) receives what the direction adds to the mean slope of the bounded weights.
    """
    k, curvature = len(used), 0.0
    for j in range(len(low)):
        change[j] = 0.0
        for a in range(k):
            change[j] += direction[a] * bounded[used[a], j]
    for a in range(k):
        for c in range(k):
            curvature += direction[a] * direction[c] * gram[used[a], used[c]]
    return float(search_line(slope, scale * max(curvature, 0.0) + 1e-300, scale, change, low, free, longest))


@kernel
def _factor_rows(
    gram: Array, scale: float, bounded: Array, held: Array, used: Array, factor: Array, start: int
) -> None:
    """Writes rows ``start`` and later of the Cholesky factor R, ``R'R = scale (G + ridge)``; O(k^3) for all rows.

    G is the Gram matrix of the differences of slopes from that of ``used[0]``, without the weights that are held at
    their least values. ``factor`` is (k - 1, k - 1) or larger; its row a belongs to ``used[a + 1]``.
    """
    first, m = used[0], len(used) - 1
    largest = gram[first, first]
    for a in range(m):
        largest = max(largest, gram[used[a + 1], used[a + 1]])
    ridge = scale * (RIDGE * largest) + 1e-300
    for a in range(start, m):
        i = used[a + 1]
        for c in range(a, m):
            j = used[c + 1]
            # The inner product of a_i - a_first and a_j - a_first, without the weights that are held.
            entry = (gram[i, j] - gram[i, first]) - (gram[first, j] - gram[first, first])
            for b in range(len(held)):
                if held[b]:
                    entry -= (bounded[i, b] - bounded[first, b]) * (bounded[j, b] - bounded[first, b])
            factor[a, c] = scale * entry
        factor[a, a] += ridge
        # Row by row, so that the inner loops run along contiguous memory.
        for b in range(a):
            above = factor[b, a]
            for c in range(a, m):
                factor[a, c] -= above * factor[b, c]
        # Rounding may leave a pivot below the ridge, or negative.
        root = np.sqrt(max(factor[a, a], ridge))
        for c in range(a + 1, m):
            factor[a, c] /= root
        factor[a, a] = root


@kernel
def _newton_direction(factor: Array, gradient: Array, used: Array, z: Array) -> None:
    """Writes ``z = argmax g'z - 0.5 z'R'R z`` over ``sum z = 0`` on the k planes ``used``; O(k^2)."""
    m = len(used) - 1
    # The weight of the first plane balances the others, so the other k - 1 weights are free.
    for a in range(m):
        z[a + 1] = gradient[used[a + 1]] - gradient[used[0]]
    # Solve R'y = g downwards, then R z = y upwards.
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
