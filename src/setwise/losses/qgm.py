"""1 - the Q-measure of the geometric mean of the recalls and of the number predicted."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.checks import Values
from setwise.core.terms import CURVATURES, Trait
from setwise.losses.g_mean import GMean
from setwise.losses.q_measure import QMeasure


@final
@dataclass(frozen=True)
class QGM(QMeasure):
    """``1 - (1 + b^2) c q / (b^2 c + q)``, ``c = sqrt((1 - fn / P) (1 - fp / N))``, ``q = 1 - |fp - fn| / max(P, N)``.

    One minus the Q-measure with the geometric mean of the two recalls, ``1 - GMean()``, in place of the recall of
    :class:`Q`; in [0, 1]. The loss need not increase: a false alarm may make up for a miss. Where c and q are both 0,
    it is 1. In a set of one class c is the recall of that class.

    Source: Barranquero, Díez and del Coz (2015) for the measure; with this c it is the loss ``qgm`` of QuaPy.

    Parameters
    ----------
    beta : b, above 0; the larger, the more the number predicted counts

    Raises
    ------
    TypeError, ValueError : if beta is no number above 0

    Examples
    --------
    >>> from setwise.losses import QGM
    >>> # Both recalls are 1/3, and the number is right.
    >>> round(QGM()([1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 1, 1]), 3)
    0.5
    """

    name: ClassVar[str] = "qgm"

    @property
    def denied(self) -> frozenset[Trait]:
        # For small b a mistake may always cost more than the number gains.
        return super().denied if self.beta >= 1.0 else CURVATURES

    def score(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """The geometric mean of the recalls."""
        return 1.0 - GMean().of_counts(fn, fp, P, N)
