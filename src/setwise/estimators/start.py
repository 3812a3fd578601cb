"""Where a fit starts: the thresholds of logistic regression that are best for the loss, and the scale of its scores."""

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Sets
from setwise.core.checks import Values
from setwise.core.loss import Loss
from setwise.core.risk import Risk
from setwise.decisions import best_threshold, label_thresholds
from setwise.estimators.grouping import Grouping

CLOSE = 0.1
"""A start is scaled up until its risk has come this close to the least one, as a share of the way from w = 0."""

SCALES = 2.0 ** np.arange(-3, 21)
"""The scales that are tried, as multiples of the one at which scores have a mean size of 1."""


def thresholds(loss: Loss, grouping: Grouping, average: str, scores: NDArray[np.float64]) -> Values | float:
    """The best threshold of scores (n,), or those (p,) of the columns of (n, p); 0 where the loss has none.

    A threshold that predicts none or all is put beyond the scores by their spread, so that it stays finite.
    """
    if loss.reads != "labels" or grouping.layout == "classes":
        return 0.0
    if not grouping.is_matrix:
        assert isinstance(grouping.batch, Sets)
        found = np.array([best_threshold(grouping.batch, grouping.flat(scores), loss).threshold])
    else:
        labels = grouping.batch.truth.reshape(scores.T.shape).T if grouping.layout == "macro" else grouping.batch.truth
        found = label_thresholds(labels.reshape(scores.shape), scores, loss, average).thresholds
    low, high = (np.atleast_1d(end) for end in (scores.min(axis=0), scores.max(axis=0)))
    spread = np.maximum(high - low, 1.0)
    finite = np.clip(found, low - spread, high + spread)
    return finite if grouping.is_matrix else float(finite[0])


def scaled(risk: Risk, w: Values, size: float) -> Values:
    """``a w`` with the least a > 0 whose risk is close to that of the best a; ``size`` is the mean size of the scores.

    The labels that are predicted do not depend on a. Where scores are small against the loss, a surrogate is far above
    the loss; where they are very large, the ramp is flat. The least scale whose risk has gone nine tenths of the way
    from w = 0 to the least risk lies between.
    """
    if size == 0.0 or not np.isfinite(size):
        return w
    scales = SCALES / size
    values = np.array([risk.cut(a * w).value for a in scales])
    nothing, least = risk.cut(np.zeros(risk.size)).value, float(values.min())
    close = values - least <= CLOSE * max(nothing - least, 0.0)
    return np.asarray(scales[int(close.argmax())] * w)
