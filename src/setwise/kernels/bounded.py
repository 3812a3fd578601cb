"""Bounded weights in a master problem: the best step along a line, and what it does to their multipliers."""

from typing import Any

from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]

RIDGE = 1e-14
"""Curvature added to every direction, relative to the largest plane: copies of planes then stay harmless."""


@kernel
def search_line(
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
def move_bounded(shift: float, change: Array, bounded: Array, low: Array, free: Array, gradient: Array) -> None:
    """Moves v by ``-shift change`` and the gradient by what the multipliers change."""
    for j in range(len(low)):
        before = max(low[j] - free[j], 0.0)
        free[j] -= shift * change[j]
        moved = max(low[j] - free[j], 0.0) - before
        if moved != 0.0:
            for k in range(len(gradient)):
                gradient[k] += moved * bounded[k, j]
