"""1 - the Q-measure of recall and of the number predicted."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.arrays import Values
from setwise.core.checks import as_factor
from setwise.core.count_loss import CountLoss
from setwise.core.counts import Ceiling
from setwise.core.traits import CURVATURES, Trait
from setwise.losses.prevalences import agreement, ceiling_of_q, joined


@final
@dataclass(frozen=True)
class Q(CountLoss):
    """``1 - (1 + b^2) c q / (b^2 c + q)`` with ``c = 1 - fn / P`` and ``q = 1 - |fp - fn| / max(P, N)``; in [0, 1].

    This is one minus the Q-measure (Barranquero et al. 2015), the harmonic mean of the recall c and of a score q of the
    number predicted. The loss is not increasing: a false alarm may make up for a miss. Where c and q are both 0, it is
    1. Without positives c is 1, because nothing is missed.

    Parameters
    ----------
    beta : b, above 0; the larger, the more the number predicted counts
    """

    beta: float = 1.0

    name: ClassVar[str] = "q"

    def __post_init__(self) -> None:
        as_factor(self.beta, "beta")

    @classmethod
    def examples(cls, p: int) -> "list[Q]":
        return [Q(), Q(2.0), Q(0.5)]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.COUNTS})

    @property
    def denied(self) -> frozenset[Trait]:
        return CURVATURES | {Trait.INCREASING}

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return 1.0 - joined(_recall(fn, fp, P, N), agreement(fn, fp, P, N), self.beta)

    @property
    def ceiling(self) -> Ceiling:
        """A bound from the least score of each kind."""
        return ceiling_of_q(_recall, self.beta)

    @property
    def diluted(self) -> bool:
        """True: both scores grow with right decisions."""
        return True


def _recall(fn: Values, fp: Values, P: Values, N: Values) -> Values:
    """``1 - fn / P``; 1 without positives, where nothing is missed."""
    return 1.0 - fn / np.where(P > 0, P, 1.0)
