"""The threshold of scores at which a loss of labels is least."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import Sets
from setwise.core.checks import Values
from setwise.core.loss import Loss
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

    Source: own; compared with all thresholds in tests/decisions/test_thresholds.py.

    Parameters
    ----------
    y : (p,) labels 0 and 1 of one set, or a batch of :class:`~setwise.core.Sets`; decisions of
        unknown label (-1 in a batch) have no loss and are left out
    scores : (p,) or flat (total,), finite; the larger, the more likely positive
    loss : any loss of labels, or its name

    Returns
    -------
    Threshold
        The threshold, its mean loss, and the interval of thresholds with the same loss

    Raises
    ------
    Refusal : for losses of a ranking, which have no threshold, and those that ask for a number of predicted positives
    ValueError : for labels and scores that do not fit, and names of no loss
    TypeError : for a loss of another kind

    Examples
    --------
    The four largest scores hold all three positives and one negative, so F1 is 6/7:

    >>> from setwise.decisions import best_threshold
    >>> found = best_threshold([1, 1, 0, 1, 0, 0], [0.9, 0.8, 0.6, 0.3, 0.2, 0.1], "f1")
    >>> found.threshold, round(found.loss, 4), round(1 / 7, 4)
    (0.25, 0.1429, 0.1429)
    """
    return sweep_all(bound(loss, as_sets(y), "best_threshold"), scores).best()[0]


def threshold_curve(y: ArrayLike | Sets, scores: ArrayLike, loss: Loss | str) -> tuple[Values, Values]:
    """``(t, mean_i loss(y_i, [scores_i >= t]))`` at all cut points of the scores, from inf down to -inf.

    It takes as long as :func:`best_threshold`, whose loss is the least one here.

    Source: own; compared with all thresholds in tests/decisions/test_thresholds.py.

    Parameters
    ----------
    y : (p,) labels 0 and 1 of one set, or a batch of :class:`~setwise.core.Sets`; unknown labels are left out
    scores : (p,) or flat (total,), finite; the larger, the more likely positive
    loss : any loss of labels, or its name

    Returns
    -------
    thresholds, losses : (c+1,) each, for c distinct scores: the thresholds, which fall, and their mean losses

    Raises
    ------
    Refusal : for losses of a ranking, and those that ask for a number of predicted positives
    ValueError : for labels and scores that do not fit, and names of no loss
    TypeError : for a loss of another kind

    Examples
    --------
    >>> from setwise.decisions import threshold_curve
    >>> thresholds, losses = threshold_curve([1, 0, 1], [0.8, 0.6, 0.4], "jaccard")
    >>> thresholds.round(2).tolist(), losses.round(2).tolist()
    ([inf, 0.7, 0.5, -inf], [1.0, 0.5, 0.67, 0.33])
    """
    swept = sweep_all(bound(loss, as_sets(y), "threshold_curve"), scores)
    s, cuts = swept.order.scores, swept.order.allowed
    upper, lower = np.append(np.inf, s), np.append(s, -np.inf)
    return thresholds_between(upper[cuts], lower[cuts], s.dtype), np.append(swept.start, swept.losses)[cuts]
