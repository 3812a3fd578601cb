"""The master problem of a cutting-plane method: a concave quadratic over the simplex, with bounds on some weights.

Pairwise steps are ended by Newton's method on the planes in use; where weights have least values, a line search moves
them.

The planes ``b_t + <a_t, w>`` have weights alpha in the simplex. Without bounds ``w = v = -scale sum_t alpha_t a_t``;
where w_j has a least value l_j, it is ``w_j = max(v_j, l_j)``, and the multiplier of the bound is
``e_j = w_j - v_j >= 0``. That is the best choice of the multipliers for given alpha, so they are eliminated: the value
of each plane is

    g_t = b_t - scale (G alpha)_t + sum_j e_j B_tj,

where B holds the columns of the slopes that belong to bounded weights, and the dual is a concave, piecewise quadratic
function of alpha with the gradient g. Line searches are exact.
"""

from typing import cast

import numpy as np

from setwise.kernels.jit import Array, FunctionWithTwin, kernel, plain_first

RIDGE = 1e-14
"""The least curvature of a direction, relative to that of its planes: without it, two copies of a plane divide by 0."""


@kernel
def search_line(
    slope: float, curvature: float, scale: float, change: Array, low: Array, free: Array, longest: float
) -> float:
    """Returns the x in [0, ``longest``] that maximizes the dual along a line, on which v moves by ``-scale change x``.

    The derivative at x is ``slope - curvature x + sum_j (e_j(x) - e_j(0)) change_j`` with the multipliers
    ``e_j = max(low_j - v_j, 0)``. It falls and is piecewise linear, so Newton's method from the left ends after as many
    iterations as pieces are crossed, O(r) each.
    """
    x = 0.0
    # Each weight reaches or leaves its bound once at most; the rest is room for rounding.
    for _ in range(2 * len(low) + 2):
        derivative, piece_curvature = slope - curvature * x, curvature
        for j in range(len(low)):
            excess = low[j] - free[j] + scale * x * change[j]
            # A weight at its least value does not move, so its share is taken off the curvature.
            if excess > 0.0 or (excess == 0.0 and change[j] > 0.0):
                piece_curvature -= scale * change[j] * change[j]
            derivative += (max(excess, 0.0) - max(low[j] - free[j], 0.0)) * change[j]
        # Where held weights take all of the curvature away, only rounding is left of it.
        piece_curvature = max(piece_curvature, RIDGE * curvature)
        if not derivative > 0.0:
            # The last step went too far, from a piece of less curvature. One back with all of it can not overshoot.
            return max(min(x + derivative / curvature, longest), 0.0) if derivative < 0.0 else min(x, longest)
        ahead = x + derivative / piece_curvature
        # Stop at the first x at which a weight reaches or leaves its least value.
        for j in range(len(low)):
            if change[j] != 0.0:
                border = (free[j] - low[j]) / (scale * change[j])
                if x < border < ahead:
                    ahead = border
        if ahead >= longest:
            return longest
        # A step that rounding swallows is the last one.
        if ahead <= x:
            return x
        x = ahead
    return min(x, longest)


@kernel
def move_bounded(shift: float, change: Array, bounded: Array, low: Array, free: Array, gradient: Array) -> None:
    """Moves v by ``-shift change`` and the gradient by what the multipliers of the bounds change; O(t r)."""
    for j in range(len(low)):
        before = max(low[j] - free[j], 0.0)
        free[j] -= shift * change[j]
        moved = max(low[j] - free[j], 0.0) - before
        # Only a multiplier that was or becomes positive reaches the gradient.
        if moved != 0.0:
            for k in range(len(gradient)):
                gradient[k] += moved * bounded[k, j]


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
            # Rounding may carry the weight that limits the step below 0.
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
    # Rounding may leave a curvature below 0, and 1e-300 spares a division by 0.
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
    # 1e-300 keeps the pivots of planes without a slope above 0.
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


def _plain_solve_simplex(
    gram: Array, offsets: Array, scale: float, alpha: Array, bounded: Array, low: Array, tol: float, rounds: int
) -> float:
    if len(low):
        return float(
            cast("FunctionWithTwin", solve_simplex).kernel(gram, offsets, scale, alpha, bounded, low, tol, rounds)
        )
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
    # The kernel begins at 0, which makes one zero of two.
    return float(np.cumsum(alpha[used] * (gradient.max() - gradient[used]))[-1]) + 0.0


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
    """Returns the duality gap ``sum_t alpha_t (max_s g_s - g_t)``, never negative; O(t)."""
    top, out = -np.inf, 0.0
    for k in range(len(alpha)):
        top = max(top, gradient[k])
    # Differences are weighted, not the numbers: alpha sums to 1 only up to rounding.
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
        # A plane that gives up all its weight has exactly 0 then, and counts as not in use.
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


@kernel
def slope_products(slopes: Array, slope: Array, out: Array) -> None:
    """Writes ``out[t] = <slopes[t], slope>`` for the first ``len(out)`` of the slopes (t, n).

    O(n), and O(len(out)) for each entry of the slope that is not 0.
    """
    if len(out) > slopes.shape[0] or len(slope) != slopes.shape[1]:
        raise ValueError("slopes must be as long as the slope, and one for each product")
    at = np.flatnonzero(slope)
    for t in range(len(out)):
        total = 0.0
        row = slopes[t]
        for i in at:
            total += row[i] * slope[i]
        out[t] = total


@kernel
def add_slopes(slopes: Array, weights: Array, out: Array) -> None:
    """Adds ``sum_t weights_t slopes[t]`` to ``out`` (n,); O(n) for each weight that is not 0."""
    if len(weights) > slopes.shape[0] or len(out) != slopes.shape[1]:
        raise ValueError("there must be a slope for each weight, and all must be as long as the sum")
    for t in range(len(weights)):
        weight = weights[t]
        if weight != 0.0:
            row = slopes[t]
            for i in range(len(out)):
                out[i] += weight * row[i]
