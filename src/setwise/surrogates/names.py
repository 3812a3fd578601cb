"""Surrogates by their short names."""

from collections.abc import Callable

from setwise.core.loss import Loss
from setwise.core.surrogate import Surrogate
from setwise.surrogates.lovasz_hinge import LovaszHinge
from setwise.surrogates.rescaling import MarginRescaling, SlackRescaling

SURROGATES: dict[str, Callable[[Loss], Surrogate]] = {
    "lovasz": LovaszHinge,
    "margin": MarginRescaling,
    "slack": SlackRescaling,
}
