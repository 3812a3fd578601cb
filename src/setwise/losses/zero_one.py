"""Zero-one loss: is anything wrong?"""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.counts import CountBased
from setwise.core.loss import Values
from setwise.core.traits import Trait


@final
@dataclass(frozen=True)
class ZeroOne(CountBased):
    """``1 if A else 0``: 0 only where every decision of the set is right. Submodular and increasing."""

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.SUBMODULAR, Trait.COUNTS, Trait.CARDINALITY, Trait.LABEL_FREE})

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return np.where(fn + fp > 0, 1.0, 0.0)
