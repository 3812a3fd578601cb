"""The Lovász hinge of a loss of counts for one set in several pieces, without a sort of all its decisions."""

from collections.abc import Callable
from typing import final

import numpy as np

from setwise.core.checks import Values
from setwise.core.counts import Counts
from setwise.core.surrogate import PiecedEvaluation, PiecedEvaluator, Search
from setwise.surrogates.in_pieces.bins import Assessed, Leaves, Plan, no_gradient, refined, whole_range

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

    def __init__(self, counts: Counts, thresholded: bool, plan: Plan | None = None) -> None:
        self.counts, self.thresholded, self.plan = counts, thresholded, plan or Plan()

    def search(self, tol: float) -> Search:
        given = int(self.counts.N[0]), int(self.counts.P[0])
        # Errors that are clipped at 0 add nothing, so their decisions are left out.
        found = yield from whole_range(MARGINS, -1.0 if self.thresholded else -np.inf, *given)
        start = float(self.counts.origin[0])
        if not found.above.sum():
            return PiecedEvaluation(max(start, 0.0), max(start, 0.0), [no_gradient(MARGINS)] * found.pieces)
        ends = float(found.low.min()), float(found.high.max())
        leaves, assessed = yield from refined(MARGINS, ends, int(found.above.sum()), self.assess, tol, self.plan)
        # Where the sum is clipped at 0, a subgradient is 0 (LH Definition 6).
        slopes = assessed.slopes if assessed.value > 0.0 else np.zeros_like(assessed.slopes)
        return assessed.evaluation(leaves.gradient(MARGINS, slopes), found.pieces)

    def assess(self, leaves: Leaves) -> Assessed:
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
        return Assessed(origin + float(terms.sum()), gaps, slopes, abs(origin) + float(np.abs(terms).sum()))


def _linear(f: Callable[[Values], Values], mean: Values, most: Values) -> Values:
    """The function of whole numbers f at ``mean`` (k,), at most ``most``; it is taken as linear between them."""
    less = np.minimum(np.floor(mean), np.maximum(most - 1.0, 0.0))
    low, high = f(less), f(np.minimum(less + 1.0, most))
    return low + (mean - less) * (high - low)


def _above(counts: Values) -> Values:
    """The sum of all later counts, (k,)."""
    return np.append(np.cumsum(counts[:0:-1])[::-1], 0.0)
