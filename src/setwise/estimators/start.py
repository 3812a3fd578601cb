"""Where a fit starts: logistic regression on the same rows, with the threshold that is best for the loss."""

import warnings
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from setwise.core.arrays import Values
from setwise.core.measure import Loss
from setwise.core.risk import Risk
from setwise.core.sets import Sets
from setwise.decisions import best_threshold, label_thresholds
from setwise.estimators.grouping import Grouping

CLOSE = 0.1
"""A start is scaled up until its risk has come this close to the least one, as a share of the way from w = 0."""

SCALES = 2.0 ** np.arange(-3, 21)
"""The scales that are tried, as multiples of the one at which scores have a mean size of 1."""


@final
class Logistic:
    """Logistic regression of each output on scaled features, as weights for features that are not scaled.

    For a vector or a label matrix there is one model for each column; for k > 2 classes one multinomial model. A column
    with one class alone is predicted to have this class.

    Parameters
    ----------
    X : (n, d), dense or CSR
    grouping : the sets of the rows
    target : (n,) or (n, p) of 0 and 1, or classes
    sample_weight : (n,) or None
    intercept : whether there is one
    """

    def __init__(
        self, X: Any, grouping: Grouping, target: NDArray[Any], sample_weight: Values | None, intercept: bool
    ) -> None:
        # A sparse matrix stays sparse, so it is not centred.
        scaler = StandardScaler(with_mean=intercept and not issparse(X)).fit(X)
        rows, columns = scaler.transform(X), target if grouping.is_matrix else target.reshape(len(target), -1)
        scale = np.asarray(scaler.scale_)
        self.coef, self.intercept = np.zeros((grouping.outputs, X.shape[1])), np.zeros(grouping.outputs)
        model = LogisticRegression(max_iter=1000, fit_intercept=intercept)
        for j, column in enumerate(columns.T):
            at = slice(None) if grouping.layout == "classes" else slice(j, j + 1)
            positive = grouping.classes[-1] if grouping.layout == "vector" else 1
            labels = column if grouping.layout == "classes" else column == positive
            if labels.all() or not labels.any():
                self.intercept[at] = (1.0 if labels.all() else -1.0) * intercept
                continue
            with warnings.catch_warnings():
                # This is a start, and no more: it need not converge.
                warnings.simplefilter("ignore")
                model.fit(rows, labels, sample_weight)
            self.coef[at] = model.coef_ / scale
            self.intercept[at] = model.intercept_ if intercept else 0.0
        if scaler.mean_ is not None and scaler.with_mean:
            self.intercept -= self.coef @ scaler.mean_

    def scores(self, X: Any) -> NDArray[np.float64]:
        """``X coef^T + intercept``, (n,) or (n, p)."""
        scores = np.asarray(X @ self.coef.T + self.intercept)
        return scores[:, 0] if scores.shape[1] == 1 else scores


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
