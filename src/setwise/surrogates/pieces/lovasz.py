"""The Lovász hinge and the area under the ROC curve for one set in several pieces, without a sort of all decisions.

One set of very many decisions in one place is summarized in pieces too, where a gap is allowed.
"""

from collections.abc import Callable
from typing import final

import numpy as np

from setwise.core.batch import Batch, Sets
from setwise.core.checks import Bools, Floats, Ints, Values, as_count
from setwise.core.counts import Counts
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.rankings import Swaps
from setwise.core.surrogate import (
    Evaluation,
    Evaluator,
    Piece,
    PiecedEvaluation,
    PiecedEvaluator,
    Search,
    Surrogate,
    ended,
)
from setwise.kernels.threads import map_units
from setwise.surrogates.pieces.bins import BinPlan, LeafAssessment, Leaves, refined, whole_range, without_gradient

MARGINS = np.array([[0.0, 1.0], [0.0, -1.0]])
"""Keys are errors less 1: the score of a negative, and minus that of a positive."""


@final
class LovaszInPieces(PiecedEvaluator):
    """``l(none) + sum_j (u_(j))_+ gain_j`` along falling errors u, without a sort of all of them (LH Def. 5).

    Errors are counted in bins, from the largest down. Let a bin hold m positives and n negatives with errors between
    ``t`` and ``t + w``, and let ``F(x, y)`` be the loss with x of its positives and y of its negatives wrong, and all
    decisions of the bins above. Then the bin adds

        ``t (F(m, n) - F(0, 0)) + I``  with  ``I = integral over r in [t, t + w] of F(x(r), y(r)) - F(0, 0)``,

    where x(r) and y(r) are the numbers of its positives and negatives with errors above r. The means x and y of these
    two functions follow from the mean error of each class.

    *From below.* The hinge is convex, and it stays the same if decisions of a class change places. So it is not below
    its value where each decision of a bin has the mean error of its class, for that is a mean over such changes. There
    the class of larger mean comes first as a whole, and each decision of a class gains the same. These gains are a
    point of the base polytope of the loss, so they make a plane below the hinge, which attains that value here.

    *From above.* In a submodular loss a mistake, of either class, never gains more after more mistakes. So
    ``F(x, y) <= F(x, 0) + F(0, y) - F(0, 0)`` and ``F(x, y) <= F(x, n) + F(m, y) - F(m, n)``, and the four functions of
    one count on the right are concave. By Jensen's inequality the mean of such a function over r is not above its value
    at the mean count, where it is taken as linear between whole numbers. Hence

        ``I / w <= F(x, 0) + F(0, y) - 2 F(0, 0)``  and  ``I / w <= F(x, n) + F(m, y) - F(m, n) - F(0, 0)``.

    *How far apart.* Let a and b be the gains of a first positive and of a first negative, and let no second difference
    exceed D. A concave function lies below the line of its first gain, so the first bound on ``I / w`` is at most
    ``a x + b y``. The bound from below is a mean of the values 0, ``F(m, 0)`` or ``F(0, n)``, and ``F(m, n)``, less
    ``F(0, 0)``, each of which is at most ``D (m + n)^2 / 2`` below its linear part. So they differ by at most
    ``w D (m + n)^2 / 2``, and B even bins leave a gap of the order of ``1 / B^2``. A bin of equal errors leaves none.

    Parameters
    ----------
    counts : a submodular loss of one set
    thresholded : whether each error is clipped at 0 (LH Def. 5), for which the loss must increase, or else the whole
        sum (LH Def. 6)
    plan : the sizes of questions
    """

    def __init__(self, counts: Counts, thresholded: bool, plan: BinPlan | None = None) -> None:
        self.counts, self.thresholded, self.plan = counts, thresholded, plan or BinPlan()

    def search(self, tol: float) -> Search:
        given = int(self.counts.N[0]), int(self.counts.P[0])
        # Errors that are clipped at 0 add nothing, so their decisions are left out.
        floor = -1.0 if self.thresholded else -np.inf
        above, low, high, pieces = yield from whole_range(MARGINS, floor, *given)
        start, size, ends = float(self.counts.origin[0]), int(above.sum()), (float(low.min()), float(high.max()))
        if not size:
            return PiecedEvaluation(max(start, 0.0), max(start, 0.0), [without_gradient] * pieces)
        leaves, assessed = yield from refined(MARGINS, ends, size, self.assess, tol, self.plan)
        # Where the sum is clipped at 0, a subgradient is 0 (LH Definition 6).
        slopes = assessed.slopes if assessed.value > 0.0 else np.zeros_like(assessed.slopes)
        return assessed.evaluation(leaves.gradient(MARGINS, slopes), pieces)

    def assess(self, leaves: Leaves) -> LeafAssessment:
        """The bounds of the sum, without a clip of it."""
        n, m = leaves.counts.T
        negatives, positives = _above(n), _above(m)

        def loss(x: Values, y: Values) -> Values:
            """The loss of all decisions of the bins above, and of so many positives and negatives."""
            return np.asarray(self.counts.of(positives + x, negatives + y))

        none = np.zeros(len(n))
        start, misses, alarms, last = loss(none, none), loss(m, none), loss(none, n), loss(m, n)
        # The class of larger mean comes first.
        first = leaves.shares[:, 1] >= leaves.shares[:, 0]
        gains = np.column_stack([np.where(first, last - misses, alarms - start), none])
        gains[:, 1] = np.where(first, misses - start, last - alarms)
        terms = gains * (1.0 + leaves.means)
        y, x = leaves.shares.T * leaves.counts.T
        apart = _linear(lambda x: loss(x, none), x, m) + _linear(lambda y: loss(none, y), y, n) - 2.0 * start
        joined = _linear(lambda x: loss(x, n), x, m) + _linear(lambda y: loss(m, y), y, n) - last - start
        lacking = np.minimum(apart, joined) - (gains * leaves.shares).sum(axis=1)
        width = leaves.high - leaves.low
        gaps = np.where(width > 0, width * np.maximum(lacking, 0.0), 0.0)
        origin = float(self.counts.origin[0])
        slopes = gains / np.maximum(leaves.counts, 1.0) * np.array([1.0, -1.0])
        return LeafAssessment(origin + float(terms.sum()), gaps, slopes, abs(origin) + float(np.abs(terms).sum()))


