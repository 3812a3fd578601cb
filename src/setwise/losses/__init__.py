"""Losses: each file holds one formula, and each loss is callable and says what it promises.

Most losses read labels and are set functions of the wrong decisions; losses of a ranking read the order of the scores.
Every loss in this folder is registered when the folder is imported: ``LOSSES`` maps the short names to the classes.
"""

from dataclasses import MISSING, fields
from typing import Any

from setwise.core.checks import shown
from setwise.core.measure import Loss
from setwise.core.registry import discover
from setwise.core.traits import Trait

LOSSES = discover(__name__, Loss)  # type: ignore[type-abstract]
"""All classes of losses by their short names."""

# Each class can be imported from here by its own name.
globals().update({kind.__name__: kind for kind in LOSSES.values()})

__all__ = ["LOSSES", "Loss", "Trait", "as_loss", "plain_losses", *(kind.__name__ for kind in LOSSES.values())]


def plain_losses() -> dict[str, type[Loss]]:
    """The classes of the losses that need no parameters, by their short names."""
    return {name: kind for name, kind in LOSSES.items() if not _needs(kind)}


def as_loss(loss: object) -> Loss:
    """The loss itself, or the loss with this short name if it needs no parameters.

    Raises
    ------
    TypeError : for anything but a loss or text
    ValueError : for a name that no loss has, or whose loss needs parameters
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
    """The names of the parameters without a default."""
    return [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]  # type: ignore[arg-type]


def __getattr__(name: str) -> Any:
    # All names exist after the import; this function tells type checkers that there are more than they see.
    raise AttributeError(f"module 'setwise.losses' has no attribute {name!r}")
