"""The absolute error of the predicted prevalence."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.arrays import Values
from setwise.losses.prevalence_loss import PrevalenceLoss


@final
@dataclass(frozen=True)
class AE(PrevalenceLoss):
    """``|fp - fn| / (P + N)``, the absolute error of the prevalence that is predicted; in [0, 1].

    Misses and false alarms that are equally many cost nothing, so the loss is not increasing.
    """

    name: ClassVar[str] = "ae"

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        # The size is 0 in a set without known labels.
        return np.abs(fp - fn) / np.maximum(P + N, 1e-300)
