"""Master problems: planes below the whole risk, or below each part of it, and the least point above them."""

from collections.abc import Iterator
from typing import Any, final

import numpy as np

from setwise.core.checks import Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.pages import LEARNERS
from setwise.core.promises import padded
from setwise.core.risk import Bundle, CuttingPlane, PartPlanes, Risk
from setwise.kernels import blocks as kernels
from setwise.kernels.simplex import solve_simplex

ROUNDING = 1e-14
"""A lower bound is lowered by this share of the numbers that cancel in it."""


@final
class LowerBounds:
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
class PlaneMaster:
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
        self.C, self.count, self._bounds = C, 0, LowerBounds(risk)
        self._slopes, self._gram, self._offsets = np.zeros((8, risk.size)), np.zeros((8, 8)), np.zeros(8)
        self._bounded = np.zeros((8, len(self._bounds.low)))
        self._rounding, self._moved = np.zeros(8), np.zeros(8)
        self._alpha, self._idle = np.zeros(0), np.zeros(0, dtype=np.int64)
        self._moving = False
        self.w, self.lower = start, -np.inf
        if risk.floor > -np.inf:
            self.add(CuttingPlane(risk.floor, np.zeros(risk.size), risk.floor, risk.floor))
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

    def add(self, cut: CuttingPlane) -> None:
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
        self._slopes, self._gram = _grown(self._slopes, capacity, size), _grown(self._gram, capacity, capacity)
        self._bounded = _grown(self._bounded, capacity, self._bounded.shape[1])
        self._offsets, self._rounding, self._moved = (
            _grown(each, capacity) for each in (self._offsets, self._rounding, self._moved)
        )


BATCH_BYTES = 1 << 25
"""The slopes of several parts are computed in batches of at most about this size, in bytes."""

SWEEPS = 20
"""The largest number of sweeps over all parts in one solution, and of sweeps over the busiest parts after each."""


