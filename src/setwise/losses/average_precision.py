"""1 - average precision."""

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
class AveragePrecision(RankLoss):
    """``1 - (1/P) sum over positives of the precision at their rank``: 1 - ``sklearn.metrics.average_precision_score``.

    Tied scores enter together. Yue, Finley, Radlinski and Joachims (2007).
    """

    def values(self, sets: Sets, scores: NDArray[Any]) -> Values:
        ranked = Ranked.of(sets, scores)
        found = ranked.positives_before + ranked.positives
        precision = found / (found + ranked.negatives_before + ranked.negatives)
        found_all = ranked.sum(ranked.positives * precision) / np.maximum(sets.positives, 1)
        return np.where(sets.positives * sets.negatives > 0, 1.0 - found_all, 0.0)

    def weight(self, i: Ints, P: Ints, N: Ints) -> Values:
        return (i + 1.0) / np.maximum(P, 1)

    def drop(self, r: Ints, P: Ints, N: Ints) -> Values:
        return 1.0 / ((r + 1.0) * (r + 2.0))
