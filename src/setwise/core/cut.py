"""Cuts: affine functions that lie below a convex risk."""

from dataclasses import dataclass
from typing import final

from setwise.core.arrays import Values


@final
@dataclass(frozen=True, eq=False)
class Cut:
    """A plane with ``risk(v) >= offset + <slope, v>`` for all v, made at a point w where ``value <= risk(w) <= upper``.

    ``value = offset + <slope, w>``; with exact inference the plane is tight at w and ``value == upper``. All of it is
    true up to ``rounding``: floating point leaves the plane uncertain by about so much near w.
    """

    offset: float
    slope: Values
    value: float
    upper: float
    rounding: float = 0.0


@final
@dataclass(frozen=True, eq=False)
class Cuts:
    """Planes of parts of a risk, made at one point: all (b,), ``slopes`` (b, d).

    None for ``roundings`` is 0; ``lengths`` are upper bounds of the lengths of the slopes, None where none are known.
    """

    offsets: Values
    slopes: Values
    values: Values
    uppers: Values
    roundings: Values | None = None
    lengths: Values | None = None
