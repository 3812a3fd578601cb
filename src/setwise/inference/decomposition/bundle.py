"""A proximal bundle method (Kiwiel 1990) for the minimum of a convex function, of which values and slopes are asked."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Values
from setwise.kernels.simplex import add_slopes, slope_products, solve_simplex

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
class Bundle:
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
