"""Loss-augmented inference for losses of a ranking."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.core.loss import Values
from setwise.core.ranking import RankLoss
from setwise.core.sets import Sets
from setwise.kernels.interleaving import worst_rankings
from setwise.kernels.sorting import sort_falling


def worst_ranking(loss: RankLoss, sets: Sets, scores: NDArray[Any]) -> tuple[Values, Values]:
    """``max over rankings of loss - 1/(P N) sum over swapped pairs of (s_i - s_j)``: values (n,) and gradients
    (total,).

    A pair is swapped where the negative j stands above the positive i; i and j in the pair score are ``s_i`` of the
    positive and ``s_j`` of the negative. For the ROC area this is the mean pairwise hinge, O(p log p) (Joachims
    2005). For average precision and untruncated NDCG divide and conquer takes O(p log p) too, where Yue et al. (2007)
    take O(P N); NDCG of the first k ranks takes O(k^2 + k p). All exact.
    """
    s = np.asarray(scores, dtype=np.float64)
    items, labels, _, starts = sort_falling(s, sets.labels, sets.offsets)
    class_first = (
        np.argsort(2 * sets.owners + ~labels, kind="stable") if len(sets) > 1 else np.argsort(~labels, kind="stable")
    )
    P, N = sets.positives, sets.negatives
    Pr, Nr = np.repeat(P, sets.sizes), np.repeat(N, sets.sizes)
    gradient, values = np.zeros(sets.total), np.zeros(len(sets))
    worst_rankings(
        s,
        items[class_first],
        P,
        starts,
        loss.weight(sets.places, Pr, Nr),
        loss.drop(sets.places, Pr, Nr),
        1.0 / np.maximum(P.astype(np.float64) * N, 1.0),
        -1 if loss.depth is None else loss.depth,
        gradient,
        values,
    )
    return values, gradient
