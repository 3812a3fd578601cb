"""Labelings with a given number of predicted positives: those of the largest scores."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Values
from setwise.core.batch import Batch
from setwise.core.count_loss import CountLoss
from setwise.core.sets import Sets
from setwise.kernels.segments import count_true
from setwise.kernels.sorting import sort_falling


def check_size(k: int, batch: Batch, loss: object) -> None:
    """Refuse sets of fewer than k decisions."""
    if (batch.sizes < k).any():
        raise ValueError(f"{loss!r} fits sets of {k} decisions or more; got one of {int(batch.sizes.min())}.")


def hits(fn: Values, fp: Values, P: Values, k: Values | float) -> Values:
    """True positives among k predicted: missing ones count as wrong, of more than k a random k is expected."""
    return (P - fn) * k / np.maximum(np.maximum(P - fn + fp, k), 1.0)


def of_largest(loss: CountLoss, batch: Sets, scores: NDArray[Any]) -> Values:
    """The loss where the largest scores are predicted positive, as many as the loss asks for; (n,).

    Scores tied for the last of these places share them: the counts are those expected of a random choice among them.
    """
    loss.check(batch)
    P, N = batch.count(1), batch.count(0)
    predicted = loss.predicted(P, N)
    assert predicted is not None
    items, _, _, _ = sort_falling(scores, batch.truth, batch.offsets)
    last = batch.offsets[:-1] + np.maximum(predicted.astype(np.int64) - 1, 0)
    cut = scores[items[last]][batch.owners]
    above, level = scores > cut, scores == cut
    ahead, ties = (count_true(mask, batch.offsets).astype(np.float64) for mask in (above, level))
    share = np.clip(predicted - ahead, 0.0, ties) / ties
    tp = count_true(above & batch.truth, batch.offsets) + share * count_true(level & batch.truth, batch.offsets)
    tp = np.where(predicted > 0, tp, 0.0)
    return loss.of_counts(P - tp, predicted - tp, P, N)
