"""The margin rescaling of the area under the ROC curve for one set in several pieces, without a sort."""

from typing import final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import as_count
from setwise.core.loss import Loss
from setwise.core.rankings import Swaps
from setwise.core.surrogate import PiecedEvaluation, PiecedEvaluator, Search
from setwise.surrogates.in_pieces.bins import Assessed, Leaves, Plan, no_gradient, refined, whole_range


def roc_area_in_pieces(loss: Loss, scale: float, negatives: int, positives: int) -> "RocAreaInPieces | None":
    """The margin rescaling of a multiple of the ROC area for a set in pieces; None for any other loss.

    ``scale`` is the number g > 0 of :class:`setwise.surrogates.MarginRescaling`, and 1 where that is ``"size"``.
    """
    if loss.reads != "scores":
        return None
    # In a small ranking each swapped pair costs the same if and only if it does in all.
    y = np.arange(6) % 2 == 0
    try:
        terms = loss.structure(Sets(y, np.array([0, len(y)]))).terms
    except ValueError:
        return None
    term = terms[0] if len(terms) == 1 else None
    if not isinstance(term, Swaps) or term.depth is not None:
        return None
    costs = np.outer(term.weight[:3], term.drop[: len(y) - 1])
    if not (costs == costs[0, 0]).all():
        return None
    counts = as_count(negatives, "negatives", low=0), as_count(positives, "positives", low=0)
    return RocAreaInPieces(float(9.0 * costs[0, 0]), scale, *counts)


@final
class RocAreaInPieces(PiecedEvaluator):
    """``sum over positives i and negatives j of (T - (s_i - s_j) / g)_+ / (P N)``, or 0 without pairs.

    The key of a decision is ``b_j = s_j / g`` for a negative and ``a_i = s_i / g - T`` for a positive, so that a pair
    is swapped if ``b_j > a_i``, and then adds ``b_j - a_i``. Keys are counted in bins. Of two decisions in different
    bins it is known whether they are swapped, so that all such pairs add up exactly, from the numbers and the sums of
    the keys in each bin.

    Let the keys of a bin lie between ``t`` and ``t + w``, and the mean keys of its m positives and of its n negatives
    at ``t + w p`` and ``t + w q``. Then the mean of ``(b - a)_+`` over all pairs of the bin is

    - at least ``w (q - p)_+``, because the hinge is convex. This swaps all pairs of the bin, or none, and some ranking
      does so. The gradient is that of the plane of this ranking, which lies below the surrogate;
    - at most ``w q (1 - p)``. The hinge is convex in each key, so for each pair it is not above its interpolation from
      the ends of the bin, first in a and then in b: ``(b - t) (t + w - a) / w``. The pairs are all combinations of the
      keys, so the mean of this product is the product of the means.

    The bin leaves a gap of ``w min(q (1 - p), p (1 - q)) m n / (P N)``, so B even bins leave one of the order of
    ``1 / B^2``.

    Parameters
    ----------
    margin : T, the loss of a ranking in which all pairs are swapped
    scale : g > 0
    negatives, positives : the numbers of decisions of the set
    plan : the sizes of questions
    """

    def __init__(self, margin: float, scale: float, negatives: int, positives: int, plan: Plan | None = None) -> None:
        self.margin, self.scale, self.negatives, self.positives = margin, scale, negatives, positives
        self.plan = plan or Plan()

    def search(self, tol: float) -> Search:
        line = np.array([[0.0, 1.0 / self.scale], [-self.margin, 1.0 / self.scale]])
        found = yield from whole_range(line, -np.inf, self.negatives, self.positives)
        # No negative below all positives is swapped, and no positive above all negatives.
        ends = float(found.low[1]), float(found.high[0])
        if not ends[0] < ends[1]:
            return PiecedEvaluation(0.0, 0.0, [no_gradient(line)] * found.pieces)
        size = self.negatives + self.positives
        leaves, assessed = yield from refined(line, ends, size, self.assess, tol, self.plan)
        return assessed.evaluation(leaves.gradient(line, assessed.slopes), found.pieces)

    def assess(self, leaves: Leaves) -> Assessed:
        """The bounds where the pairs of a bin are all swapped or not."""
        n, m = leaves.counts.T
        swapped = leaves.shares[:, 0] > leaves.shares[:, 1]
        # Of the positives below each negative, and of the negatives above each positive.
        below = np.cumsum(m) - np.where(swapped, 0.0, m)
        above = np.cumsum(n[::-1])[::-1] - np.where(swapped, 0.0, n)
        each = 1.0 / (float(self.negatives) * self.positives)
        slopes = np.column_stack([below, -above]) * each
        # As many keys are added as are subtracted, so any number may be subtracted from all of them: a large one that
        # they share would be rounded.
        terms = slopes * (leaves.sums + leaves.counts * (leaves.tops - leaves.tops[0])[:, None])
        q, p = leaves.shares.T
        gaps = each * m * n * (leaves.high - leaves.low) * np.minimum(q * (1.0 - p), p * (1.0 - q))
        return Assessed(float(terms.sum()), gaps, slopes / self.scale, float(np.abs(terms).sum()))
