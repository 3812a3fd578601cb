"""1 - Matthews' correlation coefficient."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.counts import CountBased
from setwise.core.loss import Values
from setwise.core.traits import Trait


@final
@dataclass(frozen=True)
class MCC(CountBased):
    """``1 - (tp tn - fp fn) / sqrt((tp + fp) (tn + fn) P N)``, 1 - ``sklearn.metrics.matthews_corrcoef``; in [0, 2].

    Increasing. Where the formula is 0/0 (one class only, in truth or prediction) the coefficient is 0 and the loss 1,
    so a set of one class costs 1 whatever is predicted.
    """

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.COUNTS})

    @property
    def denied(self) -> frozenset[Trait]:
        return frozenset({Trait.MODULAR, Trait.SUBMODULAR, Trait.SUPERMODULAR})

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        tp, tn = P - fn, N - fp
        # Two roots: the product of four counts of large sets has more digits than a float.
        scale = np.sqrt((tp + fp) * (tn + fn)) * np.sqrt(P * N)
        return 1.0 - (tp * tn - fp * fn) / np.where(scale > 0, scale, 1.0)
