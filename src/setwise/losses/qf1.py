"""1 - the Q-measure of F1 and of the number predicted."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.checks import Values
from setwise.core.terms import CURVATURES, Trait
from setwise.losses.f_beta import FBeta
from setwise.losses.q_measure import QMeasure


@final
@dataclass(frozen=True)
class QF1(QMeasure):
    """``1 - (1 + b^2) c q / (b^2 c + q)`` with c = F1 and ``q = 1 - |fp - fn| / max(P, N)``; in [0, 1].

    One minus the Q-measure with F1, ``1 - FBeta()``, in place of the recall of :class:`Q`. The loss need not increase:
    a false alarm may make up for a miss. Where c and q are both 0, it is 1. Without positives F1 is 1 where none is
    predicted, and else 0.

    Source: Barranquero, Díez and del Coz (2015) for the measure; with F1 it is the loss ``qf1`` of QuaPy.

    Parameters
    ----------
    beta : b, above 0; the larger, the more the number predicted counts

    Raises
    ------
    TypeError, ValueError : if beta is no number above 0

    Examples
    --------
    >>> from setwise.losses import QF1
    >>> # F1 is 1/3, and the number predicted is right.
    >>> QF1()([1, 1, 1, 0, 0], [1, 0, 0, 1, 1])
    0.5
    """

    name: ClassVar[str] = "qf1"

    @property
    def denied(self) -> frozenset[Trait]:
        # For small b a mistake may always cost more than the number gains.
        return super().denied if self.beta >= 1.0 else CURVATURES

    def score(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """F1."""
        return 1.0 - FBeta().of_counts(fn, fp, P, N)
