"""The Kullback-Leibler divergence of the predicted prevalence from the true one, normalized to [0, 1)."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.arrays import Values
from setwise.core.count_loss import CountLoss
from setwise.core.traits import CURVATURES, Trait
from setwise.losses.prevalences import divergence


@final
@dataclass(frozen=True)
class NKLD(CountLoss):
    """``2 e / (e + 1) - 1 = tanh(KLD / 2)`` with ``e = exp(KLD)``, the divergence normalized to [0, 1).

    The prevalences are smoothed as in :class:`KLD` (Esuli and Sebastiani 2015). The loss is not increasing.
    """

    name: ClassVar[str] = "nkld"

    @classmethod
    def examples(cls, p: int) -> "list[NKLD]":
        return [NKLD()]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.COUNTS})

    @property
    def denied(self) -> frozenset[Trait]:
        return CURVATURES | {Trait.INCREASING}

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return np.tanh(0.5 * divergence(fn, fp, P, N))

    @property
    def monge(self) -> bool:
        """True: the loss is convex in q, and so in ``fp - fn``.

        With k for KLD as a function of q, ``k'' = k'^2 + p (1 - p) / (q (1 - q))^2``, and the loss is convex where
        ``k'' >= tanh(k / 2) k'^2``.
        """
        return True

    @property
    def affine(self) -> bool:
        """True: the loss depends on the number predicted, and not on which decisions are."""
        return True

    @property
    def diluted(self) -> bool:
        """True, as for KLD."""
        return True
