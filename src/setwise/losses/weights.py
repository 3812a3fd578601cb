"""Weights by place, shared by the losses that take them."""

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.loss import Loss
from setwise.core.sets import Sets


def check_weights(weights: ArrayLike | None, sets: Sets, loss: Loss) -> None:
    """Refuse sets whose number of decisions is not the number of weights."""
    if weights is not None and (sets.sizes != np.size(weights)).any():
        odd = sets.sizes[sets.sizes != np.size(weights)][0]
        raise ValueError(f"{loss!r} has {np.size(weights)} weights, one for each place; got a set of {odd} decisions.")


def weights_repr(weights: ArrayLike | None) -> str:
    """Up to six weights as text."""
    if weights is None:
        return ""
    shown = [f"{w:g}" for w in np.asarray(weights)[:6]]
    return "weights=[" + ", ".join(shown + ["..."] * (np.size(weights) > 6)) + "]"
