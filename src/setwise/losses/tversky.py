"""The Tversky loss: overlap in which the two kinds of mistakes weigh differently."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.checks import as_number
from setwise.core.counts import CountBased
from setwise.core.loss import Values
from setwise.core.traits import Trait


@final
@dataclass(frozen=True)
class Tversky(CountBased):
    """``1 - tp / (tp + alpha fp + beta fn) = (alpha fp + beta fn) / (P + alpha fp + (beta - 1) fn)``, in [0, 1].

    ``alpha = beta = 1`` is Jaccard, ``1/2`` F1 (Dice), ``alpha = 1 / (1 + b^2)``, ``beta = b^2 / (1 + b^2)`` is F_b.
    Increasing; submodular for beta >= 1. Where the formula is 0/0 (no positives, none predicted) the loss is
    ``1 - zero_division``.

    Parameters
    ----------
    alpha, beta : weight of a false positive and of a false negative, above 0
    zero_division : the index where it is 0/0, in [0, 1]
    """

    alpha: float = 0.5
    beta: float = 0.5
    zero_division: float = 1.0

    def __post_init__(self) -> None:
        as_number(self.alpha, "alpha", low=0.0, open_low=True)
        as_number(self.beta, "beta", low=0.0, open_low=True)
        as_number(self.zero_division, "zero_division", low=0.0, high=1.0)

    @property
    def traits(self) -> frozenset[Trait]:
        found = {Trait.INCREASING, Trait.COUNTS}
        return frozenset(found | {Trait.SUBMODULAR} if self.beta >= 1.0 else found)

    @property
    def denied(self) -> frozenset[Trait]:
        bent = {Trait.MODULAR, Trait.SUPERMODULAR}
        return frozenset(bent if self.beta >= 1.0 else bent | {Trait.SUBMODULAR})

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        wrong = self.alpha * fp + self.beta * fn
        whole = P - fn + wrong
        return np.where(whole > 0, wrong / np.where(whole > 0, whole, 1.0), 1.0 - self.zero_division)

    def monge(self, P: int, N: int) -> bool | None:
        """For beta >= 1 always."""
        return True if self.beta >= 1.0 else None

    def quotient(self, P: Values, N: Values) -> tuple[Values, Values] | None:
        """Coefficients (n, 3) of 1, fn, fp in the numerator and the denominator.

        Without positives the loss is 1 wherever it is not 0/0, so ``zero_division`` 0 makes it the quotient 1 / 1.
        """
        empty = P == 0
        if 0.0 < self.zero_division < 1.0 and empty.any():
            return None
        one = np.where(empty & (self.zero_division == 0.0), 1.0, 0.0)
        rest, like = 1.0 - one, np.ones(len(P))
        top = np.stack([one, rest * self.beta, rest * self.alpha], axis=1)
        return top, np.stack([np.where(one, like, P), rest * (self.beta - 1.0), rest * self.alpha], axis=1)
