"""The absolute error of the predicted prevalence."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values
from setwise.losses.prevalence_loss import PrevalenceLoss


@final
@dataclass(frozen=True)
class AE(PrevalenceLoss):
    """``|fp - fn| / (P + N)``, the absolute error of the prevalence that is predicted; in [0, 1].

    A quantifier is judged by it. Misses and false alarms that are equally many cost nothing, so the loss is not
    increasing.

    Source: Sebastiani (2020), who surveys measures of quantification; Moreo and Sebastiani (2022) train for it.

    Examples
    --------
    >>> from setwise.losses import AE
    >>> # A half is positive, and a quarter is predicted.
    >>> AE()([1, 1, 0, 0], [1, 0, 0, 0])
    0.25
    >>> AE()([1, 1, 0, 0], [0, 0, 1, 1])  # all are wrong, but their number is right
    0.0
    """

    name: ClassVar[str] = "ae"

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        # The size is 0 in a set without known labels.
        return np.abs(fp - fn) / np.maximum(P + N, 1e-300)
