"""Labelings with a given number of predicted positives."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.loss import Loss, Values
from setwise.core.sets import Bools, Sets


def as_count(k: Any) -> int:
    """``k`` as a whole number >= 1."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k must be a whole number >= 1; got {k!r}.")
    return int(k)


def check_count(k: int, sets: Sets, loss: Loss) -> None:
    """Refuse sets of fewer than k decisions."""
    if (sets.sizes < k).any():
        raise ValueError(f"{loss!r} fits sets of {k} decisions or more; got one of {int(sets.sizes.min())}.")


def hits(fn: Values, fp: Values, P: Values, k: Values | float) -> Values:
    """True positives among k predicted ones: missing ones count as wrong, of more than k the expectation over a random k."""
    return (P - fn) * k / np.maximum(np.maximum(P - fn + fp, k), 1.0)


def top_labels(scores: ArrayLike, k: int) -> Bools:
    """True for the k largest of ``scores`` (p,), ties in their order."""
    s = np.asarray(scores)
    out = np.zeros(len(s), dtype=bool)
    out[np.argsort(-s, kind="stable")[:k]] = True
    return out
