"""1 - the area under the ROC curve."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Sets
from setwise.core.checks import Ints, Values
from setwise.core.loss import Loss
from setwise.core.rankings import Rankings, Swaps
from setwise.core.structure import Structure
from setwise.core.terms import Trait
from setwise.losses.ranked import Ranked


@final
@dataclass(frozen=True)
class RocArea(Loss):
    """``swapped pairs / (P N)``, where a pair of equal scores counts one half: 1 - ``sklearn.metrics.roc_auc_score``.

    One minus the area under the ROC curve; its short name is ``"auc"``. A pair is a positive and a negative; it is
    swapped if the negative has the larger score. The loss reads scores and is in [0, 1], and 0 for a set of one class.
    Its margin rescaling is the mean over all pairs of ``max(0, 1 - (s_positive - s_negative))``.

    Source: Joachims (2005).

    Examples
    --------
    >>> from setwise.losses import RocArea
    >>> # One of four pairs is swapped: 0.7 is below 0.8.
    >>> RocArea()([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6])
    0.25
    """

    name: ClassVar[str] = "auc"
    reads: ClassVar = "scores"

    @classmethod
    def examples(cls, p: int) -> "list[RocArea]":
        return [RocArea()]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset()

    def evaluate(self, batch: Any, predictions: NDArray[Any]) -> Values:
        ranked = Ranked.of(batch, predictions)
        # All negatives of earlier runs of equal scores are above a positive; those of its own run count one half.
        swapped = ranked.positives * (ranked.negatives_before + 0.5 * ranked.negatives)
        pairs: Ints = batch.positives * batch.negatives
        return ranked.sum(swapped) / np.maximum(pairs, 1).astype(np.float64)

    def bind(self, batch: Sets) -> Structure:
        rankings = Rankings.of(batch, self)
        weight = np.repeat(rankings.pair_weight, rankings.sizes)
        # Each swapped pair costs the same, whatever its ranks are.
        return Structure(rankings, (Swaps(weight, np.ones(rankings.total)),))
