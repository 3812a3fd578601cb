"""The descent on the bound of a decomposition into several parts, set by set, with few multipliers or with all.

By a proximal bundle method (Kiwiel 1990) for the minimum of a convex function, of which values and slopes are asked.
What the searches of a set keep is there for the next one.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Floats, Ints, Values
from setwise.core.inference import Inference, Maximizer, Solutions, rounding_next_to
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

Unit = TypeVar("Unit")

SetSearch = Callable[[Unit, Values, float], tuple[NDArray[Any], float]]
"""The best labels of one set that were found for its scores and a tolerance, and a bound of all values."""


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


@final
@dataclass(frozen=True, eq=False)
class DualPoint:
    """What the parts answer to multipliers m.

    Attributes
    ----------
    bound : an upper bound of the best value
    level, slope : ``level + <slope, m' - m>`` lies below the least upper bound at all m'
    labelings : candidates
    multipliers : m
    """

    bound: float
    level: float
    slope: NDArray[Any]
    labelings: Sequence[NDArray[Any]]
    multipliers: Values


@final
@dataclass(eq=False)
class Descent:
    """The labels and bounds of one set that a search has seen so far.

    Parameters
    ----------
    ask : what the parts answer to multipliers (n,), where value and bound are a gap apart, inf at first
    bound_loss, scores : the loss and the scores of the set, margin rescaling
    labels : the first ones, which become the best ones so far
    tol : value and bound that are so close are close enough
    left : how many bounds may still be computed
    least : a bundle ends where the bound can fall by no more than this
    hopeless : or by no more than this share of the gap

    Attributes
    ----------
    best : the value of the labels, -inf where they are forbidden
    lowest, last : the answer with the lowest bound so far, and the last one
    """

    ask: Callable[[Values, float], DualPoint]
    bound_loss: BoundLoss
    scores: Values
    labels: NDArray[Any]
    tol: float
    left: int
    least: float = 0.0
    hopeless: float = 0.0

    def __post_init__(self) -> None:
        self.best, nothing = self.value(self.labels), np.zeros(len(self.labels))
        self.lowest = self.last = DualPoint(np.inf, np.inf, nothing, [], nothing)

    @property
    def bound(self) -> float:
        """The lowest bound so far."""
        return self.lowest.bound

    @property
    def close(self) -> float:
        """Value and bound that are so close are close enough, or differ by rounding alone."""
        if self.best == -np.inf:
            return 0.0
        return max(self.tol, rounding_next_to(self.best, self.scores, self.bound_loss.batch))

    @property
    def done(self) -> bool:
        """Whether value and bound are close enough, or no evaluations are left."""
        return self.left <= 0 or self.bound - self.best <= self.close

    def value(self, labels: NDArray[Any]) -> float:
        """The value of labels, relative to the target."""
        return float(self.bound_loss.values(labels)[0] + self.bound_loss.batch.won(self.scores, labels)[0])

    def offer(self, labelings: Iterable[NDArray[Any]]) -> None:
        """Take labels that are better than the best ones so far."""
        for labels in labelings:
            value = self.value(labels)
            if value > self.best:
                self.best, self.labels = value, labels

    def at(self, multipliers: Values) -> DualPoint:
        """What the parts answer; bounds and labelings count."""
        return self.see(self.ask(multipliers, self.bound - self.best))

    def see(self, answer: DualPoint) -> DualPoint:
        """Take an answer, which it returns."""
        self.left -= 1
        self.last = answer
        if answer.bound < self.bound:
            self.lowest = answer
        self.offer(answer.labelings)
        return answer

    def lower(
        self, start: Values, sides: Values | None = None, seen: DualPoint | None = None, stretches: int = 0
    ) -> Values:
        """Lower the bound from ``start``, with the multipliers ``sides @ x``, or x itself; returns the best x.

        The start is not asked for again where it was ``seen``. Where the planes promise nothing more, the step becomes
        longer, so many times in a row.
        """

        def plane(answer: DualPoint) -> tuple[float, NDArray[Any]]:
            return answer.level, answer.slope if sides is None else answer.slope @ sides

        def at(x: Values) -> DualPoint:
            return self.at(x if sides is None else sides @ x)

        level, slope = plane(seen or at(start))
        # The size of multipliers that reverse a label: that of the scores, or of the loss of one label.
        scale = 1e-3 / len(self.labels) + float(np.abs(self.scores).max())
        goal = self.best if self.best > -np.inf else level - scale * float(slope @ slope)
        bundle, vain = BundleMethod(start, level, slope, goal), 0
        while not self.done:
            gap = self.bound - self.best
            if bundle.decrease > max(CLOSE * scale, self.least, self.hopeless * gap if np.isfinite(gap) else 0.0):
                vain = 0
                bundle.add(*plane(at(bundle.point)))
            elif vain < stretches:
                vain += 1
                bundle.stretch()
            else:
                break
        return bundle.centre


@final
@dataclass(frozen=True, eq=False)
class PerSetMaximizer(Maximizer):
    """``search(unit, scores, tol)`` for each set; threads share the sets, and parts share the units.

    Parameters
    ----------
    method, bound_loss : as in :class:`setwise.core.inference.Maximizer`, margin rescaling
    units : one for each set, with all that its searches keep
    search : finds the labels (p,) of one set for its scores (float64) and its tolerance, and an upper bound
    """

    method: Inference
    bound_loss: BoundLoss
    units: Sequence[Any]
    search: SetSearch[Any]
    slack: bool = False

    @classmethod
    def of(
        cls, method: Inference, bound_loss: BoundLoss, unit: Callable[[BoundLoss], Unit], search: SetSearch[Unit]
    ) -> "PerSetMaximizer":
        """The maximizer with the ``unit`` of the bound loss of each set by itself."""
        alone = (bound_loss.take(np.array([i])) for i in range(len(bound_loss.batch)))
        return cls(method, bound_loss, [unit(one) for one in alone], search)

    def take(self, parts: Ints) -> Maximizer:
        return replace(self, bound_loss=self.bound_loss.take(parts), units=[self.units[i] for i in parts])

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        spans = self.bound_loss.batch.score_offsets

        def one(i: int) -> tuple[NDArray[Any], float]:
            return self.search(self.units[i], scores[spans[i] : spans[i + 1]].astype(np.float64), float(tol[i]))

        labels, bounds = zip(*map_units(one, range(len(self.units))), strict=True)
        return self.solved(scores, np.concatenate(labels), np.array(bounds))
