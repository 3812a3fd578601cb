"""The Kullback-Leibler divergence of the predicted prevalence from the true one."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.checks import Values
from setwise.losses.prevalence_loss import PrevalenceLoss
from setwise.losses.prevalences import divergence


@final
@dataclass(frozen=True)
class KLD(PrevalenceLoss):
    """``p log(p / q) + (1 - p) log((1 - p) / (1 - q))``, the divergence of the prevalence q that is predicted from p.

    A quantifier is judged by it. Both prevalences are smoothed by half a decision of each class, ``p = (P + 1/2) /
    (P + N + 1)`` and ``q = (P - fn + fp + 1/2) / (P + N + 1)``, so that sets of one class have a finite loss. Misses
    and false alarms that are equally many cost nothing. The loss is not increasing, and in [0, log(2 (P + N) + 1)).

    Source: Esuli and Sebastiani (2015).

    Examples
    --------
    >>> from setwise.losses import KLD
    >>> round(KLD()([1, 0], [0, 0]), 3)  # p = 1/2 and q = 1/6: log(9 / 5) / 2
    0.294
    >>> KLD()([1, 0], [0, 1])  # all are wrong, but their number is right
    0.0
    """

    name: ClassVar[str] = "kld"

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        # The derivative of (P + N + 1) KLD by P is log r + 1 - r <= 0 with r = p / q, and by N alike.
        return divergence(fn, fp, P, N)
