"""The master problem of a cutting-plane method: a concave quadratic over the simplex, with bounds on some weights.

The planes ``b_t + <a_t, w>`` have weights alpha in the simplex. Without bounds ``w = v = -scale sum_t alpha_t a_t``;
where w_j has a least value l_j, it is ``w_j = max(v_j, l_j)``, and the multiplier of the bound is
``e_j = w_j - v_j >= 0``. That is the best choice of the multipliers for given alpha, so they are eliminated: the value
of each plane is

    g_t = b_t - scale (G alpha)_t + sum_j e_j B_tj,

where B holds the columns of the slopes that belong to bounded weights, and the dual is a concave, piecewise quadratic
function of alpha with the gradient g. Line searches are exact.
"""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.bounded import RIDGE, move_bounded, search_line
from setwise.kernels.jit import Twinned, kernel, plain_first
from setwise.kernels.newton import newton_steps, plain_newton_steps

Array = NDArray[Any]


def _plain_solve_simplex(
    gram: Array, offsets: Array, scale: float, alpha: Array, bounded: Array, low: Array, tol: float, rounds: int
) -> float:
    if len(low):
        return float(cast("Twinned", solve_simplex).kernel(gram, offsets, scale, alpha, bounded, low, tol, rounds))
    t, gap = len(alpha), np.inf
    gram = gram[:t, :t]
    for turn in range(rounds + 1):
        alpha /= np.cumsum(alpha)[-1]
        gradient = offsets.copy()
        for i in np.flatnonzero(alpha > 0.0):
            gradient -= scale * alpha[i] * gram[i]
        gap = _plain_gap(gradient, alpha)
        tol = max(tol, (1e-16 * (np.abs(offsets) + np.abs(gradient))).max())
        if gap <= tol or turn == rounds:
            break
        _plain_pair_steps(gram, scale, alpha, gradient, tol, t // 2 + 20)
        if _plain_gap(gradient, alpha) > tol:
            plain_newton_steps(gram, scale, alpha, gradient)
    return gap


def _plain_gap(gradient: Array, alpha: Array) -> float:
    used = alpha > 0.0
    return float(np.cumsum(alpha[used] * (gradient.max() - gradient[used]))[-1])


def _plain_pair_steps(gram: Array, scale: float, alpha: Array, gradient: Array, tol: float, steps: int) -> None:
    norms = gram.diagonal()[:, None] + gram.diagonal()
    curvatures = scale * np.maximum(norms - 2.0 * gram, RIDGE * norms)
    for _ in range(steps):
        gainer = gradient.argmax()
        slope, curvature = np.maximum(gradient[gainer] - gradient, 0.0), curvatures[gainer]
        length = np.where(slope >= curvature * alpha, alpha, slope / curvature)
        gain = length * (slope - 0.5 * curvature * length)
        loser = gain.argmax()
        # Planes without weight or slope add zeros to the gap and gain nothing.
        if np.cumsum(alpha * slope)[-1] <= tol or not gain[loser] > 0.0:
            return
        move = length[loser]
        alpha[gainer] += move
        alpha[loser] = alpha[loser] - move if move < alpha[loser] else 0.0
        gradient -= scale * move * (gram[gainer] - gram[loser])


@plain_first(_plain_solve_simplex, patience=4.0)
@kernel
def solve_simplex(
    gram: Array, offsets: Array, scale: float, alpha: Array, bounded: Array, low: Array, tol: float, rounds: int
) -> float:
    """Maximizes ``b'alpha - scale/2 alpha'G alpha`` over ``alpha >= 0, sum alpha = 1``; returns the duality gap.

    The gap is ``sum_t alpha_t (max_s g_s - g_t)``. For planes of a risk it is the distance between the primal and the
    dual value of the master, so the maximum is at most that far away.

    Each round takes pairwise steps, which find the planes that matter, then Newton steps on those planes, which end the
    zigzag of the pairwise ones. Neither lets the dual fall, whatever the rank of G.

    Parameters
    ----------
    gram : (>= t, >= t) float64, C-contiguous; its leading (t, t) block is G, symmetric positive semidefinite
    offsets : (t,) float64
    alpha : (t,) float64 in the simplex, the warm start; the solution is written over it
    bounded : (>= t, r) B, the slopes of the bounded weights
    low : (r,) the least values of the bounded weights
    tol : stop at this absolute gap, or where the rounding of the gradient allows no smaller one
    rounds : largest number of rounds; each is t/2 + 20 pairwise steps of O(t r), and Newton steps of O(k^3) for k
    planes
        in use
    """
    gradient, free = np.empty(len(alpha)), np.empty(len(low))
    gap = np.inf
    for turn in range(rounds + 1):
        # The gradient is computed afresh in each round: Newton steps leave it behind, and rounding adds up.
        simplex_gradient(gram, offsets, scale, alpha, bounded, low, free, gradient)
        gap = simplex_gap(gradient, alpha)
        # No gap below the rounding of the gradient can be seen.
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
    """Writes ``out = g`` (t,) and ``free = v`` (r,), after alpha is scaled to sum to 1; O(t k) for k planes in use."""
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
    # Multipliers are positive only where v is below the least value.
    for j in range(len(low)):
        excess = low[j] - free[j]
        if excess > 0.0:
            for k in range(t):
                out[k] += excess * bounded[k, j]


@kernel
def simplex_gap(gradient: Array, alpha: Array) -> float:
    """Returns the duality gap ``sum_t alpha_t (max_s g_s - g_t)``; O(t)."""
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
    """Moves weight from one plane to another until the gap is at most ``tol``, and updates ``gradient`` and ``free``.

    The plane that gains weight has the largest gradient; the one that loses weight is chosen such that the dual rises
    most (second-order choice of Fan, Chen and Lin 2005). A pair without curvature moves all its weight. O(t r) for a
    step.
    """
    t = len(alpha)
    change = np.empty(len(low))
    for _ in range(steps):
        gainer = np.int64(0)
        for k in range(1, t):
            if gradient[k] > gradient[gainer]:
                gainer = k
        # One pass over the planes gives both the loser and the gap.
        best, loser, move, gap = 0.0, -1, 0.0, 0.0
        for k in range(t):
            slope = gradient[gainer] - gradient[k]
            if alpha[k] > 0.0 and slope > 0.0:
                gap += alpha[k] * slope
                norms = gram[gainer, gainer] + gram[k, k]
                curvature = norms - 2.0 * gram[gainer, k]
                if len(low):
                    curvature -= _held_curvature(bounded, low, free, gainer, k)
                curvature = scale * max(curvature, RIDGE * norms)
                length = alpha[k] if slope >= curvature * alpha[k] else slope / curvature
                gain = length * (slope - 0.5 * curvature * length)
                if gain > best:
                    best, loser, move = gain, k, length
        if gap <= tol or loser < 0:
            return
        if len(low):
            # With bounds the estimate above chose the pair; the step itself comes from an exact line search.
            for c in range(len(low)):
                change[c] = bounded[gainer, c] - bounded[loser, c]
            norms = gram[gainer, gainer] + gram[loser, loser]
            curvature = scale * max(norms - 2.0 * gram[gainer, loser], RIDGE * norms)
            move = search_line(gradient[gainer] - gradient[loser], curvature, scale, change, low, free, alpha[loser])
        alpha[gainer] += move
        alpha[loser] = alpha[loser] - move if move < alpha[loser] else 0.0
        shift = scale * move
        for k in range(t):
            gradient[k] -= shift * (gram[gainer, k] - gram[loser, k])
        if len(low):
            move_bounded(shift, change, bounded, low, free, gradient)


@kernel
def _held_curvature(bounded: Array, low: Array, free: Array, i: int, k: int) -> float:
    """Returns the part of the curvature between two planes that belongs to weights held at their least values."""
    curvature = 0.0
    for j in range(len(low)):
        if free[j] < low[j]:
            curvature += (bounded[i, j] - bounded[k, j]) ** 2
    return curvature
