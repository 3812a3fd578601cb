"""1 - the break-even point of precision and recall."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.counts import CountBased
from setwise.core.loss import Values
from setwise.core.traits import Trait
from setwise.losses.top import hits


@final
@dataclass(frozen=True)
class BreakEven(CountBased):
    """``fn / P`` of labelings with as many predicted positives as positives, where precision equals recall (PRBEP).

    Inference maximizes over such labelings only (Joachims 2005); the truth is one of them. A model is judged by its P
    largest scores, see :meth:`judge`. Other labelings are valued ``1 - tp / max(P, predicted)``, the smaller of
    precision and recall. Without positives the loss is 0 if none is predicted, else 1.
    """

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.COUNTS})

    def predicted(self, P: Values, N: Values) -> Values:
        """As many as there are positives."""
        return np.asarray(P, dtype=np.float64)

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        found = hits(fn, fp, P, P) / np.maximum(P, 1.0)
        return 1.0 - np.where(P > 0, found, np.where(fp > 0, 0.0, 1.0))
