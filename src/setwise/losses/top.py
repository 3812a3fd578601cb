"""Losses at a given number of predicted positives, which are the decisions of the largest scores."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Batch, Sets
from setwise.core.checks import Values
from setwise.core.loss import CountLoss
from setwise.kernels.segments import count_true
from setwise.kernels.sorting import sort_falling


def check_size(k: int, batch: Batch, loss: object) -> None:
    """Raise ValueError for sets of fewer than k decisions."""
    if (batch.sizes < k).any():
        raise ValueError(f"{loss!r} fits sets of {k} decisions or more; got one of {int(batch.sizes.min())}.")


def hits(fn: Values, fp: Values, P: Values, k: Values | float) -> Values:
    """The number of true positives among k predicted ones, continued to labelings that predict another number.

    If fewer are predicted, those that are missing count as wrong. If more are predicted, it is the expected number
    among k of them that are chosen at random.
    """
    return (P - fn) * k / np.maximum(np.maximum(P - fn + fp, k), 1.0)


def of_largest(loss: CountLoss, batch: Sets, scores: NDArray[Any]) -> Values:
    """The loss of every set, (n,), if the decisions of the largest scores are predicted positive.

    Their number is that of :meth:`CountLoss.predicted`. Decisions with equal scores share the last places:
    the counts are the expected ones if a random choice is made among them.
    """
    loss.check(batch)
    P, N = batch.count(1), batch.count(0)
    predicted = loss.predicted(P, N)
    assert predicted is not None
    # The score at the last place that is predicted positive divides each set.
    items, _, _, _ = sort_falling(scores, batch.truth, batch.offsets)
    last = batch.offsets[:-1] + np.maximum(predicted.astype(np.int64) - 1, 0)
    threshold = scores[items[last]][batch.owners]
    # All decisions above it are predicted, and of those equal to it the share that fits.
    above, equal = scores > threshold, scores == threshold
    n_above, n_equal = (count_true(mask, batch.offsets).astype(np.float64) for mask in (above, equal))
    share = np.clip(predicted - n_above, 0.0, n_equal) / n_equal
    tp = count_true(above & batch.truth, batch.offsets) + share * count_true(equal & batch.truth, batch.offsets)
    # Where none is predicted, the first score was taken for the last place.
    tp = np.where(predicted > 0, tp, 0.0)
    return loss.of_counts(P - tp, predicted - tp, P, N)
