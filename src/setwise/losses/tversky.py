"""The Tversky loss: 1 - an index of overlap in which the two kinds of mistakes have different weights."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values, as_factor, as_number
from setwise.core.counts import Quotient, linear
from setwise.core.loss import CountLoss
from setwise.core.terms import Trait


@final
@dataclass(frozen=True)
class Tversky(CountLoss):
    """``1 - tp / (tp + alpha fp + beta fn) = (alpha fp + beta fn) / (P + alpha fp + (beta - 1) fn)``, in [0, 1].

    An overlap in which the two kinds of mistakes have different weights. With ``alpha = beta = 1`` the index is the
    Jaccard index, with ``alpha = beta = 1/2`` it is F1 (Dice), and with ``alpha = 1 / (1 + b^2)`` and ``beta = b^2 / (1
    + b^2)`` it is F_b. The loss is increasing, and submodular for beta >= 1. Where the index is 0/0, because there are
    no positives and none are predicted, the loss is ``1 - zero_division``: 0 unless told otherwise.

    Source: Tversky (1977).

    Parameters
    ----------
    alpha, beta : the weight of a false positive and that of a false negative, above 0
    zero_division : the value of the index where it is 0/0, in [0, 1]

    Raises
    ------
    TypeError, ValueError : if a weight is no number above 0, or zero_division none in [0, 1]

    Examples
    --------
    >>> from setwise.losses import Tversky
    >>> # One true positive, two false ones.
    >>> y_true, y_pred = [1, 0, 0, 0], [1, 1, 1, 0]
    >>> Tversky()(y_true, y_pred), Tversky(alpha=1.5)(y_true, y_pred)  # 1/2 and 3/4
    (0.5, 0.75)
    """

    alpha: float = 0.5
    beta: float = 0.5
    zero_division: float = 1.0

    name: ClassVar[str] = "tversky"

    def __post_init__(self) -> None:
        as_factor(self.alpha, "alpha")
        as_factor(self.beta, "beta")
        as_number(self.zero_division, "zero_division", low=0.0, high=1.0)

    @classmethod
    def examples(cls, p: int) -> "list[Tversky]":
        return [
            Tversky(),
            Tversky(1.0, 1.0),
            Tversky(0.3, 0.2),
            Tversky(0.3, 0.7),
            Tversky(0.3, 1.5, zero_division=0.0),
            Tversky(2.0, 1.0, zero_division=0.5),
        ]

    @property
    def traits(self) -> frozenset[Trait]:
        found = {Trait.INCREASING, Trait.COUNTS}
        return frozenset(found | {Trait.SUBMODULAR} if self.beta >= 1.0 else found)

    @property
    def denied(self) -> frozenset[Trait]:
        # With beta < 1 the denominator falls as false negatives gather, so their gains may grow.
        curved = {Trait.MODULAR, Trait.SUPERMODULAR}
        return frozenset(curved if self.beta >= 1.0 else curved | {Trait.SUBMODULAR})

    @property
    def diluted(self) -> bool:
        """True: right decisions only add to the denominator, and 0/0 becomes 0."""
        return True

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        wrong = self.alpha * fp + self.beta * fn
        # ``whole`` is 0 only where the index is 0/0.
        whole = P - fn + wrong
        return np.where(whole > 0, wrong / np.where(whole > 0, whole, 1.0), 1.0 - self.zero_division)

    @property
    def monge(self) -> bool | None:
        """True for beta >= 1/2; for smaller beta the property need not hold."""
        # The sign of the mixed derivative is that of -alpha fp - (1 - beta) fn - (2 beta - 1) P, and fn <= P.
        return True if self.beta >= 0.5 else None

    def quotient(self, P: Values, N: Values) -> Quotient:
        # Without positives the formula is 1 wherever it is not 0/0; the loss of no mistake is not read from it.
        return linear(len(P), 0.0, self.beta, self.alpha), linear(len(P), P, self.beta - 1.0, self.alpha)
