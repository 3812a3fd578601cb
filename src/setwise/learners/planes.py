"""Planes below the whole risk, and the master problem over them."""

from typing import final

import numpy as np

from setwise.core.checks import Ints, Values
from setwise.core.risk import Bundle, Cut, Risk
from setwise.kernels.simplex import solve_simplex

ROUNDING = 1e-14
"""A lower bound is lowered by this share of the numbers that cancel in it."""


@final
class Bounded:
    """The weights of a risk that have a least value: ``places`` (r,) and ``low`` (r,)."""

    def __init__(self, risk: Risk) -> None:
        lower = np.full(risk.size, -np.inf) if risk.lower is None else risk.lower
        self.places: Ints = np.flatnonzero(lower > -np.inf)
        self.low: Values = np.ascontiguousarray(lower[self.places])

    def clip(self, w: Values) -> float:
        """Raises ``w`` to the least values in place; returns ``sum_j e_j l_j``, their term of the dual value."""
        if len(self.places) == 0:
            return 0.0
        excess = np.maximum(self.low - w[self.places], 0.0)
        w[self.places] = np.maximum(w[self.places], self.low)
        return float(excess @ self.low)


@final
class Planes:
    """The master ``min_w 0.5 |w|^2 + C max_t (b_t + <a_t, w>)`` over t planes, for ``w >= lower``.

    ``w = max(-C sum_t alpha_t a_t, lower)`` with alpha in the simplex. For every such alpha the dual value lies below
    the minimum of the master, hence below that of the objective. The first plane is the floor of the risk, where it has
    one, and then come the planes that are known of it. The Gram matrix of the slopes grows by a row with each plane,
    O(t d); arrays double when they are full.

    Attributes
    ----------
    w, lower : the solution of the last :meth:`solve` and its dual value, less its rounding; -inf before the first plane
    """

    PATIENCE = 50
    """A plane may be dropped after this number of solutions in which it has no weight."""

    def __init__(self, risk: Risk, C: float, start: Values) -> None:
        self.C, self.count, self._bounds = C, 0, Bounded(risk)
        self._slopes, self._gram, self._offsets = np.zeros((8, risk.size)), np.zeros((8, 8)), np.zeros(8)
        self._bounded = np.zeros((8, len(self._bounds.low)))
        self._rounding, self._moved = np.zeros(8), np.zeros(8)
        self._alpha, self._idle = np.zeros(0), np.zeros(0, dtype=np.int64)
        self._moving = False
        self.w, self.lower = start, -np.inf
        if risk.floor > -np.inf:
            self.add(Cut(risk.floor, np.zeros(risk.size), risk.floor, risk.floor))
            # The floor lies below every risk, so it is never lowered.
            self._moved[0] = -np.inf
        for cut in risk.planes:
            self.add(cut)
        if self.count > 0:
            self.solve(0.0)

    @property
    def slopes(self) -> Values:
        """The slopes of the planes, (t, d)."""
        return self._slopes[: self.count]

    @property
    def offsets(self) -> Values:
        """The offsets of the planes, (t,)."""
        return self._offsets[: self.count]

    def bundle(self) -> Bundle | None:
        """The planes as they are; None if Ctrl-C came while they were being moved in memory."""
        return None if self._moving else Bundle(self.offsets, self.slopes, self._rounding[: self.count])

    def at(self, w: Values) -> float:
        """Returns ``max_t b_t + <a_t, w>`` less the rounding of the offsets, -inf without planes; O(t d)."""
        if self.count == 0:
            return -np.inf
        # A risk may have grown since; older planes are flat in its new weights.
        known = self.slopes @ w[: self._slopes.shape[1]]
        return float((self.offsets - self._rounding[: self.count] + known).max())

    def add(self, cut: Cut) -> None:
        """Adds a plane, with weight 0 unless it is the first; O(t d)."""
        t, size = self.count, len(cut.slope)
        if t == len(self._offsets) or size > self._slopes.shape[1]:
            self._resize(2 * t if t == len(self._offsets) else len(self._offsets), size)
        self._slopes[t, :size], self._slopes[t, size:] = cut.slope, 0.0
        self._offsets[t], self._rounding[t], self._moved[t] = cut.offset, cut.rounding, 0.0
        row = self._slopes[: t + 1, :size] @ cut.slope
        self._gram[t, : t + 1] = self._gram[: t + 1, t] = row
        self._bounded[t] = self._slopes[t, self._bounds.places]
        self._alpha, self._idle = np.append(self._alpha, 1.0 if t == 0 else 0.0), np.append(self._idle, 0)
        self.count = t + 1

    def stay_below(self, w: Values, value: float, moved: float) -> None:
        """Lowers each plane to at most ``value`` at w, less what the best point has moved since it was made; O(t d).

        ``moved`` is the last move, in units of the risk. For learners on risks that are not convex.
        """
        t = self.count
        self._moved[:t] += moved
        highest = value - self.slopes @ w[: self._slopes.shape[1]] - self._moved[:t]
        self._offsets[:t] = np.minimum(self._offsets[:t], highest)

    def solve(self, tol: float) -> None:
        """Solves the master to the gap ``tol``, in units of the objective, with the last alpha as the warm start."""
        t, C = self.count, self.C
        low = self._bounds.low
        solve_simplex(self._gram, self.offsets, float(C), self._alpha, self._bounded, low, tol / C, 100)
        w = -C * (self._alpha @ self.slopes)
        bound_terms = self._bounds.clip(w)
        self.w, half = w, 0.5 * float(w @ w)
        magnitude = C * float(self._alpha @ np.abs(self.offsets)) + half + abs(bound_terms)
        rounding = ROUNDING * magnitude + C * float(self._alpha @ self._rounding[:t])
        self.lower = C * float(self._alpha @ self.offsets) + bound_terms - half - rounding
        # Planes are dropped many at a time, since each drop copies the Gram matrix.
        self._idle = np.where(self._alpha > 0, 0, self._idle + 1)
        if np.count_nonzero(self._idle > self.PATIENCE) > t // 4:
            self._drop()

    def _drop(self) -> None:
        """Drops the planes that have had no weight for long."""
        keep = self._idle <= self.PATIENCE
        t = np.count_nonzero(keep)
        self._moving = True
        for array in (self._slopes, self._offsets, self._rounding, self._moved, self._bounded):
            array[:t] = array[: self.count][keep]
        self._gram[:t, :t] = self._gram[: self.count, : self.count][np.ix_(keep, keep)]
        self._alpha, self._idle, self.count = self._alpha[keep], self._idle[keep], int(t)
        self._moving = False

    def _resize(self, capacity: int, size: int) -> None:
        """Makes room for ``capacity`` planes of ``size`` weights."""
        t, width = self.count, self._slopes.shape[1]
        slopes, gram = np.zeros((capacity, size)), np.zeros((capacity, capacity))
        slopes[:t, :width], gram[:t, :t] = self.slopes, self._gram[:t, :t]
        bounded = np.zeros((capacity, self._bounded.shape[1]))
        bounded[:t] = self._bounded[:t]
        self._slopes, self._gram, self._bounded = slopes, gram, bounded
        self._offsets = np.concatenate([self.offsets, np.zeros(capacity - t)])
        self._rounding, self._moved = (
            np.concatenate([each[:t], np.zeros(capacity - t)]) for each in (self._rounding, self._moved)
        )
