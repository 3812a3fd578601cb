"""The absolute error of the predicted prevalence."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.arrays import Values
from setwise.core.count_loss import CountLoss
from setwise.core.traits import CURVATURES, Trait


@final
@dataclass(frozen=True)
class AE(CountLoss):
    """``|fp - fn| / (P + N)``, the absolute error of the prevalence that is predicted; in [0, 1].

    Misses and false alarms that are equally many cost nothing, so the loss is not increasing.
    """

    name: ClassVar[str] = "ae"

    @classmethod
    def examples(cls, p: int) -> "list[AE]":
        return [AE()]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.COUNTS})

    @property
    def denied(self) -> frozenset[Trait]:
        return CURVATURES | {Trait.INCREASING}

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        # The size is 0 in a set without known labels.
        return np.abs(fp - fn) / np.maximum(P + N, 1e-300)

    @property
    def monge(self) -> bool:
        """True: the loss is a convex function of ``fp - fn``."""
        return True

    @property
    def affine(self) -> bool:
        """True: the loss depends on the number predicted, and not on which decisions are."""
        return True

    @property
    def diluted(self) -> bool:
        """True: right decisions only add to the denominator."""
        return True
