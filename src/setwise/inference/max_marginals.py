"""Max-marginals of a count loss over independent decisions, all at once: the messages of a loss factor (HOL Eq. 4)."""

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.checks import as_scores
from setwise.core.loss import Loss, Values
from setwise.core.refusal import Refusal
from setwise.core.sets import Ints, Sets
from setwise.core.traits import Trait
from setwise.inference.count_search import SMALL_TABLE, diagonal
from setwise.inference.objective import Objective, OneClass
from setwise.inference.ranking import Ranking
from setwise.inference.structure import doubt, is_monge, predicted_of, quotient_of
from setwise.inference.tables import Rows, falling_rows, scan_rows
from setwise.kernels.marginals import quotient_marginals, table_marginals
from setwise.kernels.segments import segment_sums

BUDGET = 1 << 27


def max_marginals(loss: Loss, y: ArrayLike, scores: ArrayLike) -> Values:
    """``M[i, v] = max over yhat with yhat_i = v of loss(y, yhat) + <scores, yhat>`` for all decisions, (p, 2); exact.

    HOL's message from the loss to decision i (Eq. 4) leaves out the decision's own score: ``M[i, v] - scores[i] v``.
    O(p) after the sort for Jaccard, Tversky(alpha, beta >= 1) and losses of the number of mistakes; O(p log p) for Monge losses
    as F_beta with beta >= 1; a logarithm more for other F_beta; O(P N) for other losses, refused beyond 134 million cells. An entry is
    -inf where the loss is defined for a given number of predicted positives and no such labeling has ``yhat_i = v``.

    Parameters
    ----------
    loss : any loss with ``Trait.COUNTS``
    y : (p,) in 0/1
    scores : (p,) finite, float32 or float64
    """
    sets = Sets.single(y)
    loss.check(sets)
    return batch_max_marginals(loss, sets, as_scores(scores, sets.total))


def batch_max_marginals(loss: Loss, sets: Sets, scores: Values) -> Values:
    """The same for a ragged batch, (total, 2)."""
    if Trait.COUNTS not in loss.traits:
        raise Refusal(f"max_marginals refuses {loss}: the loss is not a function of (fn, fp, P, N). Enumerate small sets.")
    truth = segment_sums(np.where(sets.labels, scores, scores.dtype.type(0)), sets.offsets)
    if Trait.CARDINALITY in loss.traits:
        return _one_class(OneClass.of(loss, sets, scores, doubt(loss, sets, None, True)[0]), truth)
    quotient, predicted = quotient_of(loss, sets), predicted_of(loss, sets)
    ranking = Ranking.of(sets, scores, *((-np.inf, None) if predicted is not None else doubt(loss, sets, quotient)))
    place = (scores, sets.labels, sets.offsets, ranking.base + truth)
    if quotient is not None:
        return quotient_marginals(ranking.parts, *place, quotient)
    objective = Objective(loss, ranking)
    if predicted is not None:
        heights = [_tied(objective, predicted.astype(np.int64), side) for side in (0, 1)]
    else:
        heights = [_free(objective, side) for side in (0, 1)]
    return table_marginals(ranking.parts, *place, *_interleave(*heights))


def _one_class(objective: OneClass, truth: Values) -> Values:
    ranking, sets = objective.ranking, objective.sets
    rows = _reach(ranking, 0)
    losses, _ = scan_rows(Rows(lambda i, r, _: objective.loss_at(i, rows.first[i] + r), rows.count, np.ones_like(rows.count)))
    margins = np.where(sets.labels, ranking.scores, ranking.scores)
    return losses
