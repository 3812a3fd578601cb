"""The descent on the bound of a decomposition into several parts, set by set, with few multipliers or with all.

By a proximal bundle method (Kiwiel 1990) for the minimum of a convex function, of which values and slopes are asked.
What the searches of a set keep is there for the next one.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Floats, Ints, Values
from setwise.core.inference import Inference, Maximizer, Solutions
from setwise.kernels.simplex import add_slopes, slope_products, solve_simplex
from setwise.kernels.threads import map_units

CLOSE = 1e-9
"""A bundle ends where its planes promise no more than this share of the largest score, or of the loss of one node."""

SERIOUS = 0.1
"""The centre moves where the function falls by this share of what the planes promise."""

LONGER, SHORTER, PATIENCE = 2.0, 0.5, 2
"""How the steps change after the centre has moved, and each time that it has stayed PATIENCE times in vain."""

FOREIGN = 0.5
"""A plane that is lower at the centre by this share of what was promised says little there: the step was too long."""

STRETCH = 16.0
"""How much longer a step becomes where nothing seems to be left to gain nearby."""

MOST = 100
"""So many planes are kept; the one with the least weight goes first."""

ROUNDS = 20
"""The most rounds in which the least point of the planes is found."""

NO_BOUNDS = np.zeros(0)


@final
class BundleMethod:
    """``min_x f(x)`` by ``min_x max_t [f_t + <g_t, x - x_t>] + |x - centre|^2 / (2 step)``.

    Ask for :attr:`point`, tell value and slope there by :meth:`add`, and so on. The planes are known by the products of
    their slopes and by their heights at the centre, so a step costs one product of its slope with each other one.

    Parameters
    ----------
    start : (n,) the first point
    value, slope : those of the function there; all slopes have the dtype of this one, and 100 of them are kept
    goal : a number that is not above the minimum; the first step would reach it if the slope stayed the same

    Attributes
    ----------
    centre, value : the best point so far and its value
    point : where the function is asked for next
    decrease : how far the function may fall below ``value``, by the planes, within about a step
    """

    def __init__(self, start: Values, value: float, slope: NDArray[Any], goal: float) -> None:
        self.centre, self.point, self.value, self.decrease = start, start, value, 0.0
        self._stays, self._size = 0, 1
        self._slopes: NDArray[Any] = np.empty((MOST, len(start)), slope.dtype)
        self._gram, self._alpha = np.zeros((MOST, MOST)), np.zeros(MOST)
        # The heights of the planes at the centre, and how much higher they are at the point.
        self._heights, self._rises, self._bounded = np.zeros(MOST), np.zeros(MOST), np.zeros((MOST, 0))
        self._keep(0, slope)
        self._heights[0], self._alpha[0] = value, 1.0
        self._step = max(value - goal, 0.0) / (self._gram[0, 0] or 1.0)
        self._next()

    def add(self, value: float, slope: NDArray[Any]) -> None:
        """Take the value and the slope at :attr:`point`, and find the next point."""
        place = self._place()
        self._keep(place, slope)
        self._rises[place] = float(slope @ (self.point - self.centre))
        self._heights[place] = value - self._rises[place]
        if value <= self.value - SERIOUS * self.decrease:
            self._step *= LONGER
            self._heights[: self._size] += self._rises[: self._size]
            self.centre, self.value, self._stays = self.point, value, 0
        elif self.value - self._heights[place] > FOREIGN * self.decrease:
            self._stays += 1
            if self._stays % PATIENCE == 0:
                self._step *= SHORTER
        self._next()

    def stretch(self) -> None:
        """Make the step longer, so that the point and what it promises are further away."""
        self._step *= STRETCH
        self._next()

    def _place(self) -> int:
        """Where the next plane is stored: a new place, or that of the plane of least weight."""
        if self._size < MOST:
            self._size += 1
            return self._size - 1
        place = int(self._alpha.argmin())
        self._alpha[place] = 0.0
        return place

    def _keep(self, place: int, slope: NDArray[Any]) -> None:
        """Store a slope and its products with all others."""
        self._slopes[place] = slope
        products = np.empty(self._size)
        slope_products(self._slopes, slope, products)
        self._gram[place, : self._size] = self._gram[: self._size, place] = products

    def _next(self) -> None:
        """The point of the least model, and what it promises."""
        size, step = self._size, self._step
        heights, alpha = self._heights[:size], self._alpha[:size]
        solve_simplex(self._gram, heights, step, alpha, self._bounded, NO_BOUNDS, 0.0, ROUNDS)
        self.point = self.centre.copy()
        add_slopes(self._slopes, -step * alpha, self.point)
        self._rises[:size] = -step * (self._gram[:size, :size] @ alpha)
        self.decrease = self.value - float((heights + self._rises[:size]).max())


class DualPoint(NamedTuple):
    """What the parts answer to multipliers m.

    Attributes
    ----------
    bound : an upper bound of the best value
    level, slope : ``level + <slope, m' - m>`` lies below the least upper bound at all m'
    labelings : candidates
    """

    bound: float
    level: float
    slope: Values
    labelings: Iterable[NDArray[Any]]


@final
class SetDescent:
    """The labels and bounds of one set that a descent has seen so far.

    Parameters
    ----------
    at : what the parts answer to multipliers (n,), where value and bound are a gap apart, inf at first
    value : that of labels, -inf where they are forbidden
    labels : the first ones
    scale : the size of multipliers that reverse a label
    rounding : what it changes in values and bounds next to a value
    tol : value and bound that are so close are close enough
    left : how many bounds may still be computed
    hopeless : a descent ends where the bound can fall by no more than this share of the gap

    Attributes
    ----------
    labels, best : the best labels so far, and their value
    bound : the lowest bound so far
    """

    def __init__(
        self,
        at: Callable[[Values, float], DualPoint],
        value: Callable[[NDArray[Any]], float],
        labels: NDArray[Any],
        scale: float,
        rounding: Callable[[float], float],
        tol: float,
        left: int,
        hopeless: float = 0.0,
    ) -> None:
        self._at, self._value, self._scale, self._rounding, self._tol = at, value, scale, rounding, tol
        self._left, self._hopeless = left, hopeless
        self.labels, self.best, self.bound = labels, value(labels), np.inf

    @property
    def done(self) -> bool:
        """Whether value and bound are close enough, or no evaluations are left."""
        close = max(self._tol, self._rounding(self.best)) if self.best > -np.inf else 0.0
        return self._left <= 0 or self.bound - self.best <= close

    def offer(self, labelings: Iterable[NDArray[Any]]) -> None:
        """Take labels that are better than the best ones so far."""
        for labels in labelings:
            value = self._value(labels)
            if value > self.best:
                self.best, self.labels = value, labels

    def at(self, multipliers: Values) -> DualPoint:
        """What the parts answer; bounds and labelings count."""
        self._left -= 1
        seen = self._at(multipliers, self.bound - self.best)
        self.bound = min(self.bound, seen.bound)
        self.offer(seen.labelings)
        return seen

    def lower(self, start: Values, sides: Values | None = None) -> Values:
        """Lower the bound from ``start``, with the multipliers ``sides @ x``, or x itself; returns the best x."""

        def plane(x: Values) -> tuple[float, Values]:
            seen = self.at(x if sides is None else sides @ x)
            return seen.level, seen.slope if sides is None else seen.slope @ sides

        level, slope = plane(start)
        goal = self.best if self.best > -np.inf else level - self._scale * float(slope @ slope)
        bundle = BundleMethod(start, level, slope, goal)
        while not self.done and bundle.decrease > self._least:
            bundle.add(*plane(bundle.point))
        return bundle.centre

    @property
    def _least(self) -> float:
        """A descent ends where its planes promise no more than this."""
        gap = self.bound - self.best
        return max(CLOSE * self._scale, self._hopeless * gap if np.isfinite(gap) else 0.0)


def size_of(scores: Values, total: int) -> float:
    """The size of multipliers that reverse a label: that of the scores, or of the loss of one of ``total`` labels."""
    return 1e-3 / total + float(np.abs(scores).max())


class SearchResult(Protocol):
    """What a search has found: labels (p,), and an upper bound of the best value."""

    @property
    def labels(self) -> NDArray[Any]:
        """The best labels."""

    @property
    def bound(self) -> float:
        """The least upper bound."""


Unit = TypeVar("Unit")


@final
class PerSetMaximizer(Maximizer):
    """``search(unit, scores, tol)`` for each set; threads share the sets, and parts share the units.

    Parameters
    ----------
    method, bound_loss : as in :class:`setwise.core.inference.Maximizer`, margin rescaling
    units : one for each set, with all that its searches keep
    search : finds the labels of one set for its scores (float64) and its tolerance
    """

    def __init__(
        self,
        method: Inference,
        bound_loss: BoundLoss,
        units: Sequence[Unit],
        search: Callable[[Unit, Values, float], SearchResult],
    ) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, False
        self._units: Sequence[Any] = units
        self._search: Callable[[Any, Values, float], SearchResult] = search

    def take(self, parts: Ints) -> Maximizer:
        return PerSetMaximizer(self.method, self.bound_loss.take(parts), [self._units[i] for i in parts], self._search)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        spans = self.bound_loss.batch.score_offsets

        def one(i: int) -> SearchResult:
            return self._search(self._units[i], scores[spans[i] : spans[i + 1]].astype(np.float64), float(tol[i]))

        found = map_units(one, range(len(self._units)))
        labels = np.concatenate([search.labels for search in found])
        return self.solved(scores, labels, np.array([search.bound for search in found]))


def each_set(bound_loss: BoundLoss) -> list[BoundLoss]:
    """The bound loss of each set by itself."""
    return [bound_loss.take(np.array([i])) for i in range(len(bound_loss.batch))]
