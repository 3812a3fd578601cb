"""A classifier of label matrices made of one classifier for each label."""

from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from setwise.estimators.choosing.responses import refuse_shape, scores_of

FAR = 1e3
"""The score of a label that was the same in all training rows, up to its sign, where scores are not probabilities."""


def _has(name: str) -> Any:
    return lambda model: getattr(model.estimator, name, None) is not None


@final
class LabelByLabel(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """One clone of ``estimator`` for each column of a label matrix (n, p) of 0 and 1.

    A column that is constant in training is predicted to be that constant. ``X`` goes to the clones untouched.

    Attributes
    ----------
    estimators_ : the fitted clones; a constant column has its constant, 0 or 1, instead
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, Y: NDArray[Any], **params: Any) -> Self:
        """Fit one clone for each column; ``params`` go to each of them."""
        self.estimators_ = [
            clone(self.estimator).fit(X, column, **params) if np.ptp(column) else int(column[0]) for column in Y.T
        ]
        self.classes_ = [np.array([0, 1])] * Y.shape[1]
        first = next((e for e in self.estimators_ if not isinstance(e, int)), None)
        for name in ("n_features_in_", "feature_names_in_"):
            if getattr(first, name, None) is not None:
                setattr(self, name, getattr(first, name))
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The labels, (n, p) of 0 and 1."""
        check_is_fitted(self)
        n = _num_samples(X)
        columns = [np.full(n, e) if isinstance(e, int) else np.asarray(e.predict(X)) for e in self.estimators_]
        for column in columns:
            refuse_shape(self.estimator, "predict", column.shape, (n,), (n, 1))
        return np.column_stack(columns).astype(np.int64)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability that each label is 1, (n, p)."""
        return self._scores(X, "predict_proba", 0.0, 1.0)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of each label, (n, p)."""
        return self._scores(X, "decision_function", -FAR, FAR)

    def _scores(self, X: Any, method: str, low: float, high: float) -> NDArray[np.float64]:
        check_is_fitted(self)
        n = _num_samples(X)
        return np.column_stack(
            [
                np.full(n, high if e else low) if isinstance(e, int) else scores_of(e, X, method, 1)
                for e in self.estimators_
            ]
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags.multi_label = True
        return tags
