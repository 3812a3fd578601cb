"""1 - the area under the ROC curve."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.loss import Values
from setwise.core.ranking import RankLoss
from setwise.core.sets import Ints, Sets
from setwise.losses.ranked import Ranked


@final
@dataclass(frozen=True)
class RocArea(RankLoss):
    """``swapped pairs / (P N)``, a tied pair counting one half: 1 - ``sklearn.metrics.roc_auc_score`` (Joachims 2005).

    Its margin rescaling is the mean over all pairs of ``max(0, 1 - (s_positive - s_negative))``.
    """

    def values(self, sets: Sets, scores: NDArray[Any]) -> Values:
        ranked = Ranked.of(sets, scores)
        # All negatives of earlier ties stand above a positive, those of its own tie count half.
        swapped = ranked.positives * (ranked.negatives_before + 0.5 * ranked.negatives)
        return ranked.sum(swapped) / np.maximum(sets.positives * sets.negatives, 1)

    def weight(self, i: Ints, P: Ints, N: Ints) -> Values:
        return 1.0 / np.maximum(P.astype(np.float64) * N, 1.0)

    def drop(self, r: Ints, P: Ints, N: Ints) -> Values:
        return np.ones(len(r))
