"""Surrogates by their short names."""

from collections.abc import Callable

from setwise.core.loss import Loss
from setwise.core.ranking import RankLoss
from setwise.core.surrogate import Surrogate
from setwise.core.traits import Trait
from setwise.surrogates.lovasz_hinge import LovaszHinge
from setwise.surrogates.rescaling import MarginRescaling, SlackRescaling


def auto(loss: Loss | RankLoss) -> Surrogate:
    """The Lovász hinge where the loss is submodular, else margin rescaling on the scale of the set."""
    if isinstance(loss, Loss) and Trait.SUBMODULAR in loss.traits:
        return LovaszHinge(loss)
    return MarginRescaling(loss, scale="size")


SURROGATES: dict[str, Callable[[Loss | RankLoss], Surrogate]] = {
    "auto": auto,
    "lovasz": LovaszHinge,
    "margin": MarginRescaling,
    "slack": SlackRescaling,
}
