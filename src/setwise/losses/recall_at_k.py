"""1 - recall at k."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Batch
from setwise.core.checks import Values, as_count, as_number
from setwise.core.loss import CountLoss
from setwise.core.terms import Trait
from setwise.losses.top import check_size, hits, of_largest


@final
@dataclass(frozen=True)
class RecallAtK(CountLoss):
    """``1 - tp / P`` if k decisions are predicted positive: the share of positives not among the k largest scores.

    The loss reads scores, and is in [0, 1]. Where a set has more than k positives, it cannot be 0. Equal scores and
    training are treated as in :class:`PrecisionAtK`. Without positives the loss is ``1 - zero_division``: 0 unless told
    otherwise.

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

    k: int
    zero_division: float = 1.0

    name: ClassVar[str] = "recall_at_k"
    reads: ClassVar = "scores"

    def __post_init__(self) -> None:
        as_count(self.k, "k")
        as_number(self.zero_division, "zero_division", low=0.0, high=1.0)

    @classmethod
    def examples(cls, p: int) -> "list[RecallAtK]":
        return [RecallAtK(1), RecallAtK((p + 1) // 2, zero_division=0.5)]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.COUNTS})

    def check(self, batch: Batch) -> None:
        check_size(self.k, batch, self)

    def predicted(self, P: Values, N: Values) -> Values:
        """The number k for each set, (n,)."""
        return np.full(len(P), float(self.k))

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        found = hits(fn, fp, P, self.k) / np.maximum(P, 1.0)
        return 1.0 - np.where(P > 0, found, self.zero_division)

    def evaluate(self, batch: Any, predictions: NDArray[Any]) -> Values:
        return of_largest(self, batch, predictions)
