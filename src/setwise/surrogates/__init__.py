"""Surrogates: functions of scores that bound a loss, with value, gradient and certificate."""

from setwise.core.surrogate import Bound, Bounds, Surrogate
from setwise.surrogates.extension import is_extension, margin_scale
from setwise.surrogates.lovasz_hinge import LovaszHinge
from setwise.surrogates.rescaling import MarginRescaling, SlackRescaling

__all__ = [
    "Bound",
    "Bounds",
    "LovaszHinge",
    "MarginRescaling",
    "SlackRescaling",
    "Surrogate",
    "is_extension",
    "margin_scale",
]
