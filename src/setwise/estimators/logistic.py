"""Logistic regression on the rows of a problem, where fits of the ramp start."""

import warnings
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Values
from setwise.estimators.grouping import Grouping
from setwise.estimators.notices import largest_number
from setwise.estimators.splits import FOLDS, Split, folds

CS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2)
"""The values of C of logistic regression that are tried; the scikit-learn default where there are too many numbers."""

TUNED = 2_000_000
"""C is chosen for an X of at most as many numbers, zeros of CSR left out. With more rows it matters little."""

HUGE = 1e140
"""Weights beyond this, times the C of a fit, have no squares in float64."""

NARROW = 300
"""Up to as many columns the Newton steps of scikit-learn are faster than its steps of low memory."""


@final
class Logistic:
    """Logistic regression of each output on scaled features, as weights for features that are not scaled.

    For a vector or a label matrix there is one model for each column; for k > 2 classes one multinomial model. A column
    with one class alone is predicted to have this class. For a vector and for a label matrix C is the one of ``CS``
    with the least log loss of all columns on held-out rows. It is 1 for classes, where X has more than ``TUNED``
    numbers for all columns together, and where there are too few rows of a class to hold any out.

    Parameters
    ----------
    X : (n, d), dense or CSR
    grouping : the sets of the rows
    target : (n,) or (n, p) of 0 and 1, or classes
    sample_weight : (n,) or None; only the ratios of weights count
    intercept : whether there is one
    model : the logistic regression whose parameters are used as they are, or None to choose C
    plain : whether the features have sizes that mean something, as those of a kernel, and are not scaled

    Attributes
    ----------
    coef, intercept : (outputs, d) and (outputs,)
    held_out : (n,) or (n, p) the scores of held-out rows with the C that was chosen; None if none was
    """

    def __init__(
        self,
        X: Any,
        grouping: Grouping,
        target: NDArray[Any],
        sample_weight: Any,
        intercept: bool,
        model: LogisticRegression | None = None,
        plain: bool = False,
    ) -> None:
        # A sparse matrix stays sparse, so it is not centred.
        scaler = StandardScaler(with_mean=intercept and not issparse(X), with_std=not plain)
        # Arrays, whatever transform_output says: rows are taken by their places.
        scaler = scaler.set_output(transform="default").fit(X)
        rows, weight = scaler.transform(X), _mean_one(sample_weight)
        positive = grouping.classes[-1] if grouping.layout == "vector" else 1
        classes = grouping.layout == "classes"
        labels = target.reshape(len(target), 1) if classes else target.reshape(len(target), -1) == positive
        one = plain_logistic(X.shape[1], classes) if model is None else clone(model)
        one.set_params(fit_intercept=intercept)
        self.held_out: Values | None = None
        numbers = (X.nnz if issparse(X) else X.size) * labels.shape[1]
        with warnings.catch_warnings():
            # This is a start, and no more: it need not converge.
            warnings.simplefilter("ignore")
            if model is None and not classes and numbers <= TUNED:
                found = _tune(one, rows, labels, weight, _folds(grouping, labels))
                self.held_out = None if found is None else found.reshape(target.shape if grouping.is_matrix else -1)
            parts = [_fitted(one, rows, column, weight) for column in labels.T]
        self.coef = np.vstack([coef for coef, _ in parts]) / (1.0 if plain else np.asarray(scaler.scale_))
        self.intercept = np.concatenate([bias for _, bias in parts]) if intercept else np.zeros(len(self.coef))
        if scaler.mean_ is not None and scaler.with_mean:
            self.intercept -= self.coef @ scaler.mean_
        refuse_tiny(self.coef, largest_number(X))

    def scores(self, X: Any) -> NDArray[np.float64]:
        """``X coef^T + intercept``, (n,) or (n, p)."""
        scores = np.asarray(X @ self.coef.T + self.intercept)
        return scores[:, 0] if scores.shape[1] == 1 else scores


def refuse_tiny(coef: Values, largest: float) -> None:
    """Raise OverflowError for weights of a start that are too large to be squared: those of very small features.

    Squares of numbers that are all below 1 / HUGE, the ``largest`` too, leave float64, and they look constant.
    """
    if not np.isfinite(coef).all() or np.abs(coef).max() > HUGE or 0.0 < largest < 1.0 / HUGE:
        raise OverflowError("X is too small: the weights of its features are too large for float64; scale X up.")


def plain_logistic(columns: int, classes: bool = False, **parameters: Any) -> LogisticRegression:
    """Logistic regression with the solver that is faster for so many columns, and for two classes or more."""
    solver = "newton-cholesky" if columns <= NARROW and not classes else "lbfgs"
    return LogisticRegression(max_iter=1000, solver=solver, **parameters)


def _mean_one(weight: Any) -> Values | None:
    """The weights of the rows, scaled to a mean of 1, for logistic regression takes their sum."""
    if weight is None:
        return None
    # Divided by the largest first, for a sum of large weights may overflow.
    scaled = np.asarray(weight, dtype=np.float64)
    scaled = scaled / scaled.max()
    return np.asarray(scaled / scaled.mean())


def _fitted(model: LogisticRegression, rows: Any, labels: NDArray[Any], weight: Values | None) -> tuple[Values, Values]:
    """The coefficients (outputs, d) and the intercepts (outputs,); those of a constant where there is one class."""
    if labels.dtype == bool and (labels.all() or not labels.any()):
        return np.zeros((1, rows.shape[1])), np.array([1.0 if labels.all() else -1.0])
    model.fit(rows, labels, weight)
    return model.coef_, np.broadcast_to(model.intercept_, len(model.coef_))


def _folds(grouping: Grouping, labels: Bools) -> list[Split]:
    """Folds of the rows that keep sets together, and whole rows of a label matrix.

    There are none where the rarer class of a vector has fewer rows than there are folds, or where it would be missing
    in a training part.
    """
    if grouping.is_matrix:
        return folds(labels, None, FOLDS, "start='logistic'") if len(labels) >= FOLDS else []
    assert isinstance(grouping.batch, Sets)
    if min(labels.sum(), (~labels).sum()) < FOLDS:
        return []
    owners: NDArray[np.int64] | None = None
    if len(grouping.batch) > 1:
        owners = np.empty(len(labels), dtype=np.int64)
        owners[slice(None) if grouping.order is None else grouping.order] = grouping.batch.owners
    found = folds(labels.ravel(), owners, FOLDS, "start='logistic'")
    whole = all(labels[train].any() and not labels[train].all() for train, _ in found)
    return found if whole else []


def _tune(
    model: LogisticRegression, rows: Any, labels: Bools, weight: Values | None, splits: list[Split]
) -> Values | None:
    """Set C of the model to the one of least log loss on held-out rows; their scores (n, p), None without splits.

    Of equal log losses the smallest C wins. A column with one class in a training part has its log-odds as scores.
    """
    if not splits:
        return None
    scores = np.empty((len(CS), *labels.shape))
    for train, test in splits:
        one, part = clone(model).set_params(warm_start=True), None if weight is None else weight[train]
        for i, column in enumerate(labels[train].T):
            if column.all() or not column.any():
                scores[:, test, i] = np.log((column.sum() + 0.5) / ((~column).sum() + 0.5))
                continue
            for j, C in enumerate(CS):
                one.set_params(C=C).fit(rows[train], column, part)
                scores[j, test, i] = one.decision_function(rows[test])
    losses = np.logaddexp(0.0, np.where(labels, -scores, scores)).mean(axis=2)
    best = int(np.average(losses, axis=1, weights=weight).argmin())
    model.set_params(C=CS[best])
    return np.asarray(scores[best])
