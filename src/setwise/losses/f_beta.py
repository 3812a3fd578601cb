"""1 - F_beta, the weighted harmonic mean of precision and recall."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values, as_factor, as_number
from setwise.core.counts import Quotient
from setwise.core.loss import CountLoss
from setwise.core.terms import CURVATURES, Trait
from setwise.losses.tversky import Tversky


@final
@dataclass(frozen=True)
class FBeta(CountLoss):
    """``(b^2 fn + fp) / ((1 + b^2) P - fn + fp)``, 1 - ``sklearn.metrics.fbeta_score``; in [0, 1].

    F_b is the harmonic mean of precision and recall in which recall has b^2 times the weight of precision; b = 1 gives
    F1. The loss is increasing, but not submodular. Where F is 0/0, because there are no positives and none are
    predicted, the loss is ``1 - zero_division``: 0 unless told otherwise. A set without positives in which any is
    predicted has the loss 1.

    Source: Joachims (2005).

    Parameters
    ----------
    beta : b, above 0
    zero_division : the value of F where it is 0/0, in [0, 1], as in scikit-learn

    Raises
    ------
    TypeError, ValueError : if beta is no number above 0, or zero_division none in [0, 1]

    Examples
    --------
    >>> from setwise.losses import FBeta
    >>> # The recall is 1, the precision 1/3.
    >>> y_true, y_pred = [1, 0, 0, 0], [1, 1, 1, 0]
    >>> FBeta()(y_true, y_pred)
    0.5
    >>> # 2/7, as recall has four times the weight.
    >>> round(FBeta(beta=2.0)(y_true, y_pred), 3)
    0.286
    >>> FBeta()([0, 0], [0, 0]), FBeta(zero_division=0.0)([0, 0], [0, 0])
    (0.0, 1.0)
    """

    beta: float = 1.0
    zero_division: float = 1.0

    name: ClassVar[str] = "f1"

    def __post_init__(self) -> None:
        as_factor(self.beta, "beta")
        as_number(self.zero_division, "zero_division", low=0.0, high=1.0)

    @classmethod
    def examples(cls, p: int) -> "list[FBeta]":
        return [FBeta(), FBeta(2.0, zero_division=0.0), FBeta(0.5, zero_division=0.25), FBeta(0.1)]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.COUNTS})

    @property
    def denied(self) -> frozenset[Trait]:
        return CURVATURES

    @property
    def diluted(self) -> bool:
        """True: right decisions only add to the denominator, and 0/0 becomes 0."""
        return True

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        square = self.beta**2
        # ``whole`` is 0 only where F is 0/0.
        whole = (1.0 + square) * P - fn + fp
        return np.where(whole > 0, (square * fn + fp) / np.where(whole > 0, whole, 1.0), 1.0 - self.zero_division)

    @property
    def monge(self) -> bool | None:
        """True for beta >= 1; for smaller beta the property need not hold."""
        return True if self.beta >= 1.0 else None

    def quotient(self, P: Values, N: Values) -> Quotient:
        square = self.beta**2
        # F_b is the Tversky index with these weights.
        return Tversky(1.0 / (1.0 + square), square / (1.0 + square), self.zero_division).quotient(P, N)