@final
class BlockMaster:
    """The master ``min_w 0.5 |w|^2 + C sum_i max_t (b_it + <a_it, w>)`` over at most K planes for each of n parts.

    ``w = max(-C sum_i sum_t alpha_it a_it, least values)`` with each ``alpha_i`` in a simplex. :attr:`lower` is the
    dual value (MLSP Eq. 10 to 13, for any planes): it lies below the objective of every w once all parts have a plane,
    and it never falls. Where the risk has floors, these are the first planes. Memory is ``8 n K (d + K + 2)`` bytes,
    used as planes arrive.

    Parameters
    ----------
    name : the learner, for the wording of its refusal
    planes : K, lowered to fit into ``memory`` (bytes); Refusal where not even two planes for each part fit
    """

    def __init__(self, name: str, risk: Risk, C: float, planes: int, memory: float) -> None:
        n, d = risk.n_parts, risk.size
        # The largest K with 8 n K (d + K + 2) bytes in memory.
        most = int(0.5 * (np.sqrt((d + 2.0) ** 2 + memory / (2.0 * n)) - (d + 2.0)))
        if most < 2:
            raise Refusal(
                f"{name} refuses {n} parts of {d} weights: two planes for each take {16.0 * n * (d + 4):.3g} bytes, "
                f"and memory is {memory:.3g}. Use OneSlack, which keeps planes of the whole risk only.",
                LEARNERS,
            )
        K = min(planes, most)
        self.C, self.gaps, self._bounds = C, np.full(n, np.inf), LowerBounds(risk)
        self._slopes, self._offsets, self._grams = np.zeros((n, K, d)), np.zeros((n, K)), np.zeros((n, K, K))
        self._alpha, self._counts = np.zeros((n, K)), np.zeros(n, dtype=np.int64)
        self.w, self._free = np.zeros(d), np.zeros(len(self._bounds.low))
        self._bounds.clip(self.w)
        if risk.floors is not None:
            self._offsets[:, 0], self._alpha[:, 0], self._counts[:] = risk.floors, 1.0, 1
        self._rounding = np.zeros(n)
        if risk.part_planes is not None:
            self._begin(risk.part_planes)

    @property
    def _state(self) -> Any:
        bounds = self._bounds
        planes = (self._slopes, self._offsets, self._grams, self._alpha, self._counts)
        return (*planes, self.w, float(self.C), bounds.places, bounds.low, self._free)

    @property
    def lower(self) -> float:
        """The dual value ``C sum alpha b + sum_j e_j l_j - 0.5 |w|^2``, with multipliers e of the bounds; O(n K).

        It is lowered by its rounding, and -inf as long as a part has no plane.
        """
        if not self._counts.all():
            return -np.inf
        half = 0.5 * float(self.w @ self.w)
        bound_terms = float(np.maximum(self._bounds.low - self._free, 0.0) @ self._bounds.low)
        magnitude = self.C * float(np.vdot(self._alpha, np.abs(self._offsets))) + half + abs(bound_terms)
        rounding = ROUNDING * magnitude + self.C * float(self._rounding.sum())
        return self.C * float(np.vdot(self._alpha, self._offsets)) + bound_terms - half - rounding

    def bundle(self) -> Bundle | None:
        """For each part the mean ``sum_t alpha_it (b_it, a_it)`` of its planes, which has the same :attr:`lower`.

        None as long as a part has no plane.
        """
        if not self._counts.all():
            return None
        slopes = np.einsum("nk,nkd->nd", self._alpha, self._slopes)
        return Bundle(np.einsum("nk,nk->n", self._alpha, self._offsets), slopes, self._rounding.copy(), whole=False)

    def _begin(self, known: Bundle) -> None:
        """Takes one plane for each part, with all the weight; floors stay beside them."""
        rows, at = np.arange(len(self._counts)), self._counts.copy()
        self._alpha[:] = 0.0
        self._offsets[rows, at], self._slopes[rows, at], self._alpha[rows, at] = known.offsets, known.slopes, 1.0
        self._grams[rows, at, at] = np.einsum("nd,nd->n", known.slopes, known.slopes)
        self._rounding[:] = known.roundings
        self._counts += 1
        self.recompute_weights()

    def take(self, parts: Ints, cuts: PartPlanes) -> int:
        """Takes a new plane for each of ``parts`` and climbs; returns how many were violated at w, and so were kept.

        ``gaps`` of these parts become their shares of ``F(w) - lower``, F the objective, as they were before.
        """
        slopes, offsets = np.ascontiguousarray(cuts.slopes), np.ascontiguousarray(cuts.offsets)
        if slopes.shape[1] > len(self.w):
            self._grow(slopes.shape[1])
        if cuts.roundings is not None:
            # A part is as uncertain as the worst of its planes.
            self._rounding[parts] = np.maximum(self._rounding[parts], cuts.roundings)
        state = (*self._state, parts, self.gaps, offsets, slopes)
        return int(kernels.climb(*state))

    def climb(self, order: Ints) -> Values:
        """Climbs for each part in ``order`` on its planes; returns the shares (n,) of the master's gap before that."""
        gaps = np.zeros(len(self.gaps))
        state = (*self._state, order, gaps, np.zeros(0), np.zeros((0, len(self.w))))
        kernels.climb(*state)
        return gaps

    def solve(self, gap: float) -> None:
        """Climbs until the master's gap is at most ``gap``, mostly for the parts that contribute most to it."""
        all_parts = np.arange(len(self.gaps))
        for _ in range(SWEEPS):
            gaps = self.climb(all_parts)
            if gaps.sum() <= gap:
                break
            # The parts of smaller shares add up to half of the allowed gap at most.
            busy = np.flatnonzero(gaps > 0.5 * gap / len(gaps))
            for _ in range(SWEEPS):
                if self.climb(busy).sum() <= 0.5 * gap:
                    break
        self.recompute_weights()

    def recompute_weights(self) -> None:
        """Computes w afresh from the planes, without the rounding of many small updates."""
        kernels.weigh(self._slopes, self._alpha, self._counts, float(self.C), self.w)
        self._free[:] = self.w[self._bounds.places]
        self._bounds.clip(self.w)

    def plane_maxima(self, w: Values, parts: Ints) -> Values:
        """Returns ``max_t b_it + <a_it, w>`` of the chosen parts, (b,), -inf for a part without planes."""
        at = np.ascontiguousarray(padded(w, len(self.w))[: len(self.w)])
        return kernels.plane_maxima(self._slopes, self._offsets, self._counts, at, parts)

    def magnitude(self, w: Values, part: int) -> float:
        """The largest ``|b_t| + |a_t| |w|`` of the planes of a part, which bounds the rounding of their values."""
        t = np.arange(self._counts[part])
        lengths = np.sqrt(self._grams[part, t, t])
        return float((np.abs(self._offsets[part, t]) + lengths * np.sqrt(w @ w)).max(initial=0.0))

    def _grow(self, size: int) -> None:
        """Makes room for more weights than before; planes made earlier have slope 0 in the new ones."""
        n, K, _ = self._slopes.shape
        self._slopes, self.w = _grown(self._slopes, n, K, size), _grown(self.w, size)


def _grown(array: Values, *shape: int) -> Values:
    """The array, and zeros behind it along each axis, in a larger shape."""
    out = np.zeros(shape)
    out[tuple(map(slice, array.shape))] = array
    return out


def batches(order: Ints, size: int) -> Iterator[Ints]:
    """Yields ``order`` in runs of ``size``."""
    for start in range(0, len(order), size):
        yield order[start : start + size]


def batch_size(risk: Risk, share: int) -> int:
    """Returns a ``share``-th of the parts, fewer if their slopes take more than ``BATCH_BYTES``, and at least one."""
    return max(1, min(-(-risk.n_parts // share), BATCH_BYTES // (8 * risk.size)))
