"""Losses: one file, one formula. Each is callable and says what it promises.

Most losses read labels and are set functions of what is wrong; losses of a ranking read the order of scores.
All losses in this folder are found by themselves: ``LOSSES`` maps their short names to classes.
"""

from dataclasses import MISSING, fields
from typing import Any

from setwise.core.checks import shown
from setwise.core.measure import Loss
from setwise.core.registry import discover
from setwise.core.traits import Trait

LOSSES = discover(__name__, Loss)  # type: ignore[type-abstract]
"""All losses by their short names."""

globals().update({kind.__name__: kind for kind in LOSSES.values()})

__all__ = ["LOSSES", "Loss", "Trait", "as_loss", "plain_losses", *(kind.__name__ for kind in LOSSES.values())]


def plain_losses() -> dict[str, type[Loss]]:
    """The losses that need no parameters, by their short names."""
    return {name: kind for name, kind in LOSSES.items() if not _needs(kind)}


def as_loss(loss: object) -> Loss:
    """A loss from a loss or the short name of one that needs no parameters.

    Raises TypeError or ValueError in a sentence that says what is wanted.
    """
    if isinstance(loss, Loss):
        return loss
    if not isinstance(loss, str):
        raise TypeError(f"loss must be a loss or its name, as Jaccard() or 'jaccard'; got {shown(loss)}.")
    if loss not in plain_losses():
        needs = f" ({LOSSES[loss].__name__} needs parameters)" if loss in LOSSES else ""
        raise ValueError(f"there is no loss {shown(loss)}{needs}; use {', '.join(plain_losses())}, or a loss object.")
    return plain_losses()[loss]()


def _needs(kind: type[Loss]) -> list[str]:
    """Names of the parameters without a default."""
    return [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]  # type: ignore[arg-type]


def __getattr__(name: str) -> Any:
    # Names are there since the import; this tells type checkers that more may be found here than they see.
    raise AttributeError(f"module 'setwise.losses' has no attribute {name!r}")
