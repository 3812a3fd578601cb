"""The Kullback-Leibler divergence of the predicted prevalence from the true one, normalized to [0, 1)."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values
from setwise.losses.prevalence_loss import PrevalenceLoss
from setwise.losses.prevalences import divergence


@final
@dataclass(frozen=True)
class NKLD(PrevalenceLoss):
    """``2 e / (e + 1) - 1 = tanh(KLD / 2)`` with ``e = exp(KLD)``, the divergence normalized to [0, 1).

    The prevalences are smoothed as in :class:`KLD`. Misses and false alarms that are equally many cost nothing, so the
    loss is not increasing.

    Source: Esuli and Sebastiani (2015) for the divergence and its smoothing, and (2014) for its normalization.

    Examples
    --------
    >>> from setwise.losses import KLD, NKLD
    >>> round(NKLD()([1, 0], [0, 0]), 3), round(KLD()([1, 0], [0, 0]), 3)
    (0.146, 0.294)
    """

    name: ClassVar[str] = "nkld"

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        # It is convex in q, and so in fp - fn: with k for KLD as a function of q,
        # k'' = k'^2 + p (1 - p) / (q (1 - q))^2, and k'' >= tanh(k / 2) k'^2.
        return np.tanh(0.5 * divergence(fn, fp, P, N))
