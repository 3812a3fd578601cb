"""1 - the normalized discounted cumulative gain."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Sets
from setwise.core.checks import Ints, Values, as_count
from setwise.core.loss import Loss
from setwise.core.rankings import Rankings, Swaps
from setwise.core.structure import Structure
from setwise.core.terms import Trait
from setwise.losses.ranked import Ranked


@final
@dataclass(frozen=True)
class NDCG(Loss):
    """``1 - sum over positives of D(rank) / sum_(r = 1..P) D(r)``, ``D(r) = 1 / log2(1 + r)`` for r <= k, else 0.

    This is 1 - ``sklearn.metrics.ndcg_score(k=k)`` for relevance 0 and 1; in [0, 1]. It reads scores. Decisions with
    equal scores share the mean of their discounts. In a set of one class every order is perfect, and the loss 0.

    Source: Chakrabarti et al. (2008).

    Parameters
    ----------
    k : the number of first ranks that count, at least 1; None counts all ranks

    Raises
    ------
    TypeError, ValueError : if k is no whole number of 1 or above

    Examples
    --------
    >>> from setwise.losses import NDCG
    >>> # The only positive has rank 3: 1 - D(3) / D(1).
    >>> round(NDCG()([0, 0, 1], [0.9, 0.8, 0.7]), 3)
    0.5
    >>> NDCG(k=2)([0, 0, 1], [0.9, 0.8, 0.7])  # it is not among the first two
    1.0
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
        ideal = self._ideal(batch.positives)
        # The difference of two running sums is the sum of the discounts of a run of equal scores.
        sums = np.concatenate(([0.0], np.cumsum(self._discount(np.arange(1, batch.sizes.max() + 1)))))
        size = ranked.positives + ranked.negatives
        before = ranked.positives_before + ranked.negatives_before
        share = (sums[before + size] - sums[before]) / size
        reached = ranked.sum(ranked.positives * share) / np.where(ideal > 0, ideal, 1.0)
        # In a set of one class every order is perfect; rounding must not take the loss below 0.
        return np.where(batch.positives * batch.negatives > 0, np.maximum(1.0 - reached, 0.0), 0.0)

    def bind(self, batch: Sets) -> Structure:
        rankings = Rankings.of(batch, self)
        ideal = self._ideal(rankings.positives)
        weight = np.repeat(1.0 / np.where(ideal > 0, ideal, 1.0), rankings.sizes)
        # A positive that falls by one rank loses the difference of two discounts; ``places`` count from 0.
        drop = self._discount(rankings.places + 1) - self._discount(rankings.places + 2)
        return Structure(rankings, (Swaps(weight, drop, self.k),))

    def _discount(self, rank: Ints) -> Values:
        """D of each rank."""
        discount = 1.0 / np.log2(1.0 + rank)
        return discount if self.k is None else np.where(rank <= self.k, discount, 0.0)

    def _ideal(self, P: Ints) -> Values:
        """The sum of the discounts of the perfect ranking of P positives."""
        sums = np.concatenate(([0.0], np.cumsum(self._discount(np.arange(1, np.max(P, initial=0) + 1)))))
        return sums[P]
