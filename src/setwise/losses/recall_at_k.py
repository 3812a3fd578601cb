"""1 - recall at k."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.checks import as_count, as_number
from setwise.core.counts import CountBased
from setwise.core.loss import Values
from setwise.core.sets import Sets
from setwise.core.traits import Trait
from setwise.losses.top import check_size, hits


@final
@dataclass(frozen=True)
class RecallAtK(CountBased):
    """``1 - tp / P`` of labelings with exactly k predicted positives: the share of positives not among the first k.

    Inference and labelings with another number of predicted positives as in :class:`PrecisionAtK`: of too many
    positives k are drawn at random. Without positives the loss is ``1 - zero_division``.

    Parameters
    ----------
    k : at least 1; every set must have k decisions or more
    zero_division : recall without positives, in [0, 1]
    """

    k: int
    zero_division: float = 1.0

    def __post_init__(self) -> None:
        as_count(self.k, "k")
        as_number(self.zero_division, "zero_division", low=0.0, high=1.0)

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.COUNTS})

    def check(self, sets: Sets) -> None:
        check_size(self.k, sets, self)

    def predicted(self, P: Values, N: Values) -> Values:
        """Always k."""
        return np.full(len(P), float(self.k))

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        found = hits(fn, fp, P, self.k) / np.maximum(P, 1.0)
        return 1.0 - np.where(P > 0, found, self.zero_division)
