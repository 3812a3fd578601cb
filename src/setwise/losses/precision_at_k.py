"""1 - precision at k."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Batch
from setwise.core.checks import Values, as_count
from setwise.core.loss import CountLoss
from setwise.core.terms import Trait
from setwise.losses.top import check_size, hits, of_largest


@final
@dataclass(frozen=True)
class PrecisionAtK(CountLoss):
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

    k: int

    name: ClassVar[str] = "precision_at_k"
    reads: ClassVar = "scores"

    def __post_init__(self) -> None:
        as_count(self.k, "k")

    @classmethod
    def examples(cls, p: int) -> "list[PrecisionAtK]":
        return [PrecisionAtK(1), PrecisionAtK((p + 1) // 2)]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.COUNTS})

    def check(self, batch: Batch) -> None:
        check_size(self.k, batch, self)

    def predicted(self, P: Values, N: Values) -> Values:
        """The number k for each set, (n,)."""
        return np.full(len(P), float(self.k))

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        # A labeling that predicts another number is given a loss too, so that tables of counts are whole.
        return 1.0 - hits(fn, fp, P, self.k) / self.k

    def evaluate(self, batch: Any, predictions: NDArray[Any]) -> Values:
        return of_largest(self, batch, predictions)
