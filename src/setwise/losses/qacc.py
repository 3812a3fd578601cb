"""1 - the Q-measure of accuracy and of the number predicted."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.arrays import Values
from setwise.core.checks import as_factor
from setwise.core.count_loss import CountLoss
from setwise.core.counts import Ceiling
from setwise.core.traits import CURVATURES, Trait
from setwise.losses.error_rate import ErrorRate
from setwise.losses.prevalences import agreement, ceiling_of_q, joined


@final
@dataclass(frozen=True)
class QAcc(CountLoss):
    """``1 - (1 + b^2) c q / (b^2 c + q)`` with the accuracy c and ``q = 1 - |fp - fn| / max(P, N)``; in [0, 1].

    This is the Q-measure (Barranquero et al. 2015) with the accuracy, ``1 - ErrorRate()``, in place of the recall of
    :class:`Q`. The loss is not increasing: a false alarm may make up for a miss.

    Parameters
    ----------
    beta : b, above 0; the larger, the more the number predicted counts
    """

    beta: float = 1.0

    name: ClassVar[str] = "qacc"

    def __post_init__(self) -> None:
        as_factor(self.beta, "beta")

    @classmethod
    def examples(cls, p: int) -> "list[QAcc]":
        return [QAcc(), QAcc(2.0), QAcc(0.5)]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.COUNTS})

    @property
    def denied(self) -> frozenset[Trait]:
        return CURVATURES | {Trait.INCREASING}

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return 1.0 - joined(_accuracy(fn, fp, P, N), agreement(fn, fp, P, N), self.beta)

    @property
    def ceiling(self) -> Ceiling:
        """A bound from the least score of each kind."""
        return ceiling_of_q(_accuracy, self.beta)

    @property
    def diluted(self) -> bool:
        """True: both scores grow with right decisions."""
        return True


def _accuracy(fn: Values, fp: Values, P: Values, N: Values) -> Values:
    return 1.0 - ErrorRate().of_counts(fn, fp, P, N)
