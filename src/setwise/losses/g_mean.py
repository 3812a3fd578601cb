"""1 - the geometric mean of the two recalls."""

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
class GMean(CountLoss):
    """``1 - sqrt((1 - fn / P) (1 - fp / N))``, 1 - the geometric mean of the recalls of both classes; in [0, 1].

    The loss is 1 as soon as one class is missed altogether. In a set of one class it is the share of wrong decisions of
    that class, ``fn / P`` or ``fp / N``: the mean is that of ``sklearn.metrics.recall_score`` over the classes that
    occur in the set. The loss is increasing.

    Source: Kubat and Matwin (1997).

    Examples
    --------
    >>> from setwise.losses import GMean
    >>> GMean()([1, 1, 1, 1, 0], [1, 0, 0, 0, 0])  # the recalls are 1/4 and 1
    0.5
    >>> GMean()([0, 0, 0, 0], [0, 1, 0, 0])  # one class: the share that is wrong
    0.25
    """

    name: ClassVar[str] = "g_mean"

    @classmethod
    def examples(cls, p: int) -> "list[GMean]":
        return [GMean()]

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
        found = positive * negative
        # Tables of counts are large, so no more arrays are made.
        out = found if np.ndim(found) else None
        return np.subtract(1.0, np.sqrt(found, out=out), out=out)

    @property
    def monge(self) -> bool:
        """True: the product has one factor that falls with fn and one that falls with fp."""
        # So the mixed differences of the product are not negative, and those of the loss not positive.
        return True

    @property
    def bend(self) -> Bend:
        """The loss is convex along fn and fp, as the root is concave, and Monge."""
        return convex_monge
