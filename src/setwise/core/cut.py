"""Cuts are affine functions that lie below a convex risk."""

from dataclasses import dataclass
from typing import final

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
