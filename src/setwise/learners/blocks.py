"""Planes below each part of a risk, kept for a master problem with one simplex a part."""

from collections.abc import Iterator
from typing import final

import numpy as np

from setwise.core.cut import Cuts
from setwise.core.learner import Floats
from setwise.core.refusal import Refusal
from setwise.core.risk import Risk
from setwise.core.sets import Ints
from setwise.kernels import blocks as kernels
from setwise.learners.planes import ROUNDING

BATCH_BYTES = 1 << 25
"""Slopes of several parts are asked for in batches of at most about this size."""

SWEEPS = 20
"""The master is climbed at most so often, and in between the busiest parts at most so often."""


@final
class Blocks:
    """The master ``min_w 0.5 |w|^2 + C sum_i max_t (b_it + <a_it, w>)`` over at most K planes for each of n parts.

    ``w = -C sum_i sum_t alpha_it a_it`` with each ``alpha_i`` in the simplex; :attr:`lower`, its dual value, lies below
    every objective that the planes support, and never falls. Every part begins with the zero plane. Memory is
    ``8 n K (d + K + 2)`` bytes, used as planes arrive.

    Parameters
    ----------
    name : the learner, for the wording of its refusal
    planes : K, lowered where ``memory`` (bytes) asks for it; Refusal where not even two planes a part find room
    """

    def __init__(self, name: str, risk: Risk, C: float, planes: int, memory: float) -> None:
        n, d = risk.n_parts, risk.size
        room = int(0.5 * (np.sqrt((d + 2.0) ** 2 + memory / (2.0 * n)) - (d + 2.0)))
        if room < 2:
            raise Refusal(
                f"{name} refuses {n} parts of {d} weights: two planes for each take {16.0 * n * (d + 4):.3g} bytes, "
                f"and memory is {memory:.3g}. Use OneSlack, which keeps planes of the whole risk only."
            )
        K = min(planes, room)
        self.C, self.w, self.gaps = C, np.zeros(d), np.full(n, np.inf)
        self._slopes, self._offsets, self._grams = np.zeros((n, K, d)), np.zeros((n, K)), np.zeros((n, K, K))
        self._alpha, self._counts = np.zeros((n, K)), np.ones(n, dtype=np.int64)
        self._alpha[:, 0] = 1.0
        self._state = (self._slopes, self._offsets, self._grams, self._alpha, self._counts, self.w, C)

    @property
    def lower(self) -> float:
        """``C sum alpha b - 0.5 |w|^2``; O(n K)."""
        half = 0.5 * float(self.w @ self.w)
        size = self.C * float(np.vdot(self._alpha, np.abs(self._offsets))) + half
        return self.C * float(np.vdot(self._alpha, self._offsets)) - half - ROUNDING * size

    def take(self, parts: Ints, cuts: Cuts) -> int:
        """A new plane for each of ``parts`` and a step on it; returns how many were violated at w, and so were kept.

        ``gaps`` of these parts become their shares of ``F(w) - lower`` as they were before the step.
        """
        slopes, offsets = np.ascontiguousarray(cuts.slopes), np.ascontiguousarray(cuts.offsets)
        taken = kernels.climb_with(*self._state, parts, self.gaps, offsets, slopes)
        if taken < 0:
            raise OverflowError(f"C={self.C:g} times a plane of the risk is too large for float64; scale X or C down.")
        return int(taken)

    def climb(self, order: Ints) -> Floats:
        """One step for each part in ``order`` on the planes at hand; (n,) shares of the master's gap before it."""
        gaps = np.zeros(len(self.gaps))
        kernels.climb(*self._state, order, gaps)
        return gaps

    def solve(self, gap: float) -> None:
        """Climbs until the master's gap is at most ``gap``, mostly on the parts that keep it open."""
        everyone = np.arange(len(self.gaps))
        for _ in range(SWEEPS):
            left = self.climb(everyone)
            if left.sum() <= gap:
                break
            busy = np.flatnonzero(left > 0.5 * gap / len(left))
            for _ in range(SWEEPS):
                if self.climb(busy).sum() <= 0.5 * gap:
                    break
        self.settle()

    def settle(self) -> None:
        """Computes w afresh from the planes, free of the rounding of many small steps."""
        kernels.weigh(self._slopes, self._alpha, self._counts, self.C, self.w)

    def tops(self, w: Floats, parts: Ints) -> Floats:
        """``max_t b_it + <a_it, w>`` of the chosen parts, (b,)."""
        return kernels.tops(self._slopes, self._offsets, self._counts, w, parts)


def batches(order: Ints, size: int) -> Iterator[Ints]:
    """``order`` in runs of ``size``."""
    for start in range(0, len(order), size):
        yield order[start : start + size]


def batch_size(risk: Risk, share: int) -> int:
    """One ``share``-th of the parts, fewer where their slopes would take more than ``BATCH_BYTES``, at least one."""
    return max(1, min(-(-risk.n_parts // share), BATCH_BYTES // (8 * risk.size)))
