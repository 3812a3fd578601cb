"""1 - the Q-measure of F1 and of the number predicted."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.arrays import Values
from setwise.core.checks import as_factor
from setwise.core.count_loss import CountLoss
from setwise.core.counts import Ceiling
from setwise.core.traits import CURVATURES, Trait
from setwise.losses.f_beta import FBeta
from setwise.losses.prevalences import agreement, ceiling_of_q, joined


@final
@dataclass(frozen=True)
class QF1(CountLoss):
    """``1 - (1 + b^2) c q / (b^2 c + q)`` with c = F1 and ``q = 1 - |fp - fn| / max(P, N)``; in [0, 1].

    This is the Q-measure (Barranquero et al. 2015) with F1, ``1 - FBeta()``, in place of the recall of :class:`Q`. The
    loss need not increase: a false alarm may make up for a miss. Without positives F1 is 1 where none is predicted, and
    else 0.

    Parameters
    ----------
    beta : b, above 0; the larger, the more the number predicted counts
    """

    beta: float = 1.0

    name: ClassVar[str] = "qf1"

    def __post_init__(self) -> None:
        as_factor(self.beta, "beta")

    @classmethod
    def examples(cls, p: int) -> "list[QF1]":
        return [QF1(), QF1(2.0), QF1(0.5)]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.COUNTS})

    @property
    def denied(self) -> frozenset[Trait]:
        # For small b a mistake may always cost more than the number gains.
        return CURVATURES | {Trait.INCREASING} if self.beta >= 1.0 else CURVATURES

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return 1.0 - joined(_f1(fn, fp, P, N), agreement(fn, fp, P, N), self.beta)

    @property
    def ceiling(self) -> Ceiling:
        """A bound from the least score of each kind."""
        return ceiling_of_q(_f1, self.beta)

    @property
    def diluted(self) -> bool:
        """True: both scores grow with right decisions."""
        return True


def _f1(fn: Values, fp: Values, P: Values, N: Values) -> Values:
    return 1.0 - FBeta().of_counts(fn, fp, P, N)
