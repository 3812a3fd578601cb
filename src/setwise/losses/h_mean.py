"""1 - the harmonic mean of the two recalls."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.counts import CountBased
from setwise.core.loss import Values
from setwise.core.traits import Trait
from setwise.losses.recalls import recalls


@final
@dataclass(frozen=True)
class HMean(CountBased):
    """``1 - 2 a b / (a + b)`` with the recalls ``a = 1 - fn / P``, ``b = 1 - fp / N``; increasing, in [0, 1].

    1 - the harmonic mean of ``sklearn.metrics.recall_score`` over the classes that are there, 1 where both recalls are
    0. Monge: the mixed derivative of the harmonic mean, ``4 a b / (a + b)^3``, is not negative.
    """

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.COUNTS})

    @property
    def denied(self) -> frozenset[Trait]:
        return frozenset({Trait.MODULAR, Trait.SUBMODULAR, Trait.SUPERMODULAR})

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        positive, negative = recalls(fn, fp, P, N)
        total = positive + negative
        return 1.0 - 2.0 * positive * negative / np.where(total > 0, total, 1.0)

    def monge(self, P: int, N: int) -> bool:
        """True."""
        return True
