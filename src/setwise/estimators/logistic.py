"""Logistic regression on the rows of a problem, where fits of the ramp start."""

import warnings
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from setwise.core.arrays import Bools, Values
from setwise.core.sets import Sets
from setwise.estimators.grouping import Grouping
from setwise.estimators.splits import FOLDS, Split, folds

CS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2)
"""The values of C of logistic regression that are tried; the scikit-learn default where there are too many numbers."""

TUNED = 2_000_000
"""C is chosen for an X of at most as many numbers, zeros of CSR left out. With more rows it matters little."""

NARROW = 300
"""Up to as many columns the Newton steps of scikit-learn are faster than its steps of low memory."""


@final
class Logistic:
    """Logistic regression of each output on scaled features, as weights for features that are not scaled.

    For a vector or a label matrix there is one model for each column; for k > 2 classes one multinomial model. A column
    with one class alone is predicted to have this class. For a vector C is the one of ``CS`` with the least log loss on
    held-out rows; it is 1 for label matrices and classes, and for an X of more than ``TUNED`` numbers.

    Parameters
    ----------
    X : (n, d), dense or CSR
    grouping : the sets of the rows
    target : (n,) or (n, p) of 0 and 1, or classes
    sample_weight : (n,) or None
    intercept : whether there is one
    model : the logistic regression whose parameters are used as they are, or None to choose C

    Attributes
    ----------
    coef, intercept : (outputs, d) and (outputs,)
    held_out : (n,) the scores of held-out rows with the C that was chosen; None if none was
    """

    def __init__(
        self,
        X: Any,
        grouping: Grouping,
        target: NDArray[Any],
        sample_weight: Values | None,
        intercept: bool,
        model: LogisticRegression | None = None,
    ) -> None:
        # A sparse matrix stays sparse, so it is not centred.
        scaler = StandardScaler(with_mean=intercept and not issparse(X)).fit(X)
        rows, columns = scaler.transform(X), target if grouping.is_matrix else target.reshape(len(target), -1)
        scale = np.asarray(scaler.scale_)
        self.coef, self.intercept = np.zeros((grouping.outputs, X.shape[1])), np.zeros(grouping.outputs)
        self.held_out: Values | None = None
        if model is None:
            solver = "newton-cholesky" if X.shape[1] <= NARROW and grouping.layout != "classes" else "lbfgs"
            one = LogisticRegression(max_iter=1000, solver=solver)
        else:
            one = clone(model)
        one.set_params(fit_intercept=intercept)
        positive = grouping.classes[-1] if grouping.layout == "vector" else 1
        with warnings.catch_warnings():
            # This is a start, and no more: it need not converge.
            warnings.simplefilter("ignore")
            for j, column in enumerate(columns.T):
                at = slice(None) if grouping.layout == "classes" else slice(j, j + 1)
                labels = column if grouping.layout == "classes" else column == positive
                if labels.all() or not labels.any():
                    self.intercept[at] = (1.0 if labels.all() else -1.0) * intercept
                    continue
                if model is None and grouping.layout == "vector" and (X.nnz if issparse(X) else X.size) <= TUNED:
                    self.held_out = _tune(one, rows, labels, sample_weight, _folds(grouping, labels))
                one.fit(rows, labels, sample_weight)
                self.coef[at] = one.coef_ / scale
                self.intercept[at] = one.intercept_ if intercept else 0.0
        if scaler.mean_ is not None and scaler.with_mean:
            self.intercept -= self.coef @ scaler.mean_

    def scores(self, X: Any) -> NDArray[np.float64]:
        """``X coef^T + intercept``, (n,) or (n, p)."""
        scores = np.asarray(X @ self.coef.T + self.intercept)
        return scores[:, 0] if scores.shape[1] == 1 else scores


def _folds(grouping: Grouping, labels: Bools) -> list[Split]:
    """Folds of the rows that keep sets together.

    There are none where a training part would have one class alone, or where the rarer one has fewer rows than folds.
    """
    assert isinstance(grouping.batch, Sets)
    if min(labels.sum(), (~labels).sum()) < FOLDS:
        return []
    owners: NDArray[np.int64] | None = None
    if len(grouping.batch) > 1:
        owners = np.empty(len(labels), dtype=np.int64)
        owners[slice(None) if grouping.order is None else grouping.order] = grouping.batch.owners
    found = folds(labels, owners, FOLDS, "start='logistic'")
    whole = all(labels[train].any() and not labels[train].all() for train, _ in found)
    return found if whole else []


def _tune(
    model: LogisticRegression, rows: Any, labels: Bools, weight: Values | None, splits: list[Split]
) -> Values | None:
    """Set C of the model to the one of least log loss on held-out rows; the scores of these rows, None without splits.

    Of equal log losses the smallest C wins.
    """
    if not splits:
        return None
    scores = np.empty((len(CS), len(labels)))
    for train, test in splits:
        one = clone(model).set_params(warm_start=True)
        for j, C in enumerate(CS):
            one.set_params(C=C).fit(rows[train], labels[train], None if weight is None else weight[train])
            scores[j, test] = one.decision_function(rows[test])
    losses = np.average(np.logaddexp(0.0, np.where(labels, -scores, scores)), axis=1, weights=weight)
    best = int(losses.argmin())
    model.set_params(C=CS[best])
    return np.asarray(scores[best])
