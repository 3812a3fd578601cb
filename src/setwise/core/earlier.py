"""What a checkpoint keeps of a fit: the best weights, the bounds, the history, and the planes behind them."""

from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np

from setwise.core.arrays import Values
from setwise.core.checkpoint import OpenCheckpoint, refuse_others
from setwise.core.cut import Bundle, Cut
from setwise.core.risk import Risk
from setwise.core.sealed import Arrays

FIELDS = 6
"""The numbers of a record of the history."""


@final
@dataclass(frozen=True, eq=False)
class Earlier:
    """A fit as far as it has come.

    Attributes
    ----------
    w : the best weights, (d,)
    bounds : the objective at w, the lower bound of the minimum, the upper bound of the objective, and the largest
        rounding of a plane, (4,)
    records : the history, (t, 6)
    bundle : the planes; None where none prove anything, as for a risk that is not convex
    status : the status with which the fit has ended, ``""`` if it has not
    tol : the gap that was asked for
    cut : the cut at w, where the fit goes on
    """

    w: Values
    bounds: Values
    records: Values
    bundle: Bundle | None
    status: str
    tol: float
    cut: Cut | None = None

    def ended(self, gap: float, tol: float, max_iter: int) -> str:
        """The status of a fit that has nothing left to do at the certified ``gap``; ``""`` for one that goes on."""
        if gap <= tol:
            return "converged"
        if self.status in ("local", "stalled") and self.tol <= tol:
            return self.status
        return "max_iter" if len(self.records) >= max_iter else ""

    def arrays(self, learner: str, C: float) -> Arrays:
        """The same as plain arrays, with the learner and the weight of the risk that it belongs to."""
        found = {"w": self.w, "bounds": self.bounds, "records": self.records}
        found |= {"learner": np.array(learner), "C": np.array(repr(float(C)))}
        found |= {"status": np.array(self.status), "tol": np.array(float(self.tol))}
        if self.bundle is not None:
            held = self.bundle
            found |= {"offsets": held.offsets, "slopes": held.slopes, "roundings": held.roundings}
            found["whole"] = np.array(held.whole)
        return found

    @classmethod
    def of(cls, kept: OpenCheckpoint, learner: str, C: float, risk: Risk) -> Self | None:
        """What a checkpoint holds of a fit of ``risk``, or None if it holds nothing; O(t d) and one cut.

        The risk is evaluated at the best weights, where it must be what was written, and no plane may be above it.

        Raises
        ------
        ValueError : with one sentence, if it belongs to another learner, C or risk
        """
        arrays = kept.arrays
        if "w" not in arrays:
            return None
        held = {name: str(arrays.get(name, "")) for name in ("learner", "C")}
        refuse_others(kept.name, held, {"learner": learner, "C": repr(float(C))})
        try:
            found = cls._read(arrays, risk)
        except (KeyError, ValueError, TypeError):
            raise ValueError(
                f"{kept.name} is no checkpoint of this fit: its arrays are not those of {risk.size} weights and "
                f"{risk.n_parts} parts."
            ) from None
        return replace(found, cut=found._cut(kept.name, risk, C))

    @classmethod
    def _read(cls, arrays: Arrays, risk: Risk) -> Self:
        d, bundle = risk.size, None
        records = np.asarray(arrays["records"])
        if "slopes" in arrays:
            slopes, whole = arrays["slopes"], bool(arrays["whole"])
            t = len(slopes) if whole else risk.n_parts
            each = (_numbers(arrays[name], (t,)) for name in ("offsets", "roundings"))
            offsets, roundings = each
            bundle = Bundle(offsets, _numbers(slopes, (t, d)), roundings, whole)
        bounds = np.asarray(arrays["bounds"], dtype=np.float64)
        if bounds.shape != (4,) or np.isnan(bounds).any() or not np.isfinite(bounds[[0, 3]]).all():
            raise ValueError
        w, history = _numbers(arrays["w"], (d,)), _numbers(records, (len(records), FIELDS), finite=False)
        return cls(w, bounds, history, bundle, str(arrays["status"]), float(arrays["tol"]))

    def _cut(self, name: str, risk: Risk, C: float) -> Cut:
        """The cut of the risk at w; ValueError if it is not the risk that was written."""
        half = 0.5 * float(self.w @ self.w)
        cut = risk.cut(self.w)
        low, high = (self.bounds[0] - half) / C, (self.bounds[2] - half) / C
        # The objective of a majorant is above that of the risk, and planes of a risk that is not convex prove nothing.
        known = max(low, -np.inf if self.bundle is None else self.bundle.at(self.w)) if risk.convex else -np.inf
        slack = 1e-9 * (abs(low) + abs(half) / C + 1e-3) + cut.rounding + self.bounds[3]
        inside = risk.lower is None or bool((self.w >= risk.lower).all())
        # Inexact inference gives intervals, which hold the same value if they meet.
        if not inside or cut.value > high + slack or known > cut.upper + slack:
            raise ValueError(
                f"{name} is the checkpoint of another fit: at its weights the risk is {cut.value:.6g} here, and "
                f"{low:.6g} was written. Take the same data and loss, or another file for this fit."
            )
        return cut


def _numbers(array: Any, shape: tuple[int, ...], finite: bool = True) -> Values:
    """A copy of an array of float64, if it has this shape, and no NaN or inf where it must be ``finite``."""
    if array.dtype != np.float64 or array.shape != shape or (finite and not np.isfinite(array).all()):
        raise ValueError
    return np.array(array, order="C")
