"""Planes below a risk, kept for a master problem."""

from typing import final

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.simplex import solve_simplex

Floats = NDArray[np.float64]


ROUNDING = 1e-14
"""Lower bounds give way by this part of the numbers that cancel in them."""


@final
class Planes:
    """The master ``min_w 0.5 |w|^2 + C max_t (b_t + <a_t, w>)`` over t planes, with the zero plane always first.

    ``w = -C sum_t alpha_t a_t`` with alpha in the simplex, and for every such alpha the dual value
    ``C b'alpha - 0.5 |w|^2`` lies below the master, hence below every objective that the planes support.
    The Gram matrix of the slopes grows by a row with each plane, O(t d); arrays double when they are full.

    Attributes
    ----------
    w, lower : the solution of the last :meth:`solve` and its dual value
    """

    PATIENCE = 50
    """A plane leaves after so many solves without weight."""

    def __init__(self, size: int, C: float) -> None:
        self.C, self.count = C, 1
        self._slopes, self._gram, self._offsets = np.zeros((8, size)), np.zeros((8, 8)), np.zeros(8)
        self._alpha, self._idle = np.ones(1), np.zeros(1, dtype=np.int64)
        self.w, self.lower = np.zeros(size), 0.0

    @property
    def slopes(self) -> Floats:
        """(t, d)."""
        return self._slopes[: self.count]

    @property
    def offsets(self) -> Floats:
        """(t,)."""
        return self._offsets[: self.count]

    def at(self, w: Floats) -> float:
        """``max_t b_t + <a_t, w>``; O(t d)."""
        return float((self.offsets + self.slopes @ w).max())

    def add(self, offset: float, slope: Floats) -> None:
        """One more plane, with weight 0; OverflowError where the square of C times its length is not finite."""
        t = self.count
        if t == len(self._offsets):
            self._resize(2 * t)
        self._slopes[t], self._offsets[t] = slope, offset
        with np.errstate(over="ignore", invalid="ignore"):
            row = self._slopes[: t + 1] @ slope
            largest = 4.0 * np.maximum(self.C, np.square(self.C)) * row[t]
        if not np.isfinite(largest) or not np.isfinite(self.C * offset):
            raise OverflowError(f"C={self.C:g} times a plane of the risk is too large for float64; scale X or C down.")
        self._gram[t, : t + 1] = self._gram[: t + 1, t] = row
        self._alpha, self._idle = np.append(self._alpha, 0.0), np.append(self._idle, 0)
        self.count = t + 1

    def solve(self, tol: float) -> None:
        """Solves the master to the gap ``tol`` (in units of the objective), from the last alpha on."""
        solve_simplex(self._gram, self.offsets, self.C, self._alpha, tol / self.C, 100)
        self.w = -self.C * (self._alpha @ self.slopes)
        size = self.C * float(self._alpha @ np.abs(self.offsets)) + 0.5 * float(self.w @ self.w)
        self.lower = self.C * float(self._alpha @ self.offsets) - 0.5 * float(self.w @ self.w) - ROUNDING * size
        self._idle = np.where(self._alpha > 0, 0, self._idle + 1)
        if np.count_nonzero(self._idle > self.PATIENCE) > self.count // 4:
            self._drop()

    def _drop(self) -> None:
        keep = self._idle <= self.PATIENCE
        keep[0] = True
        t = np.count_nonzero(keep)
        self._slopes[:t], self._offsets[:t] = self.slopes[keep], self.offsets[keep]
        self._gram[:t, :t] = self._gram[: self.count, : self.count][np.ix_(keep, keep)]
        self._alpha, self._idle, self.count = self._alpha[keep], self._idle[keep], int(t)

    def _resize(self, capacity: int) -> None:
        t = self.count
        slopes, gram, offsets = self.slopes, self._gram[:t, :t], self.offsets
        self._slopes, self._gram = np.zeros((capacity, slopes.shape[1])), np.zeros((capacity, capacity))
        self._offsets = np.zeros(capacity)
        self._slopes[:t], self._gram[:t, :t], self._offsets[:t] = slopes, gram, offsets
