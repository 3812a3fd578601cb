"""1 - the Q-measure of the geometric mean of the recalls and of the number predicted."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.arrays import Values
from setwise.core.traits import CURVATURES, Trait
from setwise.losses.g_mean import GMean
from setwise.losses.q_measure import QMeasure


@final
@dataclass(frozen=True)
class QGM(QMeasure):
    """``1 - (1 + b^2) c q / (b^2 c + q)``, ``c = sqrt((1 - fn / P) (1 - fp / N))``, ``q = 1 - |fp - fn| / max(P, N)``.

    This is the Q-measure (Barranquero et al. 2015) with the geometric mean of the two recalls, ``1 - GMean()``, in
    place of the recall of :class:`Q`; in [0, 1]. The loss need not increase: a false alarm may make up for a miss. In a
    set of one class c is the recall of that class.

    Parameters
    ----------
    beta : b, above 0; the larger, the more the number predicted counts
    """

    name: ClassVar[str] = "qgm"

    @property
    def denied(self) -> frozenset[Trait]:
        # For small b a mistake may always cost more than the number gains.
        return super().denied if self.beta >= 1.0 else CURVATURES

    def score(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """The geometric mean of the recalls."""
        return 1.0 - GMean().of_counts(fn, fp, P, N)
