"""The balanced error: the mean over the two classes of the share of decisions that are wrong."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values
from setwise.core.counts import Quotient, linear
from setwise.core.loss import CountLoss
from setwise.core.terms import CURVATURES, Trait


@final
@dataclass(frozen=True)
class BalancedError(CountLoss):
    """``(fn / P + fp / N) / 2``, 1 - ``sklearn.metrics.balanced_accuracy_score``; in [0, 1].

    Both classes count the same, however rare one is. In a set of one class the loss is the share of wrong decisions of
    that class, ``fn / P`` or ``fp / N``. It is modular: a sum of one cost for each mistake.

    Source: the weighted Hamming loss of DD Eq. 12, with the weights ``1 / (2 N)`` and ``1 / (2 P)``.

    Examples
    --------
    >>> from setwise.losses import BalancedError, ErrorRate
    >>> # All of the one class are wrong, none of the other.
    >>> y_true, y_pred = [1, 0, 0, 0], [0, 0, 0, 0]
    >>> BalancedError()(y_true, y_pred), ErrorRate()(y_true, y_pred)
    (0.5, 0.25)
    """

    name: ClassVar[str] = "balanced_error"

    @classmethod
    def examples(cls, p: int) -> "list[BalancedError]":
        return [BalancedError()]

    @property
    def traits(self) -> frozenset[Trait]:
        return CURVATURES | {Trait.INCREASING, Trait.COUNTS}

    @property
    def diluted(self) -> bool:
        """True: right decisions lower the shares of wrong ones. A class that was absent comes in with the share 0."""
        return True

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        miss, alarm = _weights(P, N)
        return fn * miss + fp * alarm

    def quotient(self, P: Values, N: Values) -> Quotient:
        miss, alarm = _weights(P, N)
        return linear(len(P), 0.0, miss, alarm), linear(len(P), 1.0, 0.0, 0.0)


def _weights(P: Values, N: Values) -> tuple[Values, Values]:
    """The cost of a false negative and of a false positive, (n,) each."""
    # A class that is absent has no mistakes; its cost only has to be finite.
    classes = np.where((P > 0) & (N > 0), 2.0, 1.0)
    return 1.0 / (classes * np.where(P > 0, P, 1.0)), 1.0 / (classes * np.where(N > 0, N, 1.0))
