"""1 - F_beta."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.checks import as_number
from setwise.core.counts import CountBased
from setwise.core.loss import Values
from setwise.core.traits import Trait
from setwise.losses.tversky import Tversky


@final
@dataclass(frozen=True)
class FBeta(CountBased):
    """``(b^2 fn + fp) / ((1 + b^2) P - fn + fp)``, 1 - ``sklearn.metrics.fbeta_score``; increasing, in [0, 1].

    The mean of precision and recall that weighs recall b^2 times; b = 1 is F1 (Joachims 2005). Not submodular. Where F
    is 0/0 (no positives, none predicted) the loss is ``1 - zero_division``.

    Parameters
    ----------
    beta : b, above 0
    zero_division : F where it is 0/0, in [0, 1], as in scikit-learn
    """

    beta: float = 1.0
    zero_division: float = 1.0

    def __post_init__(self) -> None:
        as_number(self.beta, "beta", low=0.0, high=1e100, open_low=True)
        as_number(self.zero_division, "zero_division", low=0.0, high=1.0)

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.COUNTS})

    @property
    def denied(self) -> frozenset[Trait]:
        return frozenset({Trait.MODULAR, Trait.SUBMODULAR, Trait.SUPERMODULAR})

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        square = self.beta**2
        whole = (1.0 + square) * P - fn + fp
        return np.where(whole > 0, (square * fn + fp) / np.where(whole > 0, whole, 1.0), 1.0 - self.zero_division)

    def monge(self, P: int, N: int) -> bool | None:
        """For beta >= 1 always."""
        return True if self.beta >= 1.0 else None

    def quotient(self, P: Values, N: Values) -> tuple[Values, Values] | None:
        """Coefficients (n, 3) of 1, fn, fp in the numerator and the denominator: those of Tversky."""
        square = self.beta**2
        return Tversky(1.0 / (1.0 + square), square / (1.0 + square), self.zero_division).quotient(P, N)
