"""The worst labeling that still scores well: loss-augmented inference for one set."""

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.checks import as_scores, as_weights
from setwise.core.counts import CountBased
from setwise.core.inference import Problem, Solution
from setwise.core.loss import Loss, Scaled
from setwise.core.ranking import RankLoss
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.inference.default import default_inference
from setwise.losses.area_weighted import AreaWeighted


def loss_augmented_inference(
    loss: Loss, y: ArrayLike, scores: ArrayLike, weights: ArrayLike | None = None, slack: bool = False
) -> Solution:
    """``max over yhat of loss(y, yhat) + <scores, yhat>``, or with ``slack``
    ``loss(y, yhat) (1 + <scores, yhat - y>)``.

    The best exact method for the loss is chosen: Jaccard and F_beta take O(p log p), see :func:`default_inference`.
    Where none is exact the answer has ``exact`` False and an honest ``bound``.

    Parameters
    ----------
    loss : any loss of mistakes
    y : (p,) in 0/1
    scores : (p,) finite
    weights : (p,) areas of the decisions, above 0: counts become areas (DD 4.1). For quotients of counts only
    """
    if isinstance(loss, RankLoss):
        raise Refusal(f"loss_augmented_inference refuses {loss!r}: it judges a ranking. Use MarginRescaling.")
    sets = Sets.single(y)
    if weights is not None:
        loss = _by_area(loss, weights)
    loss.check(sets)
    problem = Problem(loss, sets, as_scores(scores, sets.total), slack)
    method = default_inference(problem)
    found = method.maximize(problem)
    base = 0.0 if slack else float(np.asarray(problem.scores, dtype=np.float64)[sets.labels].sum())
    return Solution(
        labels=found.mistakes ^ sets.labels,
        value=float(found.values[0]) + base,
        bound=float(found.bounds[0]) + base,
        exact=bool(found.exact[0]),
        status=f"{type(method).__name__}: {'exact' if found.exact[0] else 'bounded'}",
    )


def _by_area(loss: Loss, weights: ArrayLike) -> Loss:
    if isinstance(loss, Scaled):
        return loss.factor * _by_area(loss.loss, weights)
    if not isinstance(loss, CountBased):
        raise Refusal(f"weights refuse {loss!r}: it is not a quotient of counts. Give the loss its own weights.")
    return AreaWeighted(loss, as_weights(weights))
