"""Cuts: affine functions that lie below a convex risk."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Cut:
    """A plane with ``risk(v) >= offset + <slope, v>`` for all v, made at a point w where ``value <= risk(w) <= upper``.

    ``value = offset + <slope, w>``; with exact inference the plane is tight at w and ``value == upper``.
    """

    offset: float
    slope: Floats
    value: float
    upper: float


@final
@dataclass(frozen=True, eq=False)
class Cuts:
    """Planes of parts of a risk, made at one point: ``offsets``, ``values``, ``uppers`` (b,), ``slopes`` (b, d)."""

    offsets: Floats
    slopes: Floats
    values: Floats
    uppers: Floats
