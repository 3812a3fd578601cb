"""The relative absolute error of the predicted prevalences of both classes."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.arrays import Values
from setwise.core.count_loss import CountLoss
from setwise.core.traits import CURVATURES, Trait


@final
@dataclass(frozen=True)
class RAE(CountLoss):
    """``(|fp - fn| / (P + 1/2) + |fp - fn| / (N + 1/2)) / 2``, the mean relative error of the two prevalences.

    Both are smoothed by half a decision of each class, as in :class:`KLD`, so that sets of one class have a finite
    loss (Esuli and Sebastiani 2015). The error of a rare class weighs the most. The loss is not increasing, and at most
    about P + N.
    """

    name: ClassVar[str] = "rae"

    @classmethod
    def examples(cls, p: int) -> "list[RAE]":
        return [RAE()]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.COUNTS})

    @property
    def denied(self) -> frozenset[Trait]:
        return CURVATURES | {Trait.INCREASING}

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return 0.5 * np.abs(fp - fn) * (1.0 / (P + 0.5) + 1.0 / (N + 0.5))

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
        """True: right decisions only add to the denominators."""
        return True
