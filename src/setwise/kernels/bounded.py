"""Line search in a master problem some of whose weights have least values."""

from typing import Any

from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]

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
