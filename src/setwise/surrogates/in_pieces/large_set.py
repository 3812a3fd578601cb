"""One set of very many decisions in one place: where a gap is allowed, its pieces are summarized instead of sorted."""

from typing import final

import numpy as np

from setwise.core.batch import Batch, Sets
from setwise.core.checks import Bools, Floats, Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.surrogate import Evaluation, Evaluator, Piece, PiecedEvaluator, Surrogate, ended
from setwise.kernels.threads import map_units

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
