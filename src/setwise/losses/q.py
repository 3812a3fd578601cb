"""1 - the Q-measure of recall and of the number predicted."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.arrays import Values
from setwise.losses.q_measure import QMeasure


@final
@dataclass(frozen=True)
class Q(QMeasure):
    """``1 - (1 + b^2) c q / (b^2 c + q)`` with ``c = 1 - fn / P`` and ``q = 1 - |fp - fn| / max(P, N)``; in [0, 1].

    This is one minus the Q-measure (Barranquero et al. 2015), the harmonic mean of the recall c and of a score q of the
    number predicted. The loss is not increasing: a false alarm may make up for a miss. Where c and q are both 0, it is
    1. Without positives c is 1, because nothing is missed.

    Parameters
    ----------
    beta : b, above 0; the larger, the more the number predicted counts
    """

    name: ClassVar[str] = "q"

    def score(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """``1 - fn / P``; 1 without positives, where nothing is missed."""
        return 1.0 - fn / np.where(P > 0, P, 1.0)
