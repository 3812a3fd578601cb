"""The error rate: the share of decisions that are wrong."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values
from setwise.core.counts import Quotient, linear
from setwise.core.loss import CountLoss
from setwise.core.terms import CURVATURES, Trait


@final
@dataclass(frozen=True)
class ErrorRate(CountLoss):
    """``(fn + fp) / (P + N)``, the share of wrong decisions, 1 - ``sklearn.metrics.accuracy_score``; in [0, 1].

    The loss is modular: a sum of one cost for each mistake.

    Source: DD Eq. 12 with both weights ``1 / (P + N)``.

    Examples
    --------
    >>> from setwise.losses import ErrorRate
    >>> ErrorRate()([1, 1, 0, 0], [1, 0, 0, 0])
    0.25
    """

    name: ClassVar[str] = "error_rate"

    @classmethod
    def examples(cls, p: int) -> "list[ErrorRate]":
        return [ErrorRate()]

    @property
    def traits(self) -> frozenset[Trait]:
        return CURVATURES | {Trait.INCREASING, Trait.COUNTS, Trait.CARDINALITY, Trait.LABEL_FREE}

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        # The size is 0 in a set without known labels, and may be tiny where areas take the place of counts.
        return (fn + fp) / np.maximum(P + N, 1e-300)

    def quotient(self, P: Values, N: Values) -> Quotient:
        return linear(len(P), 0.0, 1.0, 1.0), linear(len(P), P + N, 0.0, 0.0)
