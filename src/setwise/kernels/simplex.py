"""The master problem of a cutting-plane method: a concave quadratic over the simplex."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]

RIDGE = 1e-14
"""Curvature added to every direction, relative to the largest plane: copies of planes then stay harmless."""


@kernel
def solve_simplex(gram: Array, offsets: Array, scale: float, alpha: Array, tol: float, rounds: int) -> float:
    """``max_alpha b'alpha - scale/2 alpha'G alpha`` over ``alpha >= 0, sum alpha = 1``; returns the duality gap.

    The gap is ``sum_t alpha_t (max g - g_t)`` with ``g = b - scale G alpha``. For planes of a risk it is the distance
    between the primal and the dual value of the master, so the maximum is at most that far away.

    Each round takes pairwise steps, which find the planes that matter, then Newton steps on those planes, which end the
    zigzag of the pairwise ones. Both only ever climb, whatever the rank of G, so neither can fail.

    Parameters
    ----------
    gram : (>= t, >= t) float64, C-contiguous; its leading (t, t) block is G, symmetric positive semidefinite
    offsets : (t,) float64
    alpha : (t,) float64 in the simplex, the warm start; the solution is written over it
    tol : stop at this gap, absolute, or where the rounding of the gradient lets it go no further
    rounds : at most so many; each is t/2 + 20 pairwise steps of O(t), and Newton steps of O(k^3) for k planes in use
    """
    gradient = np.empty(len(alpha))
    gap = np.inf
    for turn in range(rounds + 1):
        simplex_gradient(gram, offsets, scale, alpha, gradient)
        gap = simplex_gap(gradient, alpha)
        for i in range(len(alpha)):
            tol = max(tol, 1e-16 * (abs(offsets[i]) + abs(gradient[i])))
        if gap <= tol or turn == rounds:
            break
        pair_steps(gram, scale, alpha, gradient, tol, len(alpha) // 2 + 20)
        if simplex_gap(gradient, alpha) > tol:
            _newton_steps(gram, scale, alpha, gradient)
    return gap


@kernel
def simplex_gradient(gram: Array, offsets: Array, scale: float, alpha: Array, out: Array) -> None:
    """``out = b - scale G alpha``, (t,), after alpha is scaled to sum to 1; O(t k) for k planes in use."""
    t, total = len(alpha), 0.0
    for i in range(t):
        out[i] = offsets[i]
        total += alpha[i]
    for i in range(t):
        alpha[i] /= total
        if alpha[i] > 0.0:
            weight = scale * alpha[i]
            for k in range(t):
                out[k] -= weight * gram[i, k]


@kernel
def simplex_gap(gradient: Array, alpha: Array) -> float:
    """``sum_t alpha_t (max g - g_t)``; O(t)."""
    top, out = -np.inf, 0.0
    for k in range(len(alpha)):
        top = max(top, gradient[k])
    for k in range(len(alpha)):
        if alpha[k] > 0.0:
            out += alpha[k] * (top - gradient[k])
    return out


@kernel
def pair_steps(gram: Array, scale: float, alpha: Array, gradient: Array, tol: float, steps: int) -> None:
    """Moves weight from one plane to another, keeping ``gradient`` true, until the gap is at most ``tol``; O(t) a step.

    The plane that gains has the largest gradient, the one that loses makes the step climb most (second-order choice of
    Fan, Chen and Lin 2005). A pair without curvature moves all it can.
    """
    t = len(alpha)
    for _ in range(steps):
        i = 0
        for k in range(1, t):
            if gradient[k] > gradient[i]:
                i = k
        best, j, move, gap = 0.0, -1, 0.0, 0.0
        for k in range(t):
            slope = gradient[i] - gradient[k]
            if alpha[k] > 0.0 and slope > 0.0:
                gap += alpha[k] * slope
                both = gram[i, i] + gram[k, k]
                bend = scale * max(both - 2.0 * gram[i, k], RIDGE * both)
                step = alpha[k] if slope >= bend * alpha[k] else slope / bend
                gain = step * (slope - 0.5 * bend * step)
                if gain > best:
                    best, j, move = gain, k, step
        if gap <= tol or j < 0:
            return
        alpha[i] += move
        alpha[j] = alpha[j] - move if move < alpha[j] else 0.0
        shift = scale * move
        for k in range(t):
            gradient[k] -= shift * (gram[i, k] - gram[j, k])


@kernel
def _newton_steps(gram: Array, scale: float, alpha: Array, gradient: Array) -> None:
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
    factor, direction = np.empty((k, k)), np.empty(k)
    mended = 0
    while k > 1:
        _factor_rows(gram, scale, used[:k], factor, mended)
        _newton_direction(factor, gradient, used[:k], direction)
        step, wall, slope = 1.0, -1, 0.0
        for a in range(k):
            slope += gradient[used[a]] * direction[a]
            if alpha[used[a]] < -step * direction[a]:
                step, wall = -alpha[used[a]] / direction[a], a
        if not slope > 0.0:
            return
        for a in range(k):
            alpha[used[a]] = max(alpha[used[a]] + step * direction[a], 0.0)
        if wall < 0:
            return
        for a in range(k):
            shift = scale * step * direction[a]
            for c in range(k):
                gradient[used[c]] -= shift * gram[used[a], used[c]]
        alpha[used[wall]] = 0.0
        if wall == 0:
            return
        k -= 1
        for c in range(wall, k):
            used[c] = used[c + 1]
        mended = wall - 1
        for a in range(mended):
            for c in range(mended, k - 1):
                factor[a, c] = factor[a, c + 1]


@kernel
def _factor_rows(gram: Array, scale: float, used: Array, factor: Array, start: int) -> None:
    """Rows ``start`` and later of the Cholesky factor R: ``R'R = scale (G + ridge)`` on differences from ``used[0]``.

    ``factor`` (k - 1, k - 1) or larger; row a belongs to ``used[a + 1]``. By rows, so that inner loops are contiguous.
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
            factor[a, c] = scale * ((gram[i, j] - gram[i, first]) - (gram[first, j] - gram[first, first]))
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
