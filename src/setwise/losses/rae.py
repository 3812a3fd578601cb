"""The relative absolute error of the predicted prevalences of both classes."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.arrays import Values
from setwise.losses.prevalence_loss import PrevalenceLoss


@final
@dataclass(frozen=True)
class RAE(PrevalenceLoss):
    """``(|fp - fn| / (P + 1/2) + |fp - fn| / (N + 1/2)) / 2``, the mean relative error of the two prevalences.

    Both are smoothed by half a decision of each class, as in :class:`KLD`, so that sets of one class have a finite
    loss (Esuli and Sebastiani 2015). The error of a rare class weighs the most. The loss is not increasing, and at most
    about P + N.
    """

    name: ClassVar[str] = "rae"

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return 0.5 * np.abs(fp - fn) * (1.0 / (P + 0.5) + 1.0 / (N + 0.5))
