"""Planes below each part of a risk, kept for a master problem with one simplex a part."""

from collections.abc import Iterator
from typing import Any, final

import numpy as np

from setwise.core.arrays import Ints, Values
from setwise.core.cut import Cuts
from setwise.core.refusal import Refusal
from setwise.core.risk import Risk
from setwise.core.watched import padded
from setwise.kernels import blocks as kernels
from setwise.learners.planes import ROUNDING, Bounded

BATCH_BYTES = 1 << 25
"""Slopes of several parts are asked for in batches of at most about this size."""

SWEEPS = 20
"""The master is climbed at most so often, and in between the busiest parts at most so often."""


@final
class Blocks:
    """The master ``min_w 0.5 |w|^2 + C sum_i max_t (b_it + <a_it, w>)`` over at most K planes for each of n parts.

    ``w = max(-C sum_i sum_t alpha_it a_it, lower)`` with each ``alpha_i`` in the simplex; :attr:`lower`, its dual
    value, lies below every objective that the planes support once all parts have a plane, and never falls. Where the
    risk has floors, they are the first planes. Memory is ``8 n K (d + K + 2)`` bytes, used as planes arrive.

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
        self.C, self.gaps, self._bounds = C, np.full(n, np.inf), Bounded(risk)
        self._slopes, self._offsets, self._grams = np.zeros((n, K, d)), np.zeros((n, K)), np.zeros((n, K, K))
        self._alpha, self._counts = np.zeros((n, K)), np.zeros(n, dtype=np.int64)
        self.w, self._free = np.zeros(d), np.zeros(len(self._bounds.low))
        self._bounds.lift(self.w)
        if risk.floors is not None:
            self._offsets[:, 0], self._alpha[:, 0], self._counts[:] = risk.floors, 1.0, 1
        self._rounding = np.zeros(n)

    @property
    def _state(self) -> Any:
        bounds = self._bounds
        planes = (self._slopes, self._offsets, self._grams, self._alpha, self._counts)
        return (*planes, self.w, self.C, bounds.places, bounds.low, self._free)

    @property
    def lower(self) -> float:
        """``C sum alpha b + sum_j e_j l_j - 0.5 |w|^2``, e the multipliers of the bounds; O(n K)."""
        if not self._counts.all():
            return -np.inf
        half = 0.5 * float(self.w @ self.w)
        lifted = float(np.maximum(self._bounds.low - self._free, 0.0) @ self._bounds.low)
        size = self.C * float(np.vdot(self._alpha, np.abs(self._offsets))) + half + abs(lifted)
        lost = ROUNDING * size + self.C * float(self._rounding.sum())
        return self.C * float(np.vdot(self._alpha, self._offsets)) + lifted - half - lost

    def take(self, parts: Ints, cuts: Cuts) -> int:
        """A new plane for each of ``parts`` and a step on it; returns how many were violated at w, and so were kept.

        ``gaps`` of these parts become their shares of ``F(w) - lower`` as they were before the step.
        """
        slopes, offsets = np.ascontiguousarray(cuts.slopes), np.ascontiguousarray(cuts.offsets)
        if slopes.shape[1] > len(self.w):
            self._grow(slopes.shape[1])
        if cuts.roundings is not None:
            # A part is as uncertain as the worst of its planes.
            self._rounding[parts] = np.maximum(self._rounding[parts], cuts.roundings)
        state = (*self._state, parts, self.gaps, offsets, slopes)
        return int(kernels.climb_with(*state))

    def climb(self, order: Ints) -> Values:
        """One step for each part in ``order`` on the planes at hand; (n,) shares of the master's gap before it."""
        gaps = np.zeros(len(self.gaps))
        state = (*self._state, order, gaps)
        kernels.climb(*state)
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
        self.recompute_weights()

    def recompute_weights(self) -> None:
        """Computes w afresh from the planes, free of the rounding of many small steps."""
        kernels.weigh(self._slopes, self._alpha, self._counts, self.C, self.w)
        self._free[:] = self.w[self._bounds.places]
        self._bounds.lift(self.w)

    def plane_maxima(self, w: Values, parts: Ints) -> Values:
        """``max_t b_it + <a_it, w>`` of the chosen parts, -inf without planes, (b,)."""
        at = np.ascontiguousarray(padded(w, len(self.w))[: len(self.w)])
        return kernels.plane_maxima(self._slopes, self._offsets, self._counts, at, parts)

    def _grow(self, size: int) -> None:
        """More weights than before: planes made earlier are flat in the new ones."""
        n, K, d = self._slopes.shape
        wider = np.zeros((n, K, size))
        wider[:, :, :d] = self._slopes
        self._slopes, self.w = wider, np.concatenate([self.w, np.zeros(size - d)])


def batches(order: Ints, size: int) -> Iterator[Ints]:
    """``order`` in runs of ``size``."""
    for start in range(0, len(order), size):
        yield order[start : start + size]


def batch_size(risk: Risk, share: int) -> int:
    """One ``share``-th of the parts, fewer where their slopes would take more than ``BATCH_BYTES``, at least one."""
    return max(1, min(-(-risk.n_parts // share), BATCH_BYTES // (8 * risk.size)))
