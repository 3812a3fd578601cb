"""1 - the Q-measure of the geometric mean of the recalls and of the number predicted."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.arrays import Values
from setwise.core.checks import as_factor
from setwise.core.count_loss import CountLoss
from setwise.core.counts import Ceiling
from setwise.core.traits import CURVATURES, Trait
from setwise.losses.g_mean import GMean
from setwise.losses.prevalences import agreement, ceiling_of_q, joined


@final
@dataclass(frozen=True)
class QGM(CountLoss):
    """``1 - (1 + b^2) c q / (b^2 c + q)``, ``c = sqrt((1 - fn / P) (1 - fp / N))``, ``q = 1 - |fp - fn| / max(P, N)``.

    This is the Q-measure (Barranquero et al. 2015) with the geometric mean of the two recalls, ``1 - GMean()``, in
    place of the recall of :class:`Q`; in [0, 1]. The loss need not increase: a false alarm may make up for a miss. In a
    set of one class c is the recall of that class.

    Parameters
    ----------
    beta : b, above 0; the larger, the more the number predicted counts
    """

    beta: float = 1.0

    name: ClassVar[str] = "qgm"

    def __post_init__(self) -> None:
        as_factor(self.beta, "beta")

    @classmethod
    def examples(cls, p: int) -> "list[QGM]":
        return [QGM(), QGM(2.0), QGM(0.5)]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.COUNTS})

    @property
    def denied(self) -> frozenset[Trait]:
        # For small b a mistake may always cost more than the number gains.
        return CURVATURES | {Trait.INCREASING} if self.beta >= 1.0 else CURVATURES

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return 1.0 - joined(_mean_of_recalls(fn, fp, P, N), agreement(fn, fp, P, N), self.beta)

    @property
    def ceiling(self) -> Ceiling:
        """A bound from the least score of each kind."""
        return ceiling_of_q(_mean_of_recalls, self.beta)

    @property
    def diluted(self) -> bool:
        """True: both scores grow with right decisions."""
        return True


def _mean_of_recalls(fn: Values, fp: Values, P: Values, N: Values) -> Values:
    return 1.0 - GMean().of_counts(fn, fp, P, N)
