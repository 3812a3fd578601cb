"""The master problem of a cutting-plane method: a concave quadratic over the simplex, with bounds on some weights.

Planes ``b_t + <a_t, w>`` have weights alpha in the simplex. Without bounds ``w = v = -scale sum_t alpha_t a_t``; where
a weight has a least value l_j it is ``w_j = max(v_j, l_j)``, its multiplier being ``e_j = w_j - v_j >= 0``. For given
alpha that is the best choice of the multipliers, so they are eliminated: the value of each plane is

    g_t = b_t - scale (G alpha)_t + sum_j e_j B_tj,        B the columns of the slopes that belong to bounded weights,

and the dual is a concave, piecewise quadratic function of alpha with gradient g. Lines are searched exactly.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.bounded import RIDGE, move_bounded, search_line
from setwise.kernels.jit import kernel
from setwise.kernels.newton import newton_steps

Array = NDArray[Any]


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
            newton_steps(gram, scale, alpha, gradient, bounded, low, free)
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
                both = gram[i, i] + gram[k, k]
                bend = both - 2.0 * gram[i, k]
                if len(low):
                    bend -= _held_bend(bounded, low, free, i, k)
                bend = scale * max(bend, RIDGE * both)
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
            move = search_line(gradient[i] - gradient[j], bend, scale, change, low, free, alpha[j])
        alpha[i] += move
        alpha[j] = alpha[j] - move if move < alpha[j] else 0.0
        shift = scale * move
        for k in range(t):
            gradient[k] -= shift * (gram[i, k] - gram[j, k])
        if len(low):
            move_bounded(shift, change, bounded, low, free, gradient)


@kernel
def _held_bend(bounded: Array, low: Array, free: Array, i: int, k: int) -> float:
    """The part of the curvature between two planes that belongs to weights held at their least values."""
    bend = 0.0
    for j in range(len(low)):
        if free[j] < low[j]:
            bend += (bounded[i, j] - bounded[k, j]) ** 2
    return bend
