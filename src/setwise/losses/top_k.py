"""Losses of the decisions of the k largest scores: 1 - precision at k, 1 - recall at k, and their break-even point."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Batch
from setwise.core.checks import Values, as_count, as_number
from setwise.core.loss import CountLoss
from setwise.core.terms import Trait
from setwise.kernels.segments import count_true
from setwise.kernels.sorting import sort_falling


def hits(fn: Values, fp: Values, P: Values, k: Values | float) -> Values:
    """The number of true positives among k predicted ones, continued to labelings that predict another number.

    If fewer are predicted, those that are missing count as wrong. If more are predicted, it is the expected number
    among k of them that are chosen at random.
    """
    return (P - fn) * k / np.maximum(np.maximum(P - fn + fp, k), 1.0)


class LossAtTop(CountLoss):
    """A loss of the decisions of the largest scores, which are predicted positive; increasing in the counts.

    Their number is that of :meth:`CountLoss.predicted`. Decisions with equal scores share the last places: the counts
    are the expected ones if a random choice is made among them.
    """

    reads: ClassVar = "scores"
    traits = frozenset({Trait.INCREASING, Trait.COUNTS})

    def evaluate(self, batch: Any, predictions: NDArray[Any]) -> Values:
        self.check(batch)
        P, N = batch.count(1), batch.count(0)
        predicted = self.predicted(P, N)
        assert predicted is not None
        # The score at the last place that is predicted positive divides each set.
        items, _, _, _ = sort_falling(predictions, batch.truth, batch.offsets)
        last = batch.offsets[:-1] + np.maximum(predicted.astype(np.int64) - 1, 0)
        threshold = predictions[items[last]][batch.owners]
        # All decisions above it are predicted, and of those equal to it the share that fits.
        above, equal = predictions > threshold, predictions == threshold
        n_above, n_equal = (count_true(mask, batch.offsets).astype(np.float64) for mask in (above, equal))
        share = np.clip(predicted - n_above, 0.0, n_equal) / n_equal
        tp = count_true(above & batch.truth, batch.offsets) + share * count_true(equal & batch.truth, batch.offsets)
        # Where none is predicted, the first score was taken for the last place.
        tp = np.where(predicted > 0, tp, 0.0)
        return self.of_counts(P - tp, predicted - tp, P, N)


@dataclass(frozen=True)
class LossAtK(LossAtTop):
    """One that predicts k decisions of each set."""

    k: int

    def __post_init__(self) -> None:
        as_count(self.k, "k")

    def check(self, batch: Batch) -> None:
        if (batch.sizes < self.k).any():
            raise ValueError(f"{self!r} fits sets of {self.k} decisions or more; got one of {int(batch.sizes.min())}.")

    def predicted(self, P: Values, N: Values) -> Values:
        """The number k for each set, (n,)."""
        return np.full(len(P), float(self.k))


@final
@dataclass(frozen=True)
class PrecisionAtK(LossAtK):
    """``1 - tp / k`` if k decisions are predicted positive: the share of negatives among the k largest scores.

    The loss reads scores, and is in [0, 1]. Decisions with equal scores share the last places. Where a set has fewer
    than k positives, the loss cannot be 0. In training, inference maximizes over the labelings with exactly k predicted
    positives. The truth need not be one of them, so their scores are compared with the mean score of the best of them.

    Source: Joachims (2005).

    Parameters
    ----------
    k : at least 1; every set must have k decisions or more

    Raises
    ------
    TypeError, ValueError : if k is no whole number of 1 or above, or a set has fewer than k decisions

    Examples
    --------
    >>> from setwise.losses import PrecisionAtK
    >>> # One of the two largest scores is a negative.
    >>> PrecisionAtK(2)([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6])
    0.5
    >>> PrecisionAtK(1)([1, 0], [0.9, 0.9])  # equal scores: one half each
    0.5
    """

    name: ClassVar[str] = "precision_at_k"

    @classmethod
    def examples(cls, p: int) -> "list[PrecisionAtK]":
        return [PrecisionAtK(1), PrecisionAtK((p + 1) // 2)]

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        # A labeling that predicts another number is given a loss too, so that tables of counts are whole.
        return 1.0 - hits(fn, fp, P, self.k) / self.k


@final
@dataclass(frozen=True)
class RecallAtK(LossAtK):
    """``1 - tp / P`` if k decisions are predicted positive: the share of positives not among the k largest scores.

    The loss reads scores, and is in [0, 1]. Where a set has more than k positives, it cannot be 0. Equal scores and
    training are treated as in :class:`PrecisionAtK`. Without positives the loss is ``1 - zero_division``, by default 0.

    Source: Joachims (2005).

    Parameters
    ----------
    k : at least 1; every set must have k decisions or more
    zero_division : the recall of a set without positives, in [0, 1]

    Raises
    ------
    TypeError, ValueError : if k is no whole number of 1 or above, zero_division is none in [0, 1], or a set has fewer
        than k decisions

    Examples
    --------
    >>> from setwise.losses import RecallAtK
    >>> y_true, scores = [1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6]
    >>> [RecallAtK(k)(y_true, scores) for k in (1, 2, 3)]
    [0.5, 0.5, 0.0]
    """

    zero_division: float = 1.0

    name: ClassVar[str] = "recall_at_k"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_number(self.zero_division, "zero_division", low=0.0, high=1.0)

    @classmethod
    def examples(cls, p: int) -> "list[RecallAtK]":
        return [RecallAtK(1), RecallAtK((p + 1) // 2, zero_division=0.5)]

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        found = hits(fn, fp, P, self.k) / np.maximum(P, 1.0)
        return 1.0 - np.where(P > 0, found, self.zero_division)


@final
@dataclass(frozen=True)
class BreakEven(LossAtTop):
    """``fn / P`` where as many decisions are predicted positive as there are positives; in [0, 1].

    At this number precision equals recall, so the loss is 1 - the precision-recall break-even point (PRBEP). It reads
    scores: the decisions of the P largest are predicted positive, and decisions with equal scores share the last
    places. In training, inference maximizes over the labelings with P predicted positives, of which the truth is one.
    Without positives the loss is 0.

    Source: Joachims (2005).

    Examples
    --------
    >>> from setwise.losses import BreakEven
    >>> # One of the two largest scores is a positive.
    >>> BreakEven()([1, 0, 1, 0], [0.9, 0.8, 0.1, 0.0])
    0.5
    >>> # The order alone counts, not the signs.
    >>> BreakEven()([1, 0, 1, 0], [-0.1, -0.8, -0.2, -0.9])
    0.0
    """

    name: ClassVar[str] = "break_even"

    def predicted(self, P: Values, N: Values) -> Values:
        """The number of positives of each set, (n,)."""
        return np.asarray(P, dtype=np.float64)

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        found = hits(fn, fp, P, P) / np.maximum(P, 1.0)
        # Without positives nothing may be predicted, and a labeling that does so anyway has the loss 1.
        return 1.0 - np.where(P > 0, found, np.where(fp > 0, 0.0, 1.0))
