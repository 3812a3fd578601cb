"""The master problem of a cutting-plane method: a concave quadratic over the simplex, with bounds on some weights.

Planes ``b_t + <a_t, w>`` have weights alpha in the simplex. Without bounds ``w = v = -scale sum_t alpha_t a_t``; where a
weight has a least value l_j it is ``w_j = max(v_j, l_j)``, its multiplier being ``e_j = w_j - v_j >= 0``. For given alpha
that is the best choice of the multipliers, so they are eliminated: the value of each plane is

    g_t = b_t - scale (G alpha)_t + sum_j e_j B_tj,        B the columns of the slopes that belong to bounded weights,

and the dual is a concave, piecewise quadratic function of alpha with gradient g. Lines are searched exactly.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]

RIDGE = 1e-14
"""Curvature added to every direction, relative to the largest plane: copies of planes then stay harmless."""


@kernel
def solve_simplex(
    gram: Array, offsets: Array, scale: float, alpha: Array, bounded: Array, low: Array, tol: float, rounds: int
) -> float:
    """``max_alpha b'alpha - scale/2 alpha'G alpha`` over ``alpha >= 0, sum alpha = 1``; returns the duality gap.

    The gap is ``sum_t alpha_t (max g - g_t)``. For planes of a risk it is the distance between the primal and the dual
    value of the master, so the maximum is at most that far away.

    Each round takes pairwise steps, which find the planes that matter, then Newton steps on those planes, which end the
    zigzag of the pairwise ones. Both only ever climb, whatever the rank of G, so neither can fail.

    Parameters
    ----------
    gram : (>= t, >= t) float64, C-contiguous; its leading (t, t) block is G, symmetric positive semidefinite
    offsets : (t,) float64
    alpha : (t,) float64 in the simplex, the warm start; the solution is written over it
    bounded : (>= t, r) B, the slopes of the bounded weights
    low : (r,) their least values
    tol : stop at this gap, absolute, or where the rounding of the gradient lets it go no further
    rounds : at most so many; each is t/2 + 20 pairwise steps of O(t r), and Newton steps of O(k^3) for k planes in use
    """
    gradient, free = np.empty(len(alpha)), np.empty(len(low))
    gap = np.inf
    for turn in range(rounds + 1):
        simplex_gradient(gram, offsets, scale, alpha, bounded, low, free, gradient)
        gap = simplex_gap(gradient, alpha)
        for i in range(len(alpha)):
            tol = max(tol, 1e-16 * (abs(offsets[i]) + abs(gradient[i])))
        if gap <= tol or turn == rounds:
            break
        pair_steps(gram, scale, alpha, gradient, bounded, low, free, tol, len(alpha) // 2 + 20)
        if simplex_gap(gradient, alpha) > tol:
            _newton_steps(gram, scale, alpha, gradient, bounded, low, free)
    return gap


@kernel
def simplex_gradient(
    gram: Array, offsets: Array, scale: float, alpha: Array, bounded: Array, low: Array, free: Array, out: Array
) -> None:
    """``out = g`` (t,) and ``free = v`` (r,), after alpha is scaled to sum to 1; O(t k) for k planes in use."""
    t, total = len(alpha), 0.0
    free[:] = 0.0
    for i in range(t):
        out[i] = offsets[i]
        total += alpha[i]
    for i in range(t):
        alpha[i] /= total
        if alpha[i] > 0.0:
            weight = scale * alpha[i]
            for k in range(t):
                out[k] -= weight * gram[i, k]
            for j in range(len(low)):
                free[j] -= weight * bounded[i, j]
    for j in range(len(low)):
        excess = low[j] - free[j]
        if excess > 0.0:
            for k in range(t):
                out[k] += excess * bounded[k, j]


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
def pair_steps(
    gram: Array,
    scale: float,
    alpha: Array,
    gradient: Array,
    bounded: Array,
    low: Array,
    free: Array,
    tol: float,
    steps: int,
) -> None:
    """Moves weight from one plane to another, keeping ``gradient`` and ``free`` true, until the gap is at most ``tol``.

    The plane that gains has the largest gradient, the one that loses makes the step climb most (second-order choice of
    Fan, Chen and Lin 2005). A pair without curvature moves all it can. O(t r) a step.
    """
    t = len(alpha)
    change = np.empty(len(low))
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
                bend = _pair_bend(gram, scale, bounded, low, free, i, k)
                step = alpha[k] if slope >= bend * alpha[k] else slope / bend
                gain = step * (slope - 0.5 * bend * step)
                if gain > best:
                    best, j, move = gain, k, step
        if gap <= tol or j < 0:
            return
        if len(low):
            for c in range(len(low)):
                change[c] = bounded[i, c] - bounded[j, c]
            both = gram[i, i] + gram[j, j]
            bend = scale * max(both - 2.0 * gram[i, j], RIDGE * both)
            move = _search_line(gradient[i] - gradient[j], bend, scale, change, low, free, alpha[j])
        alpha[i] += move
        alpha[j] = alpha[j] - move if move < alpha[j] else 0.0
        shift = scale * move
        for k in range(t):
            gradient[k] -= shift * (gram[i, k] - gram[j, k])
        if len(low):
            _move_bounded(shift, change, bounded, low, free, gradient)


@kernel
def _pair_bend(gram: Array, scale: float, bounded: Array, low: Array, free: Array, i: int, k: int) -> float:
    """Curvature of the dual between two planes while the weights at their least values stay there."""
    both = gram[i, i] + gram[k, k]
    bend = both - 2.0 * gram[i, k]
    for j in range(len(low)):
        if free[j] < low[j]:
            bend -= (bounded[i, j] - bounded[k, j]) ** 2
    return float(scale * max(bend, RIDGE * both))


@kernel
def _search_line(
    slope: float, bend: float, scale: float, change: Array, low: Array, free: Array, longest: float
) -> float:
    """The step up to ``longest`` at which the dual is greatest along a direction that moves v by ``-scale change``.

    Its derivative ``slope - bend x + sum_j (e_j(x) - e_j(0)) change_j`` falls and is piecewise linear: Newton's method
    from the left ends after as many steps as pieces are crossed.
    """
    x = 0.0
    for _ in range(2 * len(low) + 2):
        value, curvature = slope - bend * x, bend
        for j in range(len(low)):
            excess = low[j] - free[j] + scale * x * change[j]
            if excess > 0.0 or (excess == 0.0 and change[j] > 0.0):
                curvature -= scale * change[j] * change[j]
            value += (max(excess, 0.0) - max(low[j] - free[j], 0.0)) * change[j]
        curvature = max(curvature, RIDGE * bend)
        if not value > 0.0:
            # A step too far, from a piece of less curvature: one back with all of it is safe.
            return max(min(x + value / bend, longest), 0.0) if value < 0.0 else min(x, longest)
        ahead = x + value / curvature
        # The next place at which a weight reaches or leaves its least value.
        for j in range(len(low)):
            if change[j] != 0.0:
                bend_at = (free[j] - low[j]) / (scale * change[j])
                if x < bend_at < ahead:
                    ahead = bend_at
        if ahead >= longest:
            return longest
        if ahead <= x:
            return x
        x = ahead
    return min(x, longest)


@kernel
def _move_bounded(shift: float, change: Array, bounded: Array, low: Array, free: Array, gradient: Array) -> None:
    """Moves v by ``-shift change`` and the gradient by what the multipliers change."""
    for j in range(len(low)):
        before = max(low[j] - free[j], 0.0)
        free[j] -= shift * change[j]
        moved = max(low[j] - free[j], 0.0) - before
        if moved != 0.0:
            for k in range(len(gradient)):
                gradient[k] += moved * bounded[k, j]


@kernel
def _newton_steps(
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
            _move_bounded(scale * step, change, bounded, low, free, gradient)
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
    return float(_search_line(slope, scale * max(bend, 0.0) + 1e-300, scale, change, low, free, longest))


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
