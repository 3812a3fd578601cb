"""1 - the Q-measure of recall and of the number predicted."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values
from setwise.losses.q_measure import QMeasure


@final
@dataclass(frozen=True)
class Q(QMeasure):
    """``1 - (1 + b^2) c q / (b^2 c + q)`` with ``c = 1 - fn / P`` and ``q = 1 - |fp - fn| / max(P, N)``; in [0, 1].

    One minus the Q-measure, the harmonic mean of the recall c and of a score q of the number predicted. The loss is not
    increasing: a false alarm may make up for a miss. Where c and q are both 0, it is 1. Without positives c is 1,
    because nothing is missed.

    Source: Barranquero, Díez and del Coz (2015).

    Parameters
    ----------
    beta : b, above 0; the larger, the more the number predicted counts

    Raises
    ------
    TypeError, ValueError : if beta is no number above 0

    Examples
    --------
    >>> from setwise.losses import Q
    >>> # The recall is 1/3, and the number predicted is right.
    >>> Q()([1, 1, 1, 0, 0], [1, 0, 0, 1, 1])
    0.5
    """

    name: ClassVar[str] = "q"

    def score(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """``1 - fn / P``; 1 without positives, where nothing is missed."""
        return 1.0 - fn / np.where(P > 0, P, 1.0)
