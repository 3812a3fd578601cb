"""1 - the Q-measure of accuracy and of the number predicted."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.checks import Values
from setwise.losses.error_rate import ErrorRate
from setwise.losses.q_measure import QMeasure


@final
@dataclass(frozen=True)
class QAcc(QMeasure):
    """``1 - (1 + b^2) c q / (b^2 c + q)`` with the accuracy c and ``q = 1 - |fp - fn| / max(P, N)``; in [0, 1].

    One minus the Q-measure with the accuracy, ``1 - ErrorRate()``, in place of the recall of :class:`Q`. The loss is
    not increasing: a false alarm may make up for a miss. Where c and q are both 0, it is 1.

    Source: Barranquero, Díez and del Coz (2015) for the measure; with the accuracy it is the loss ``qacc`` of QuaPy.

    Parameters
    ----------
    beta : b, above 0; the larger, the more the number predicted counts

    Raises
    ------
    TypeError, ValueError : if beta is no number above 0

    Examples
    --------
    >>> from setwise.losses import QAcc
    >>> # The accuracy is 1/3, and the number predicted is right.
    >>> QAcc()([1, 1, 0], [1, 0, 1])
    0.5
    """

    name: ClassVar[str] = "qacc"

    def score(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """The accuracy."""
        return 1.0 - ErrorRate().of_counts(fn, fp, P, N)
