"""1 - the geometric mean of the two recalls."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.counts import CountBased
from setwise.core.loss import Values
from setwise.core.traits import Trait
from setwise.losses.recalls import recalls


@final
@dataclass(frozen=True)
class GMean(CountBased):
    """``1 - sqrt((1 - fn / P) (1 - fp / N))``, increasing, in [0, 1]; in a set of one class ``fn / P`` or ``fp / N``.

    1 - the geometric mean of ``sklearn.metrics.recall_score`` over the classes that are there. Monge: a product of two
    falling factors, so the gain of a false negative never grows with fp.
    """

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.COUNTS})

    @property
    def denied(self) -> frozenset[Trait]:
        return frozenset({Trait.MODULAR, Trait.SUBMODULAR, Trait.SUPERMODULAR})

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        positive, negative = recalls(fn, fp, P, N)
        return 1.0 - np.sqrt(positive * negative)

    def monge(self, P: int, N: int) -> bool:
        """True."""
        return True
