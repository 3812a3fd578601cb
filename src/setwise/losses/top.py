"""Labelings with a given number of predicted positives."""

import numpy as np

from setwise.core.loss import Loss, Values
from setwise.core.sets import Sets


def check_size(k: int, sets: Sets, loss: Loss) -> None:
    """Refuse sets of fewer than k decisions."""
    if (sets.sizes < k).any():
        raise ValueError(f"{loss!r} fits sets of {k} decisions or more; got one of {int(sets.sizes.min())}.")


def hits(fn: Values, fp: Values, P: Values, k: Values | float) -> Values:
    """True positives among k predicted: missing ones count as wrong, of more than k a random k is expected."""
    return (P - fn) * k / np.maximum(np.maximum(P - fn + fp, k), 1.0)
