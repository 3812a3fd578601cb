"""Helpers of the losses that take one weight for each position in a set."""

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import Batch
from setwise.core.checks import Values


def check_weights(weights: ArrayLike | None, batch: Batch, loss: object) -> None:
    """Raise ValueError for sets whose number of decisions is not the number of weights."""
    if weights is not None and (batch.sizes != np.size(weights)).any():
        odd = batch.sizes[batch.sizes != np.size(weights)][0]
        raise ValueError(f"{loss!r} has {np.size(weights)} weights, one for each place; got a set of {odd} decisions.")


def weights_repr(weights: ArrayLike | None) -> str:
    """The first six weights as text."""
    if weights is None:
        return ""
    shown = [f"{w:g}" for w in np.asarray(weights)[:6]]
    return "weights=[" + ", ".join(shown + ["..."] * (np.size(weights) > 6)) + "]"


def example_weights(p: int) -> Values:
    """Weights (p,) in (0, 1] for examples, the same in every run."""
    # The number of decisions is the seed, so that examples need no state.
    return 0.1 + 0.9 * np.random.default_rng(p).random(p)
