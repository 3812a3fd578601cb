"""1 - precision at k."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.checks import as_count
from setwise.core.counts import CountBased
from setwise.core.loss import Values
from setwise.core.sets import Sets
from setwise.core.traits import Trait
from setwise.losses.top import check_size, hits


@final
@dataclass(frozen=True)
class PrecisionAtK(CountBased):
    """``1 - tp / k`` of labelings with exactly k predicted positives: the wrong share of the first k (Joachims 2005).

    Inference maximizes over such labelings only; the truth need not be one of them. So a trained model is judged by the
    k largest scores, see :meth:`judge`. Other labelings are valued ``1 - tp / max(k, predicted)``: missing places
    count as wrong, and of too many positives k are drawn at random.

    Parameters
    ----------
    k : at least 1; every set must have k decisions or more
    """

    k: int

    def __post_init__(self) -> None:
        as_count(self.k, "k")

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.COUNTS})

    def check(self, sets: Sets) -> None:
        check_size(self.k, sets, self)

    def predicted(self, P: Values, N: Values) -> Values:
        """Always k."""
        return np.full(len(P), float(self.k))

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return 1.0 - hits(fn, fp, P, self.k) / self.k
