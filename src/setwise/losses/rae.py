"""The relative absolute error of the predicted prevalences of both classes."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values
from setwise.losses.prevalence_loss import PrevalenceLoss


@final
@dataclass(frozen=True)
class RAE(PrevalenceLoss):
    """``(|fp - fn| / (P + 1/2) + |fp - fn| / (N + 1/2)) / 2``, the mean relative error of the two prevalences.

    A quantifier is judged by it. Both prevalences are smoothed by half a decision of each class, as in :class:`KLD`, so
    that sets of one class have a finite loss. The error of a rare class weighs the most. Misses and false alarms that
    are equally many cost nothing, so the loss is not increasing. It is at least 0, and at most about P + N.

    Source: Sebastiani (2020), who surveys measures of quantification; Moreo and Sebastiani (2022) train for it.

    Examples
    --------
    >>> from setwise.losses import RAE
    >>> # One positive too few: 1 / 2.5 for both classes.
    >>> RAE()([1, 1, 0, 0], [1, 0, 0, 0])
    0.4
    """

    name: ClassVar[str] = "rae"

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return 0.5 * np.abs(fp - fn) * (1.0 / (P + 0.5) + 1.0 / (N + 0.5))
