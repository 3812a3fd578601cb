"""A proximal bundle method (Kiwiel 1990) for the minimum of a convex function, of which values and slopes are asked."""

from typing import final

import numpy as np

from setwise.core.arrays import Values
from setwise.kernels.simplex import solve_simplex

SERIOUS = 0.1
"""The centre moves where the function falls by this share of what the planes promise."""

LONGER, SHORTER = 2.0, 0.5
"""How the steps change after the centre has moved, and after it has stayed several times."""

MOST = 100
"""So many planes are kept; those with the least weight go first."""


@final
class Bundle:
    """``min_x f(x)`` by ``min_x max_t [f_t + <g_t, x - x_t>] + |x - centre|^2 / (2 step)``.

    Ask for :attr:`point`, tell value and slope there by :meth:`add`, and so on.

    Attributes
    ----------
    centre, value : the best point so far and its value
    point : where the function is asked for next
    decrease : how far the function may fall below ``value``, by the planes, within about a step; inf at first
    """

    def __init__(self, start: Values, step: float) -> None:
        self.centre, self.point, self.value, self.decrease = start, start, np.inf, np.inf
        self._step, self._stays = step, 0
        self._slopes, self._offsets = np.zeros((0, len(start))), np.zeros(0)
        self._gram, self._alpha = np.zeros((0, 0)), np.zeros(0)

    def add(self, value: float, slope: Values) -> None:
        """Take the value and the slope at :attr:`point`, and find the next point."""
        if value <= self.value - SERIOUS * self.decrease or self.value == np.inf:
            self._step *= 1.0 if self.value == np.inf else LONGER
            self.centre, self.value, self._stays = self.point, value, 0
        else:
            self._stays += 1
            if self._stays % 3 == 0:
                self._step *= SHORTER
        self._keep(value - float(slope @ self.point), slope)
        self._next()

    def _keep(self, offset: float, slope: Values) -> None:
        """Add a plane; the one of least weight goes where there are too many."""
        if len(self._offsets) == MOST:
            kept = np.argsort(self._alpha)[1:]
            self._slopes, self._offsets, self._alpha = self._slopes[kept], self._offsets[kept], self._alpha[kept]
            self._gram = self._gram[np.ix_(kept, kept)]
        products = self._slopes @ slope
        self._gram = np.block([[self._gram, products[:, None]], [products[None], np.array([[slope @ slope]])]])
        self._slopes, self._offsets = np.vstack([self._slopes, slope]), np.append(self._offsets, offset)
        self._alpha = np.append(self._alpha, 0.0 if len(self._alpha) else 1.0)
        self._alpha /= self._alpha.sum()

    def _next(self) -> None:
        """The point of the least model, and what it promises."""
        levels = self._offsets + self._slopes @ self.centre
        none = np.zeros((len(levels), 0))
        gram = np.ascontiguousarray(self._gram)
        solve_simplex(gram, levels, self._step, self._alpha, none, np.zeros(0), 0.0, 20)
        move = -self._step * (self._alpha @ self._slopes)
        self.point = self.centre + move
        self.decrease = self.value - float((levels + self._slopes @ move).max())
