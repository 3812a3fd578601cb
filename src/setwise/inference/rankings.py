"""Losses of rankings: the ranking that maximizes loss plus score."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Floats, Values
from setwise.core.inference import Inference, Maximizer, Solutions, Takes
from setwise.core.rankings import Rankings, Swaps
from setwise.kernels.rankings import split_classes, worst_rankings
from setwise.kernels.sorting import sort_falling


@final
@dataclass(frozen=True)
class WorstRanking(Inference):
    """``max over rankings of loss - 1/(P N) sum over swapped pairs of (s_i - s_j)``, i positive and j negative. Exact.

    A pair is swapped where the ranking puts the negative above the positive. For the ROC area the maximum is the mean
    pairwise hinge, in O(p log p) (Joachims 2005). For average precision and NDCG of all ranks divide and conquer takes
    O(p log p) too, where Yue et al. (2007) take O(P N); NDCG of the first k ranks takes O(k^2 + p log p).

    Raises
    ------
    Refusal : from :meth:`prepare`, for losses of labels, sums of losses, and slack rescaling

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import WorstRanking
    >>> from setwise.losses import RocArea
    >>> found = WorstRanking().prepare(RocArea().bind(Sets.single([1, 0, 0]))).maximize([0.5, 0.0, -2.0])
    >>> print(found.labels, found.values)  # the hinges of the two pairs are 0.5 and 0
    [1 1 0] [0.25]
    """

    name: ClassVar[str] = "worst_ranking"
    about: ClassVar[str] = "a sort and a search over rankings"
    takes: ClassVar[Takes] = Takes(
        Rankings,
        "{loss!r}: it does not read a ranking. Use Auto.",
        slack=" of {loss!r}: it ranks, and has no set of mistakes.",
        terms=Swaps,
        other_terms="it takes one loss of a ranking at a time.",
        single=True,
    )  # Without a loss the maximum is the score of the best ranking.

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _WorstRanking(self, bound_loss, slack)


@final
class _WorstRanking(Maximizer):
    def __init__(self, method: WorstRanking, bound_loss: BoundLoss, slack: bool) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, slack
        none = np.zeros(bound_loss.batch.total)
        self._swaps = bound_loss.terms[0] if bound_loss.terms else Swaps(none, none)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch, term = self.bound_loss.batch, self._swaps
        assert isinstance(batch, Rankings)
        assert isinstance(term, Swaps)
        s = scores.astype(np.float64, copy=False)
        # Only the order inside each class matters to the search.
        items, labels, _, starts = sort_falling(s, batch.labels, batch.offsets)
        places = split_classes(items, labels, starts, batch.positives)
        swaps, values = np.empty(batch.total, dtype=np.int64), np.zeros(len(batch))
        depth = -1 if term.depth is None else term.depth
        P, c = batch.positives, batch.pair_weight
        worst_rankings(s, places, P, batch.offsets, term.weight, term.drop, c, depth, swaps, values)
        return Solutions.known(swaps, values)
