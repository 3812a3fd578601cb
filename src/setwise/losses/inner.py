"""Checks of the losses from which other losses are made."""

import numpy as np

from setwise.core.exceptions import Refusal
from setwise.core.loss import CountLoss, Loss
from setwise.core.pages import CLASS_LOSSES


def inner_loss(loss: object) -> Loss:
    """The loss itself, or the loss with this short name."""
    # The names are known only after all files of this folder are imported, so this import must wait.
    from setwise.losses import as_loss

    return as_loss(loss)


def inner_of_labels(loss: object, outer: str) -> Loss:
    """The same, where the loss ``outer`` takes only losses that read labels 0 and 1; others raise Refusal."""
    found = inner_loss(loss)
    if found.reads != "labels":
        raise Refusal(f"{outer} refuses {found!r}: it evaluates {found.reads}, not labels 0 and 1.", CLASS_LOSSES)
    return found


def is_quotient(loss: Loss) -> bool:
    """Whether a loss is a quotient of linear functions of the counts."""
    # Whether a loss has coefficients does not depend on the counts, so any set will do.
    return isinstance(loss, CountLoss) and loss.quotient(np.ones(1), np.ones(1)) is not None
