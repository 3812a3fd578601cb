"""Hamming loss in which a miss and a false alarm cost differently."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.checks import as_number
from setwise.core.counts import CountBased
from setwise.core.loss import Values
from setwise.core.sets import Sets
from setwise.core.traits import Trait


@final
@dataclass(frozen=True)
class ClassWeightedHamming(CountBased):
    """``negative * fp + positive * fn`` (DD Eq. 12). Modular.

    Parameters
    ----------
    negative, positive : cost of a wrong negative (false positive) and of a wrong positive (false negative), >= 0
    """

    negative: float = 1.0
    positive: float = 1.0

    def __post_init__(self) -> None:
        as_number(self.negative, "negative", low=0.0)
        as_number(self.positive, "positive", low=0.0)

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.MODULAR, Trait.SUBMODULAR, Trait.SUPERMODULAR, Trait.COUNTS})

    def costs(self, sets: Sets) -> Values:
        return np.where(sets.labels, float(self.positive), float(self.negative))

    @property
    def curved(self) -> None:
        return None

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return self.positive * fn + self.negative * fp

    def quotient(self, P: Values, N: Values) -> tuple[Values, Values]:
        """Coefficients (n, 3) of 1, fn, fp in the numerator and the denominator."""
        top = np.tile([0.0, float(self.positive), float(self.negative)], (len(P), 1))
        return top, np.tile([1.0, 0.0, 0.0], (len(P), 1))
