"""Cuts are affine functions that lie below a convex risk."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.arrays import Values


@final
@dataclass(frozen=True, eq=False)
class Cut:
    """A plane with ``risk(v) >= offset + <slope, v>`` for all v, made at a point w where ``value <= risk(w) <= upper``.

    ``value = offset + <slope, w>``; with exact inference the plane is tight at w and ``value == upper``. All of this
    holds up to ``rounding``, which bounds about how much floating point has changed the plane near w.
    """

    offset: float
    slope: Values
    value: float
    upper: float
    rounding: float = 0.0


@final
@dataclass(frozen=True, eq=False)
class Bundle:
    """Planes that a learner holds: ``risk(v) >= offsets_t + <slopes_t, v>`` for all v, up to ``roundings_t``; (t, ...).

    They lie below the whole risk each, or, if not ``whole``, below one part each, in the order of the parts.
    """

    offsets: Values
    slopes: Values
    roundings: Values
    whole: bool = True

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """The planes of the whole risk one by one; none, if they are those of parts."""
        rows = zip(self.offsets, self.slopes, self.roundings, strict=True) if self.whole else ()
        return tuple(Cut(float(offset), slope, -np.inf, np.inf, float(lost)) for offset, slope, lost in rows)

    def at(self, w: Values) -> float:
        """The largest value of the planes at ``w``, less their rounding; of those of parts it is the sum."""
        known = self.offsets - self.roundings + self.slopes @ w
        return float(known.max(initial=-np.inf) if self.whole else known.sum())


@final
@dataclass(frozen=True, eq=False)
class Cuts:
    """The planes of b parts of a risk, made at one point: all fields are (b,), but ``slopes`` is (b, d).

    ``roundings`` None means 0. ``lengths`` are upper bounds of the Euclidean lengths of the slopes, None if unknown.
    """

    offsets: Values
    slopes: Values
    values: Values
    uppers: Values
    roundings: Values | None = None
    lengths: Values | None = None
