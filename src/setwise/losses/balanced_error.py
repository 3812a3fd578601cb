"""The balanced error: the mean over both classes of the share of wrong decisions."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.counts import CountBased
from setwise.core.loss import Values
from setwise.core.sets import Sets
from setwise.core.traits import Trait


@final
@dataclass(frozen=True)
class BalancedError(CountBased):
    """``(fn / P + fp / N) / 2``, 1 - ``sklearn.metrics.balanced_accuracy_score``. Modular; in [0, 1].

    The Hamming loss of DD Eq. 12 with its weights ``1 / (2 N)`` and ``1 / (2 P)``. In a set of one class only, that
    class alone counts: ``fn / P`` or ``fp / N``.
    """

    @property
    def traits(self) -> frozenset[Trait]:
        modular = {Trait.INCREASING, Trait.MODULAR, Trait.SUBMODULAR, Trait.SUPERMODULAR}
        return frozenset(modular | {Trait.COUNTS})

    def costs(self, sets: Sets) -> Values:
        miss, alarm = _weights(sets.positives.astype(np.float64), sets.negatives.astype(np.float64))
        return np.where(sets.labels, np.repeat(miss, sets.sizes), np.repeat(alarm, sets.sizes))

    @property
    def curved(self) -> None:
        return None

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        miss, alarm = _weights(P, N)
        return fn * miss + fp * alarm

    def quotient(self, P: Values, N: Values) -> tuple[Values, Values]:
        """Coefficients (n, 3) of 1, fn, fp in the numerator and the denominator."""
        miss, alarm = _weights(P, N)
        return np.stack([np.zeros(len(P)), miss, alarm], axis=1), np.tile([1.0, 0.0, 0.0], (len(P), 1))


def _weights(P: Values, N: Values) -> tuple[Values, Values]:
    classes = np.where((P > 0) & (N > 0), 2.0, 1.0)
    return 1.0 / (classes * np.where(P > 0, P, 1.0)), 1.0 / (classes * np.where(N > 0, N, 1.0))
