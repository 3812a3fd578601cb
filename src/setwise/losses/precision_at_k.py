"""1 - precision at k."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Values
from setwise.core.batch import Batch
from setwise.core.checks import as_count
from setwise.core.count_loss import CountLoss
from setwise.core.traits import Trait
from setwise.losses.top import check_size, hits, of_largest


@final
@dataclass(frozen=True)
class PrecisionAtK(CountLoss):
    """``1 - tp / k`` where k decisions are predicted positive: the wrong share of the k largest scores (Joachims 2005).

    Scores tied for the last places share them. In training, inference maximizes over labelings with exactly k predicted
    positives; the truth need not be one of them, so they are compared with the mean of the best of them.

    Parameters
    ----------
    k : at least 1; every set must have k decisions or more
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
        """Always k."""
        return np.full(len(P), float(self.k))

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return 1.0 - hits(fn, fp, P, self.k) / self.k

    def evaluate(self, batch: Any, predictions: NDArray[Any]) -> Values:
        return of_largest(self, batch, predictions)
