"""1 - Matthews' correlation coefficient."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.arrays import Values
from setwise.core.count_loss import CountLoss
from setwise.core.traits import CURVATURES, Trait


@final
@dataclass(frozen=True)
class MCC(CountLoss):
    """``1 - (tp tn - fp fn) / sqrt((tp + fp) (tn + fn) P N)``, 1 - ``sklearn.metrics.matthews_corrcoef``; in [0, 2].

    The loss is increasing. If the truth or the prediction has one class only, the formula is 0/0; the coefficient is
    then 0 and the loss 1. So a set of one class has the loss 1 whatever is predicted.
    """

    name: ClassVar[str] = "mcc"

    @classmethod
    def examples(cls, p: int) -> "list[MCC]":
        return [MCC()]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.COUNTS})

    @property
    def denied(self) -> frozenset[Trait]:
        return CURVATURES

    @property
    def affine(self) -> bool:
        """True: at a given number predicted the root is a constant, and ``tp tn - fp fn = p tp - (tp + fp) P``."""
        return True

    @property
    def diluted(self) -> bool:
        """True: the coefficient grows with tp, and so with tn.

        Its numerator A has the derivative tn by tp. Where A > 0 this is at least ``A / tp``, and the root grows by at
        most its own share ``1 / tp``. Where A <= 0 the numerator grows and the root does not fall.
        """
        return True

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        tp, tn = P - fn, N - fp
        # The root is taken in two steps, because the product of four large counts has more digits than a float.
        scale = np.sqrt((tp + fp) * (tn + fn)) * np.sqrt(P * N)
        # Where the scale is 0 the numerator is 0 too.
        return 1.0 - (tp * tn - fp * fn) / np.where(scale > 0, scale, 1.0)
