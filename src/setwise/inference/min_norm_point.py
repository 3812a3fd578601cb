"""Submodular minimization by the minimum norm point of the base polytope (Fujishige 1980; Wolfe 1976).

To maximize a supermodular loss plus a modular score is to minimize a submodular function.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from setwise.core.batch import Orders
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Floats, Ints, Values, as_count, as_vector, shown
from setwise.core.inference import Inference, Maximizer, Solutions, Takes
from setwise.core.terms import Trait
from setwise.inference.independent_decisions import SETS, ReducedProblem

Gains = Callable[[Ints], Values]

STALLED = 50
"""After so many iterations without a smaller norm only rounding moves the point."""


def minimize_submodular(gains: Gains, p: int, max_iter: int = 10_000) -> tuple[Bools, float]:
    """``min_A f(A)`` of a submodular f with ``f(none) = 0``, by the minimum norm point (Fujishige 1980; Wolfe 1976).

    Every point x of the base polytope gives the bound ``f(A) >= sum_i min(x_i, 0)``; at the point of minimum norm a
    level set of x attains it.

    Parameters
    ----------
    gains : a function; ``gains(order)`` gives what each item adds to f along a permutation of 0..p-1, (p,)
    p : the number of items, 0 or more
    max_iter : the largest number of iterations, each of which asks for one order

    Returns
    -------
    best : (p,) truth values, the best set that was found
    bound : a lower bound of f, which equals f(best) up to rounding unless ``max_iter`` ends the search

    Raises
    ------
    TypeError : for gains that are no function, and for numbers that are not whole
    ValueError : for a p below 0, a ``max_iter`` below 1, and gains that are not p finite numbers

    Examples
    --------
    >>> from setwise.inference import minimize_submodular
    >>> c = np.array([-1.0, -0.9, 0.5])
    >>> def gains(order):  # of f(A) = sqrt(|A|) + c(A)
    ...     return np.diff(np.sqrt(np.arange(4))) + c[order]
    >>> best, bound = minimize_submodular(gains, 3)
    >>> print(best, round(bound, 4), round(np.sqrt(2) + c[best].sum(), 4))
    [ True  True False] -0.4858 -0.4858
    """
    if not callable(gains):
        raise TypeError(f"gains must be a function of an order; got {shown(gains)}.")
    as_count(p, "p", low=0)
    as_count(max_iter, "max_iter")
    return min_norm_point(lambda order: as_vector(gains(order), p, "gains"), p, max_iter)


def min_norm_point(gains: Gains, p: int, max_iter: int) -> tuple[Bools, float]:
    """The same for gains that need no checks."""
    if p == 0:
        return np.zeros(0, dtype=bool), 0.0
    best, value, bound, unit = np.zeros(p, dtype=bool), 0.0, -np.inf, _unit(gains, p)
    if unit != 1.0:
        best, least = min_norm_point(lambda order: gains(order) / unit, p, max_iter)
        return best, unit * least
    for x, order, along in _descent(gains, p, max_iter):
        values = np.cumsum(along)
        if values.min() < value:
            value = float(values.min())
            best = np.zeros(p, dtype=bool)
            best[order[: int(values.argmin()) + 1]] = True
        bound = max(bound, float(np.minimum(x, 0.0).sum()))
        # The minimum is known where the bound is attained, which may be before x has the least norm.
        if value <= bound:
            break
    return best, min(bound, value)


def least_norm(gains: Gains, p: int, max_iter: int) -> Values:
    """The point of least norm in the base polytope, (p,), or the last one found: a convex combination of vertices."""
    unit = _unit(gains, p)
    ((x, _, _),) = deque(_descent(lambda order: gains(order) / unit, p, max_iter), maxlen=1)
    return unit * x


def _unit(gains: Gains, p: int) -> float:
    """Squares of huge gains would overflow, so such functions are taken in units of their largest gain."""
    largest = float(np.abs(gains(np.arange(p))).max())
    return largest if largest > 1e100 else 1.0


def _descent(gains: Gains, p: int, max_iter: int) -> Iterator[tuple[Values, Ints, Values]]:
    """Points of falling norm, each with its order and the gains along it; the last one has the least norm."""
    # The corral of Wolfe's algorithm: vertices of the base polytope whose convex hull holds x, with weights.
    corral, weights = gains(np.arange(p))[None, :], np.ones(1)
    least, stalled = np.inf, 0
    for _ in range(max_iter):
        x = weights @ corral
        norm = float(x @ x)
        stalled = 0 if norm < least else stalled + 1
        least = min(least, norm)
        # Edmonds' greedy algorithm gives the vertex that minimizes <x, b>, and f at all level sets of x.
        order = np.argsort(x, kind="stable")
        base = np.empty(p)
        base[order] = along = gains(order)
        yield x, order, along
        # Where no vertex is nearer to 0 than x, x is the min-norm point.
        if norm <= x @ base + 1e-13 * (1.0 + float(np.abs(corral).max()) ** 2 * p) or stalled > STALLED:
            return
        corral, weights = _minor(np.vstack([corral, base]), np.append(weights, 0.0))


def _minor(corral: Values, weights: Values) -> tuple[Values, Values]:
    """Wolfe's minor cycles: moves to the min-norm point of the affine hull, and drops vertices that leave the simplex.

    Returns the remaining vertices and their weights.
    """
    while True:
        target = _affine_minimum(corral)
        if (target >= -1e-12).all():
            kept = target > 1e-12
            return corral[kept], target[kept] / target[kept].sum()
        # Go towards that point until the first weight reaches 0, and drop its vertex.
        falling = weights - target > 0
        fraction = float(np.min(np.where(falling, weights, np.inf) / np.where(falling, weights - target, 1.0)))
        weights = weights + min(fraction, 1.0) * (target - weights)
        kept = weights > 1e-12
        # Rounding may leave the vertex a tiny weight; one has to go, or the loop would not end.
        if kept.all():
            kept[np.argmin(weights)] = False
        corral, weights = corral[kept], weights[kept] / weights[kept].sum()


def _affine_minimum(corral: Values) -> Values:
    """Returns the weights that sum to 1 and minimize the norm of ``weights @ corral``."""
    # The optimality conditions, with the constraint in the scale of the Gram matrix; least squares bear a singular one.
    k = len(corral)
    system = np.zeros((k + 1, k + 1))
    system[:k, :k] = corral @ corral.T
    scale = max(float(np.abs(system).max()), 1.0)
    system[k, :k] = system[:k, k] = scale
    right_side = np.zeros(k + 1)
    right_side[k] = scale
    return np.asarray(np.linalg.lstsq(system, right_side, rcond=None)[0][:k])


@final
@dataclass(frozen=True)
class BySubmodularMinimum(Inference):
    """``max_A l(A) - m(A) = - min_A (m - l)(A)`` with ``m - l`` submodular, by the min-norm point. Exact to rounding.

    The search is that of :func:`minimize_submodular` (Fujishige 1980), for one set after another. The time is
    polynomial, and a few hundred decisions are practical. The gap that rounding leaves is part of the bound.

    Parameters
    ----------
    max_iter : largest number of iterations for a set; where it is reached, the bound is not tight

    Raises
    ------
    TypeError : for a ``max_iter`` that is no whole number
    ValueError : for one below 1
    Refusal : from :meth:`prepare`, for losses that do not promise ``Trait.SUPERMODULAR``, and slack rescaling

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import BySubmodularMinimum
    >>> from setwise.losses import Cardinality
    >>> bound_loss = Cardinality([0.0, 1.0, 4.0]).bind(Sets.single([1, 0]))  # the square of the number of mistakes
    >>> found = BySubmodularMinimum().prepare(bound_loss).maximize([1.0, -1.0])
    >>> print(found.labels, found.values.round(6))  # both wrong: 4 - 1 - 1
    [False  True] [2.]
    """

    max_iter: int = 10_000

    name: ClassVar[str] = "by_submodular_minimum"
    about: ClassVar[str] = "submodular minimization, for a few hundred decisions"
    takes: ClassVar[Takes] = replace(SETS, slack=": the product is not supermodular. Use GreedySearch.")

    def __post_init__(self) -> None:
        as_count(self.max_iter, "max_iter")

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        if Trait.SUPERMODULAR not in bound_loss.split()[1].traits:
            return (
                f"BySubmodularMinimum refuses {bound_loss!r}: it does not promise to be supermodular. Use GreedySearch."
            )
        return None

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _BySubmodularMinimum(self, bound_loss, slack)


@final
class _BySubmodularMinimum(Maximizer):
    def __init__(self, method: BySubmodularMinimum, bound_loss: BoundLoss, slack: bool) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, slack
        self._max_iter = method.max_iter
        self._reduced = ReducedProblem.of(bound_loss, slack)
        self._none = self._reduced.rest.at_empty()
        self._alone = [self._reduced.rest.take(np.array([i])) for i in range(len(bound_loss.batch))]

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        sets, margins = self._reduced.sets, self._reduced.margins(scores)
        mistakes, bounds = np.zeros(sets.total, dtype=bool), self._none.copy()
        for i, one in enumerate(self._alone):
            span = slice(sets.offsets[i], sets.offsets[i + 1])
            m = margins[span]

            # The marginal gains of m - l along an order; the defaults bind the set of this iteration.
            def gains(order: Ints, one: BoundLoss = one, m: Values = m) -> Values:
                items = order.astype(np.int32)
                return m[order] - one.gains_of(Orders(items, one.batch.truth[items], one.batch.offsets))

            found, least = min_norm_point(gains, len(m), self._max_iter)
            mistakes[span] = found
            bounds[i] -= least
        return self.solved(scores, self._reduced.labels(mistakes), bounds + self._reduced.target_shift(scores))
