"""Losses of which other losses are made: objects, or names as they are taken everywhere."""

import numpy as np

from setwise.core.count_loss import CountLoss
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal


def inner_loss(loss: object) -> Loss:
    """A loss from a loss or its name."""
    # Names are known only once all files of this room are read.
    from setwise.losses import as_loss

    return as_loss(loss)


def inner_of_labels(loss: object, outer: str) -> Loss:
    """The same for losses of labels 0 and 1; ``outer`` is named where it is another one."""
    found = inner_loss(loss)
    if found.reads != "labels":
        raise Refusal(f"{outer} refuses {found!r}: it evaluates {found.reads}, not labels 0 and 1.")
    return found


def is_quotient(loss: Loss) -> bool:
    """Whether a loss is a quotient of linear functions of the counts."""
    return isinstance(loss, CountLoss) and loss.quotient(np.ones(1), np.ones(1)) is not None
