"""One minus the harmonic mean of a score of the decisions and a score of the number predicted."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

from setwise.core.checks import Values, as_factor
from setwise.core.counts import Ceiling
from setwise.core.loss import CountLoss
from setwise.core.terms import CURVATURES, Trait
from setwise.losses.prevalences import agreement, ceiling_of_q, joined


@dataclass(frozen=True)
class QMeasure(CountLoss):
    """``1 - (1 + b^2) c q / (b^2 c + q)`` with a score c of the decisions and ``q = 1 - |fp - fn| / max(P, N)``.

    This is one minus the Q-measure (Barranquero et al. 2015). A subclass gives c, in [0, 1], which falls with fn and
    with fp and never with more right decisions. The loss is in [0, 1], and 1 where c and q are both 0. It need not
    increase: a false alarm may make up for a miss.

    Parameters
    ----------
    beta : b, above 0; the larger, the more the number predicted counts
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        as_factor(self.beta, "beta")

    @classmethod
    def examples(cls, p: int) -> list[Self]:
        return [cls(), cls(2.0), cls(0.5)]

    @abstractmethod
    def score(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """The score c of the decisions, in the shape of the counts."""

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.COUNTS})

    @property
    def denied(self) -> frozenset[Trait]:
        return CURVATURES | {Trait.INCREASING}

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return 1.0 - joined(self.score(fn, fp, P, N), agreement(fn, fp, P, N), self.beta)

    @property
    def ceiling(self) -> Ceiling:
        """A bound from the least score of each kind."""
        return ceiling_of_q(self.score, self.beta)

    @property
    def diluted(self) -> bool:
        """True: both scores grow with right decisions."""
        return True
