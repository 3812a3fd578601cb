"""Losses of a ranking: 1 - the area under the ROC curve, 1 - average precision, and 1 - the normalized gain (NDCG)."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Ints, Values, as_count
from setwise.core.loss import Loss
from setwise.core.rankings import Rankings, Swaps
from setwise.kernels.segments import segment_sums
from setwise.kernels.sorting import sort_falling


@final
@dataclass(frozen=True, eq=False)
class ScoreRuns:
    """The numbers of labels in each run of equal scores, and in the runs before it, from the largest score down.

    A run holds all decisions of a set that have the same score. The four arrays (t,) of whole numbers go over the t
    runs of all sets; set ``i`` owns the runs ``offsets[i]:offsets[i+1]``.
    """

    positives: Ints
    negatives: Ints
    positives_before: Ints
    negatives_before: Ints
    offsets: Ints

    @classmethod
    def of(cls, sets: Sets, scores: NDArray[Any]) -> "ScoreRuns":
        """Sort the decisions of every set by ``scores`` (total,) and count the labels of each run."""
        _, labels, values, starts = sort_falling(np.asarray(scores), sets.truth, sets.offsets)
        # A run begins where the score changes, and at the beginning of each set.
        begins = np.ones(len(values), dtype=bool)
        begins[1:] = values[1:] != values[:-1]
        begins[starts[:-1]] = True
        first = np.flatnonzero(begins)
        sizes = np.diff(np.append(first, len(values)))
        # Running numbers of positives give the number in any stretch as a difference.
        running = np.concatenate(([0], np.cumsum(labels)))
        positives = running[first + sizes] - running[first]
        owner = np.searchsorted(starts, first, side="right") - 1
        # What lies between the beginning of the set and that of the run stands before the run.
        positives_before = running[first] - running[starts[owner]]
        negatives_before = first - starts[owner] - positives_before
        return cls(positives, sizes - positives, positives_before, negatives_before, np.searchsorted(first, starts))

    def sum(self, x: Values | Ints) -> Values:
        """The sum of ``x`` (t,) over the runs of each set, (n,)."""
        return segment_sums(x, self.offsets)


@final
@dataclass(frozen=True)
class RocArea(Loss):
    """``1 - AUC``, the swapped pairs over P N; a pair of equal scores counts one half.

    One minus the area under the ROC curve, 1 - ``sklearn.metrics.roc_auc_score``; its short name is ``"auc"``. A pair
    is a positive and a negative; it is swapped if the negative has the larger score. The loss reads scores and is in
    [0, 1], and 0 for a set of one class. Its margin rescaling is the mean over all pairs of
    ``max(0, 1 - (s_positive - s_negative))``.

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
    traits = frozenset()

    def evaluate(self, batch: Any, predictions: NDArray[Any]) -> Values:
        ranked = ScoreRuns.of(batch, predictions)
        # All negatives of earlier runs of equal scores are above a positive; those of its own run count one half.
        swapped = ranked.positives * (ranked.negatives_before + 0.5 * ranked.negatives)
        pairs: Ints = batch.positives * batch.negatives
        return ranked.sum(swapped) / np.maximum(pairs, 1).astype(np.float64)

    def _bind(self, batch: Sets) -> BoundLoss:
        rankings = Rankings.of(batch, self)
        weight = np.repeat(rankings.pair_weight, rankings.sizes)
        # Each swapped pair costs the same, whatever its ranks are.
        return BoundLoss(rankings, (Swaps(weight, np.ones(rankings.total)),))


@final
@dataclass(frozen=True)
class AveragePrecision(Loss):
    """``1 - (1/P) sum over positives of the precision at their rank``, 1 - ``sklearn.metrics.average_precision_score``.

    The loss reads scores and is in [0, 1): 0 if all positives are above all negatives. Decisions with equal scores
    enter the ranking together, with one precision. In a set of one class every order is perfect, and the loss 0.

    Source: Yue, Finley, Radlinski and Joachims (2007).

    Examples
    --------
    >>> from setwise.losses import AveragePrecision
    >>> # The precisions are 1 at rank 1 and 2/4 at rank 4.
    >>> AveragePrecision()([1, 0, 0, 1], [0.9, 0.8, 0.7, 0.6])
    0.25
    """

    name: ClassVar[str] = "average_precision"
    reads: ClassVar = "scores"
    traits = frozenset()

    def evaluate(self, batch: Any, predictions: NDArray[Any]) -> Values:
        ranked = ScoreRuns.of(batch, predictions)
        found = ranked.positives_before + ranked.positives
        # A run of equal scores has one precision, which counts the whole run.
        precision = found / (found + ranked.negatives_before + ranked.negatives)
        found_all = ranked.sum(ranked.positives * precision) / np.maximum(batch.positives, 1)
        # In a set of one class every order is perfect.
        return np.where(batch.positives * batch.negatives > 0, 1.0 - found_all, 0.0)

    def _bind(self, batch: Sets) -> BoundLoss:
        rankings = Rankings.of(batch, self)
        place, P = rankings.places, np.repeat(rankings.positives, rankings.sizes)
        # Below k negatives the precision of the r-th best positive falls from 1 to r / (r + k), which is the sum of the
        # drops r / ((r + j) (r + j + 1)) over j < k; ``place`` is r - 1.
        weight = (place + 1.0) / np.maximum(P, 1)
        return BoundLoss(rankings, (Swaps(weight, 1.0 / ((place + 1.0) * (place + 2.0))),))


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
    traits = frozenset()

    def __post_init__(self) -> None:
        if self.k is not None:
            as_count(self.k, "k")

    @classmethod
    def examples(cls, p: int) -> "list[NDCG]":
        return [NDCG(), NDCG(1), NDCG(3)]

    def evaluate(self, batch: Any, predictions: NDArray[Any]) -> Values:
        ranked = ScoreRuns.of(batch, predictions)
        ideal = self._ideal(batch.positives)
        # The difference of two running sums is the sum of the discounts of a run of equal scores.
        sums = np.concatenate(([0.0], np.cumsum(self._discount(np.arange(1, batch.sizes.max() + 1)))))
        size = ranked.positives + ranked.negatives
        before = ranked.positives_before + ranked.negatives_before
        share = (sums[before + size] - sums[before]) / size
        reached = ranked.sum(ranked.positives * share) / np.where(ideal > 0, ideal, 1.0)
        # In a set of one class every order is perfect; rounding must not take the loss below 0.
        return np.where(batch.positives * batch.negatives > 0, np.maximum(1.0 - reached, 0.0), 0.0)

    def _bind(self, batch: Sets) -> BoundLoss:
        rankings = Rankings.of(batch, self)
        ideal = self._ideal(rankings.positives)
        weight = np.repeat(1.0 / np.where(ideal > 0, ideal, 1.0), rankings.sizes)
        # A positive that falls by one rank loses the difference of two discounts; ``places`` count from 0.
        drop = self._discount(rankings.places + 1) - self._discount(rankings.places + 2)
        return BoundLoss(rankings, (Swaps(weight, drop, self.k),))

    def _discount(self, rank: Ints) -> Values:
        """D of each rank."""
        discount = 1.0 / np.log2(1.0 + rank)
        return discount if self.k is None else np.where(rank <= self.k, discount, 0.0)

    def _ideal(self, P: Ints) -> Values:
        """The sum of the discounts of the perfect ranking of P positives."""
        sums = np.concatenate(([0.0], np.cumsum(self._discount(np.arange(1, np.max(P, initial=0) + 1)))))
        return sums[P]