def _linear(f: Callable[[Values], Values], mean: Values, most: Values) -> Values:
    """The function of whole numbers f at ``mean`` (k,), at most ``most``; it is taken as linear between them."""
    less = np.minimum(np.floor(mean), np.maximum(most - 1.0, 0.0))
    low, high = f(less), f(np.minimum(less + 1.0, most))
    return low + (mean - less) * (high - low)


def _above(counts: Values) -> Values:
    """The sum of all later counts, (k,)."""
    return np.append(np.cumsum(counts[:0:-1])[::-1], 0.0)


def roc_area_in_pieces(loss: Loss, scale: float, negatives: int, positives: int) -> "RocAreaInPieces | None":
    """The margin rescaling of a multiple of the ROC area for a set in pieces; None for any other loss.

    ``scale`` is the number g > 0 of :class:`setwise.surrogates.MarginRescaling`, and 1 where that is ``"size"``.
    """
    if loss.reads != "scores":
        return None
    # In a small ranking each swapped pair costs the same if and only if it does in all.
    y = np.arange(6) % 2 == 0
    try:
        terms = loss.bind(Sets(y, np.array([0, len(y)]))).terms
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

    def __init__(
        self, margin: float, scale: float, negatives: int, positives: int, plan: BinPlan | None = None
    ) -> None:
        self.margin, self.scale, self.negatives, self.positives = margin, scale, negatives, positives
        self.plan = plan or BinPlan()

    def search(self, tol: float) -> Search:
        line = np.array([[0.0, 1.0 / self.scale], [-self.margin, 1.0 / self.scale]])
        _, low, high, pieces = yield from whole_range(line, -np.inf, self.negatives, self.positives)
        # No negative below all positives is swapped, and no positive above all negatives.
        ends = float(low[1]), float(high[0])
        if not ends[0] < ends[1]:
            return PiecedEvaluation(0.0, 0.0, [without_gradient] * pieces)
        size = self.negatives + self.positives
        leaves, assessed = yield from refined(line, ends, size, self.assess, tol, self.plan)
        return assessed.evaluation(leaves.gradient(line, assessed.slopes), pieces)

    def assess(self, leaves: Leaves) -> LeafAssessment:
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
        return LeafAssessment(float(terms.sum()), gaps, slopes / self.scale, float(np.abs(terms).sum()))


LARGE = 1 << 23
"""From so many decisions on the passes over pieces take less time than a sort: ``benchmarks/large_sets.py``."""

FINEST = 1e-7
"""For smaller gaps than this one they take more."""

PIECE = 1 << 19
"""The decisions of a piece, which a thread works on at a time. Sums depend on it, and not on the number of threads."""


def of_large_set(surrogate: Surrogate, batch: Batch, whole: Evaluator) -> Evaluator:
    """The surrogate on a batch: the evaluator ``whole``, or a :class:`LargeSet` of it where that takes less time."""
    if not isinstance(batch, Sets) or len(batch) > 1 or len(batch.labels) < LARGE:
        return whole
    if batch.known is not None or batch.compared is not None or batch.totals is not None:
        return whole
    positives = int(batch.truth.sum())
    try:
        pieced = surrogate.in_pieces(len(batch.labels) - positives, positives)
    except Refusal:
        return whole
    return LargeSet(whole, pieced, batch.truth)


@final
class LargeSet(Evaluator):
    """A surrogate of one set, whose pieces are asked where a gap of ``FINEST`` or more is allowed; exact elsewhere.

    Parameters
    ----------
    whole : the surrogate bound to the set, which sorts its decisions
    pieced : the same surrogate bound to pieces of the set
    truth : (p,) bool
    """

    def __init__(self, whole: Evaluator, pieced: PiecedEvaluator, truth: Bools) -> None:
        self.whole, self.pieced, self.truth, self.batch = whole, pieced, truth, whole.batch
        self.convex, self.floor = whole.convex, whole.floor

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        """The value within ``tol``, its gradient and the bound of the set."""
        gap = float(tol[0])
        if gap < FINEST:
            return self.whole.evaluate(scores, tol)
        parts = [slice(begin, begin + PIECE) for begin in range(0, len(scores), PIECE)]
        pieces = [Piece(scores[part], self.truth[part]) for part in parts]
        found = ended(self.pieced.search(gap), lambda question: map_units(question, pieces))
        gradient = np.empty_like(scores)

        def write(k: int) -> None:
            gradient[parts[k]] = found.gradients[k](pieces[k])

        map_units(write, range(len(parts)))
        values, upper = np.array([found.value]), np.array([found.upper])
        return Evaluation(values, gradient, upper, values == upper)

    def take(self, parts: Ints) -> Evaluator:
        return self if len(parts) == 1 else self.whole.take(parts)

    def __repr__(self) -> str:
        return repr(self.whole)
