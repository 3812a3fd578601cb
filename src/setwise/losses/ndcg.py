"""1 - the normalized discounted cumulative gain."""

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
class NDCG(RankLoss):
    """``1 - sum over positives of D(rank) / sum_(r = 1..P) D(r)``, ``D(r) = 1 / log2(1 + r)`` for r <= k, else 0.

    1 - ``sklearn.metrics.ndcg_score(k=k)`` for 0/1 relevance; ties share their discounts. Chakrabarti et al. (2008).

    Parameters
    ----------
    k : ranks that count, at least 1; None counts all of them
    """

    k: int | None = None

    def __post_init__(self) -> None:
        if self.k is not None and (isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or self.k < 1):
            raise ValueError(f"k must be None or a whole number >= 1; got {self.k!r}.")

    @property
    def depth(self) -> int | None:
        return self.k

    def values(self, sets: Sets, scores: NDArray[Any]) -> Values:
        ranked = Ranked.of(sets, scores)
        best = self._ideal(sets.positives)
        sums = np.concatenate(([0.0], np.cumsum(self._discount(np.arange(1, sets.sizes.max() + 1)))))
        size = ranked.positives + ranked.negatives
        before = ranked.positives_before + ranked.negatives_before
        share = (sums[before + size] - sums[before]) / size
        won = ranked.sum(ranked.positives * share) / np.where(best > 0, best, 1.0)
        return np.where(sets.positives * sets.negatives > 0, np.maximum(1.0 - won, 0.0), 0.0)

    def weight(self, i: Ints, P: Ints, N: Ints) -> Values:
        best = self._ideal(P)
        return 1.0 / np.where(best > 0, best, 1.0)

    def drop(self, r: Ints, P: Ints, N: Ints) -> Values:
        return self._discount(r + 1) - self._discount(r + 2)

    def _discount(self, rank: Ints) -> Values:
        worth = 1.0 / np.log2(1.0 + rank)
        return worth if self.k is None else np.where(rank <= self.k, worth, 0.0)

    def _ideal(self, P: Ints) -> Values:
        sums = np.concatenate(([0.0], np.cumsum(self._discount(np.arange(1, np.max(P, initial=0) + 1)))))
        return sums[P]
