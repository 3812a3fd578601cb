"""A risk under the eyes of the learner's loop: overflow and broken promises are seen where planes are made."""

from collections import deque
from dataclasses import replace
from typing import final

import numpy as np

from setwise.core.arrays import Ints, Values
from setwise.core.cut import Cut, Cuts
from setwise.core.refusal import BrokenPromise
from setwise.core.risk import Risk

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""What floating point loses of a sum, as a part of its terms."""

MEMORY = 8
"""So many of the last planes and points are held against one another."""


@final
class Watched(Risk):
    """The same risk; each new plane is checked against the points seen before, each new point against their planes."""

    def __init__(self, inner: Risk, C: float) -> None:
        self.inner, self.C = inner, C
        self._seen: deque[tuple[Values, Cut]] = deque(maxlen=MEMORY)

    @property
    def size(self) -> int:  # type: ignore[override]
        """That of the risk, which may grow."""
        return self.inner.size

    @property
    def n_parts(self) -> int:  # type: ignore[override]
        """That of the risk."""
        return self.inner.n_parts

    @property
    def lower(self) -> Values | None:  # type: ignore[override]
        """That of the risk."""
        return self.inner.lower

    @property
    def floor(self) -> float:  # type: ignore[override]
        """That of the risk."""
        return self.inner.floor

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """That of the risk."""
        return self.inner.convex

    def cut(self, w: Values, tol: float = 0.0) -> Cut:
        cut = self.inner.cut(w, tol)
        w = padded(w, len(cut.slope))
        # The offset is a value less <slope, w>, so it has lost what the larger of them rounds to.
        lost = ROUNDING * (abs(cut.value) + float(np.abs(cut.slope) @ np.abs(w)))
        cut = replace(cut, rounding=cut.rounding + lost)
        with np.errstate(over="ignore", invalid="ignore"):
            largest = 4.0 * max(self.C, self.C**2) * float(cut.slope @ cut.slope)
            self._check_size(largest + self.C * (abs(cut.offset) + cut.rounding))
        if self.inner.convex:
            for point, other in self._seen:
                _compare(point, other, cut)
                _compare(w, cut, other)
            self._seen.append((w, cut))
        return cut

    def cuts(self, w: Values, parts: Ints, tol: float = 0.0) -> Cuts:
        cuts = self.inner.cuts(w, parts, tol)
        w = padded(w, cuts.slopes.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.einsum("ij,ij->i", cuts.slopes, cuts.slopes)
            self._check_size(4.0 * max(self.C, self.C**2) * lengths.max() + self.C * np.abs(cuts.offsets).max())
            lost = ROUNDING * (np.abs(cuts.values) + np.abs(cuts.slopes) @ np.abs(w))
        return replace(cuts, roundings=lost if cuts.roundings is None else cuts.roundings + lost)

    def _check_size(self, largest: float) -> None:
        if not np.isfinite(largest):
            raise OverflowError(f"C={self.C:g} times a plane of the risk is too large for float64; scale X or C down.")

    def majorant(self, w: Values) -> Risk:
        return self.inner.majorant(w)

    def redrawn(self, seed: int) -> Risk:
        return self.inner.redrawn(seed)


def padded(w: Values, size: int) -> Values:
    """``w`` with zeros for the weights that a risk has got since."""
    return w if len(w) >= size else np.concatenate([w, np.zeros(size - len(w))])


def refuse_planes_above(known: float, upper: float, slack: float) -> None:
    """Raise BrokenPromise where planes have the value ``known`` at a point and the risk is at most ``upper`` there."""
    if known > upper + slack + 1e-9 * (abs(upper) + abs(known)):
        raise BrokenPromise(
            f"a plane has the value {known:.6g} where the risk is at most {upper:.6g}, so planes do not lie below "
            "it: a loss is not as convex or as submodular as it promises. setwise.describe(loss, y) tells."
        )


def _compare(point: Values, there: Cut, plane: Cut) -> None:
    """Raise where a plane lies above the risk at a point."""
    d = min(len(point), len(plane.slope))
    terms = plane.slope[:d] * point[:d]
    # Away from its point a plane is uncertain in proportion to the terms that cancel in it.
    lost = 1e-12 * (abs(plane.offset) + float(np.abs(terms).sum()))
    refuse_planes_above(plane.offset + float(terms.sum()), there.upper, there.rounding + plane.rounding + lost)
