"""The error rate: the share of wrong decisions."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.counts import CountBased
from setwise.core.loss import Values
from setwise.core.sets import Sets
from setwise.core.traits import Trait


@final
@dataclass(frozen=True)
class ErrorRate(CountBased):
    """``(fn + fp) / (P + N)``, 1 - ``sklearn.metrics.accuracy_score``. Modular; in [0, 1]."""

    @property
    def traits(self) -> frozenset[Trait]:
        modular = {Trait.INCREASING, Trait.MODULAR, Trait.SUBMODULAR, Trait.SUPERMODULAR}
        return frozenset(modular | {Trait.COUNTS, Trait.CARDINALITY, Trait.LABEL_FREE})

    def costs(self, sets: Sets) -> Values:
        return np.repeat(1.0 / sets.sizes, sets.sizes)

    @property
    def curved(self) -> None:
        return None

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return (fn + fp) / (P + N)

    def quotient(self, P: Values, N: Values) -> tuple[Values, Values]:
        """Coefficients (n, 3) of 1, fn, fp in the numerator and the denominator."""
        top = np.tile([0.0, 1.0, 1.0], (len(P), 1))
        return top, np.outer(P + N, [1.0, 0.0, 0.0])
