"""1 - the normalized discounted cumulative gain."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Ints, Values
from setwise.core.checks import as_count
from setwise.core.measure import Loss
from setwise.core.rankings import Rankings, Swaps
from setwise.core.sets import Sets
from setwise.core.structure import Structure
from setwise.core.traits import Trait
from setwise.losses.ranked import Ranked


@final
@dataclass(frozen=True)
class NDCG(Loss):
    """``1 - sum over positives of D(rank) / sum_(r = 1..P) D(r)``, ``D(r) = 1 / log2(1 + r)`` for r <= k, else 0.

    1 - ``sklearn.metrics.ndcg_score(k=k)`` for 0/1 relevance; ties share their discounts. Chakrabarti et al. (2008).

    Parameters
    ----------
    k : ranks that count, at least 1; None counts all of them
    """

    k: int | None = None

    name: ClassVar[str] = "ndcg"
    reads: ClassVar = "scores"

    def __post_init__(self) -> None:
        if self.k is not None:
            as_count(self.k, "k")

    @classmethod
    def examples(cls, p: int) -> "list[NDCG]":
        return [NDCG(), NDCG(1), NDCG(3)]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset()

    def evaluate(self, batch: Any, predictions: NDArray[Any]) -> Values:
        ranked = Ranked.of(batch, predictions)
        best = self._ideal(batch.positives)
        sums = np.concatenate(([0.0], np.cumsum(self._discount(np.arange(1, batch.sizes.max() + 1)))))
        size = ranked.positives + ranked.negatives
        before = ranked.positives_before + ranked.negatives_before
        share = (sums[before + size] - sums[before]) / size
        won = ranked.sum(ranked.positives * share) / np.where(best > 0, best, 1.0)
        return np.where(batch.positives * batch.negatives > 0, np.maximum(1.0 - won, 0.0), 0.0)

    def bind(self, batch: Sets) -> Structure:
        rankings = Rankings.of(batch, self)
        best = self._ideal(rankings.positives)
        weight = np.repeat(1.0 / np.where(best > 0, best, 1.0), rankings.sizes)
        drop = self._discount(rankings.places + 1) - self._discount(rankings.places + 2)
        return Structure(rankings, (Swaps(weight, drop, self.k),))

    def _discount(self, rank: Ints) -> Values:
        worth = 1.0 / np.log2(1.0 + rank)
        return worth if self.k is None else np.where(rank <= self.k, worth, 0.0)

    def _ideal(self, P: Ints) -> Values:
        sums = np.concatenate(([0.0], np.cumsum(self._discount(np.arange(1, np.max(P, initial=0) + 1)))))
        return sums[P]
