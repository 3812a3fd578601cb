"""The threshold of scores at which a loss of labels is least."""

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.arrays import Values
from setwise.core.measure import Loss
from setwise.core.sets import Sets
from setwise.decisions.sweep import Threshold, as_sets, bound, sweep_all, thresholds_between

__all__ = ["Threshold", "best_threshold", "threshold_curve"]


def best_threshold(y: ArrayLike | Sets, scores: ArrayLike, loss: Loss | str) -> Threshold:
    """``argmin over t of mean_i loss(y_i, [scores_i >= t])``: the best common threshold of all sets.

    All cut points between distinct scores are compared, and equal scores are never separated: no other threshold has a
    smaller loss on these scores. Of several cut points with the least loss, those next to each other form a run. The
    run that spans the widest range of scores is taken, and the middle of its cut points. Thresholds that predict none
    (inf) or all (-inf) are the answer only where all others have a larger loss.

    One sort and one pass, O(total log total), for a function of counts and for costs of single decisions. Any other
    loss is evaluated once for each decision of a set, O(p^2).

    Parameters
    ----------
    y : (p,) labels 0 and 1 of one set, or a batch of :class:`~setwise.core.sets.Sets`; decisions of
        unknown label (-1 in a batch) have no loss and are left out
    scores : (p,) or flat (total,), finite; the larger, the more likely positive
    loss : any loss of labels, or its name

    Raises
    ------
    Refusal : for losses of a ranking, which have no threshold, and those that ask for a number of predicted positives
    ValueError : for labels and scores that do not fit
    """
    return sweep_all(bound(loss, as_sets(y), "best_threshold"), scores).best()[0]


def threshold_curve(y: ArrayLike | Sets, scores: ArrayLike, loss: Loss | str) -> tuple[Values, Values]:
    """``(t, mean_i loss(y_i, [scores_i >= t]))`` at all cut points of the scores, from inf down to -inf.

    Two arrays (c+1,) for c distinct scores: the thresholds, which fall, and their losses. The parameters, the cost and
    the errors are those of :func:`best_threshold`.
    """
    swept = sweep_all(bound(loss, as_sets(y), "threshold_curve"), scores)
    s, cuts = swept.order.scores, swept.order.allowed
    upper, lower = np.append(np.inf, s), np.append(s, -np.inf)
    return thresholds_between(upper[cuts], lower[cuts], s.dtype), np.append(swept.start, swept.losses)[cuts]
