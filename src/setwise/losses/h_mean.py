"""1 - the harmonic mean of the two recalls."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values
from setwise.core.counts import Bend, convex_monge
from setwise.core.loss import CountLoss
from setwise.core.terms import CURVATURES, Trait
from setwise.losses.recalls import recalls


@final
@dataclass(frozen=True)
class HMean(CountLoss):
    """``1 - 2 a b / (a + b)`` with the recalls ``a = 1 - fn / P`` and ``b = 1 - fp / N`` of both classes; in [0, 1].

    This is 1 - the harmonic mean of ``sklearn.metrics.recall_score`` over the classes that occur in the set, so in a
    set of one class ``fn / P`` or ``fp / N``; it is 1 if both recalls are 0. The loss is increasing, and never smaller
    than :class:`GMean`.

    Source: a function of the counts as in Joachims (2005), with the means of :class:`GMean`.

    Examples
    --------
    >>> from setwise.losses import HMean
    >>> # The recalls are 1/4 and 1, their mean 0.5 / 1.25.
    >>> round(HMean()([1, 1, 1, 1, 0], [1, 0, 0, 0, 0]), 3)
    0.6
    """

    name: ClassVar[str] = "h_mean"

    @classmethod
    def examples(cls, p: int) -> "list[HMean]":
        return [HMean()]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.COUNTS})

    @property
    def denied(self) -> frozenset[Trait]:
        return CURVATURES

    @property
    def diluted(self) -> bool:
        """True: both recalls grow with right decisions. A class that was absent comes in with the recall 1."""
        return True

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        positive, negative = recalls(fn, fp, P, N)
        total = positive + negative
        # If both recalls are 0, the product is 0 too, and any divisor gives the loss 1.
        return 1.0 - 2.0 * positive * negative / np.where(total > 0, total, 1.0)

    @property
    def monge(self) -> bool:
        """True: the mixed derivative of the harmonic mean of a and b, ``4 a b / (a + b)^3``, is not negative."""
        return True

    @property
    def bend(self) -> Bend:
        """The loss is convex along fn and fp, as the harmonic mean is concave in each recall, and Monge."""
        return convex_monge
