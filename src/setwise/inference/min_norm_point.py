"""Submodular minimization by the minimum norm point of the base polytope (Fujishige 1980; Wolfe 1976)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import as_count, as_vector, shown

Floats = NDArray[np.float64]
Gains = Callable[[NDArray[np.int64]], Floats]


def minimize_submodular(gains: Gains, p: int, max_iter: int = 10_000) -> tuple[NDArray[np.bool_], float]:
    """``min_A f(A)`` for a submodular f with f(none) = 0: the best A found and a lower bound of the minimum.

    ``gains(order)`` gives the marginal gains of f along a permutation of 0..p-1, (p,). For every base x,
    ``f(A) >= sum_i min(x_i, 0)``; at the min-norm base the level sets of x attain it.
    """
    if not callable(gains):
        raise TypeError(f"gains must be a function of an order; got {shown(gains)}.")
    as_count(p, "p", low=0)
    as_count(max_iter, "max_iter")
    return min_norm_point(lambda order: as_vector(gains(order), p, "gains"), p, max_iter)


def min_norm_point(gains: Gains, p: int, max_iter: int) -> tuple[NDArray[np.bool_], float]:
    """The same for gains that need no checks."""
    if p == 0:
        return np.zeros(0, dtype=bool), 0.0
    x, best, value, bound = np.zeros(p), np.zeros(p, dtype=bool), 0.0, -np.inf
    corral = _vertex(gains, np.zeros(p))[None, :]
    # Norms are squares, so huge functions are minimized in units of their largest gain.
    unit = float(np.abs(corral).max())
    if unit > 1e100:
        best, low = min_norm_point(lambda order: gains(order) / unit, p, max_iter)
        return best, unit * low
    weights = np.ones(1)
    for _ in range(max_iter):
        x = weights @ corral
        order = np.argsort(x, kind="stable")
        base = np.empty(p)
        base[order] = steps = gains(order)
        chain = np.cumsum(steps)
        if chain.min() < value:
            value = float(chain.min())
            best = np.zeros(p, dtype=bool)
            best[order[: int(chain.argmin()) + 1]] = True
        bound = max(bound, float(np.minimum(x, 0.0).sum()))
        scale = 1e-13 * (1.0 + float(np.abs(corral).max()) ** 2 * p)
        if value <= bound or x @ x <= x @ base + scale:
            break
        corral, weights = _minor(np.vstack([corral, base]), np.append(weights, 0.0))
    return best, min(bound, value)


def _vertex(gains: Gains, x: Floats) -> Floats:
    """The base that minimizes ``<x, b>`` (Edmonds' greedy algorithm)."""
    order = np.argsort(x, kind="stable")
    out = np.empty(len(x))
    out[order] = gains(order)
    return out


def _minor(corral: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Wolfe's minor cycles: move to the min-norm point of the affine hull, dropping vertices that leave the simplex."""
    while True:
        target = _affine_minimum(corral)
        if (target >= -1e-12).all():
            kept = target > 1e-12
            return corral[kept], target[kept] / target[kept].sum()
        falling = weights - target > 0
        step = float(np.min(np.where(falling, weights, np.inf) / np.where(falling, weights - target, 1.0)))
        weights = weights + min(step, 1.0) * (target - weights)
        kept = weights > 1e-12
        if kept.all():
            kept[np.argmin(weights)] = False
        corral, weights = corral[kept], weights[kept] / weights[kept].sum()


def _affine_minimum(corral: Floats) -> Floats:
    """Weights that sum to 1 and minimize the norm of ``weights @ corral``."""
    k = len(corral)
    system = np.zeros((k + 1, k + 1))
    system[:k, :k] = corral @ corral.T
    scale = max(float(np.abs(system).max()), 1.0)
    system[k, :k] = system[:k, k] = scale
    right = np.zeros(k + 1)
    right[k] = scale
    weights: NDArray[Any] = np.linalg.lstsq(system, right, rcond=None)[0][:k]
    return weights
