"""A wrapper of a risk that checks each new plane for overflow, and against earlier planes for broken promises."""

from typing import final

import numpy as np

from setwise.core.checkpoint import FitState
from setwise.core.checks import Ints, Values
from setwise.core.exceptions import BrokenPromise
from setwise.core.risk import CuttingPlane, PartPlanes, Risk

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""The rounding of a sum in floating point, relative to the sum of its absolute terms."""

EVERY = 4
"""One of so many passes over all parts is compared with the planes before it."""

MEMORY = 8
"""The number of the last planes and points that are compared with each new one."""


@final
class CheckedRisk(Risk):
    """The same risk, in which each new plane is checked at earlier points, and each earlier plane at the new point.

    Where a fit goes on, ``earlier`` holds its planes and the cut at its best point, which is not made again.
    """

    def __init__(self, inner: Risk, C: float, earlier: FitState | None = None) -> None:
        self.inner, self.C, self._seen = inner, C, _PlaneHistory(inner.size)
        self._passes, self._earlier = 0, earlier
        self.n_parts, self.convex, self.floors = inner.n_parts, inner.convex, inner.floors
        self.iterations = 0 if earlier is None else len(earlier.records)
        self._bundle = None if earlier is None else earlier.bundle
        of_parts = self._bundle is not None and not self._bundle.whole
        self.part_planes = self._bundle if of_parts else inner.part_planes

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of weights of the risk, which may grow."""
        return self.inner.size

    @property
    def lower(self) -> Values | None:  # type: ignore[override]
        """The lower bounds of the weights of the risk."""
        return self.inner.lower

    @property
    def planes(self) -> tuple[CuttingPlane, ...]:  # type: ignore[override]
        """The planes that are known of the risk."""
        return self.inner.planes if self._bundle is None else (*self.inner.planes, *self._bundle.cuts)

    def cut(self, w: Values, tol: float = 0.0) -> CuttingPlane:
        cut = self._made(w) or self.inner.cut(w, tol)
        w = padded(w, len(cut.slope))
        with np.errstate(over="ignore", invalid="ignore"):
            length = float(np.sqrt(cut.slope @ cut.slope))
            # The offset is value - <slope, w>, so it has the rounding of the larger of these two.
            lost = ROUNDING * (abs(cut.value) + length * float(np.sqrt(w @ w)))
            cut = CuttingPlane(cut.offset, cut.slope, cut.value, cut.upper, cut.rounding + lost)
            self._check_size(4.0 * max(self.C, self.C * self.C) * length**2 + self.C * (abs(cut.offset) + cut.rounding))
        # Planes of a risk that is not convex may lie above it, which breaks no promise.
        if self.inner.convex:
            self._seen.compare(w, cut, length)
        return cut

    def cuts(self, w: Values, parts: Ints, tol: float = 0.0) -> PartPlanes:
        cuts = self.inner.cuts(w, parts, tol)
        w = padded(w, cuts.slopes.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = cuts.lengths
            if lengths is None:
                lengths = np.sqrt(np.einsum("ij,ij->i", cuts.slopes, cuts.slopes))
            most = 4.0 * max(self.C, self.C * self.C)
            self._check_size(most * lengths.max() ** 2 + self.C * np.abs(cuts.offsets).max())
            lost = ROUNDING * (np.abs(cuts.values) + lengths * float(np.sqrt(w @ w)))
        roundings = lost if cuts.roundings is None else cuts.roundings + lost
        whole = self.inner.convex and len(parts) == self.n_parts
        self._passes += whole
        if whole and self._passes % EVERY == 1:
            # The planes of all parts make one of the whole risk. To add them up takes a pass over all slopes.
            slope = np.ones(len(parts)) @ cuts.slopes
            value, upper, rounding = (float(each.sum()) for each in (cuts.values, cuts.uppers, roundings))
            plane = CuttingPlane(float(cuts.offsets.sum()), slope, value, upper, rounding)
            self._seen.compare(w, plane, float(np.sqrt(slope @ slope)))
        return PartPlanes(cuts.offsets, cuts.slopes, cuts.values, cuts.uppers, roundings, lengths)

    def _made(self, w: Values) -> CuttingPlane | None:
        """The cut at the best point of the earlier fit, if ``w`` is that point."""
        earlier = self._earlier
        return None if earlier is None or not np.array_equal(w, earlier.w) else earlier.cut

    def _check_size(self, largest: float) -> None:
        """Raise OverflowError if ``largest``, an upper bound of what the masters compute, is not finite."""
        if not np.isfinite(largest):
            raise OverflowError(f"C={self.C:g} times a plane of the risk is too large for float64; scale X or C down.")

    def majorant(self, w: Values) -> Risk:
        return self.inner.majorant(w)

    def redrawn(self, seed: int) -> Risk:
        return self.inner.redrawn(seed)


def padded(w: Values, size: int) -> Values:
    """``w`` with zeros appended for the weights that the risk has gained since."""
    return w if len(w) >= size else np.concatenate([w, np.zeros(size - len(w))])


def refuse_planes_above(known: float, upper: float, slack: float) -> None:
    """Raise BrokenPromise if planes have the value ``known`` at a point where the risk is at most ``upper``."""
    if known > upper + slack + 1e-9 * (abs(upper) + abs(known)):
        raise BrokenPromise(
            f"a plane has the value {known:.6g} where the risk is at most {upper:.6g}, so planes are not below it"
            ": a loss is not as convex or as submodular as it promises. setwise.describe(loss, y) shows which."
        )


class _PlaneHistory:
    """The last points and their planes, as the rows of a ring buffer."""

    def __init__(self, size: int) -> None:
        self.points, self.slopes = np.zeros((MEMORY, size)), np.zeros((MEMORY, size))
        self.offsets, self.uppers, self.roundings = np.zeros(MEMORY), np.full(MEMORY, np.inf), np.zeros(MEMORY)
        self.norms, self.lengths, self.count = np.zeros(MEMORY), np.zeros(MEMORY), 0

    def compare(self, w: Values, cut: CuttingPlane, length: float) -> None:
        """Refuse planes that lie above the risk at a point, then store this one; ``length`` is that of its slope."""
        self._grow(len(w))
        norm = float(np.sqrt(w @ w))
        k = min(self.count, MEMORY)
        # ``here`` are the values of the earlier planes at the new point, ``there`` those of the new plane at the
        # earlier points. Away from its own point a plane is uncertain in proportion to the terms that cancel in it.
        here, there = self.slopes[:k] @ w + self.offsets[:k], self.points[:k] @ cut.slope + cut.offset
        lost_here = 1e-12 * (np.abs(self.offsets[:k]) + self.lengths[:k] * norm) + self.roundings[:k] + cut.rounding
        lost_there = 1e-12 * (abs(cut.offset) + length * self.norms[:k]) + self.roundings[:k] + cut.rounding
        for known, upper, lost in ((here, cut.upper, lost_here), (there, self.uppers[:k], lost_there)):
            above = known - upper - lost
            if k and above.max() > 0.0:
                i = int(above.argmax())
                refuse_planes_above(float(known[i]), float(np.broadcast_to(upper, k)[i]), float(lost[i]))
        # The new point and its plane replace the oldest ones.
        i = self.count % MEMORY
        self.points[i], self.slopes[i], self.offsets[i], self.uppers[i] = w, cut.slope, cut.offset, cut.upper
        self.roundings[i], self.norms[i], self.lengths[i] = cut.rounding, norm, length
        self.count += 1

    def _grow(self, size: int) -> None:
        """Append zeros to the stored points and slopes for new weights, up to ``size``."""
        more = size - self.points.shape[1]
        if more > 0:
            self.points, self.slopes = (np.pad(rows, ((0, 0), (0, more))) for rows in (self.points, self.slopes))
