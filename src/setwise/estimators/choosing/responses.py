"""What a fitted classifier says about rows: its own labels, and scores that rise with the chance of a positive."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from setwise.core.checks import Bools, Ints, Values
from setwise.estimators.threads import base_threads

METHODS = {"auto": ("predict_proba", "decision_function")}
"""The methods that are tried in turn for each ``response_method``; any other name is tried alone."""


@final
@dataclass(frozen=True, eq=False)
class Response:
    """The answer of a classifier for n rows, or for n rows with p labels each.

    Parameters
    ----------
    labels : (n,) or (n, p) bool, the classifier's own predictions
    scores : float64 of the same shape, which rise with the chance of a positive
    probability : whether the scores are probabilities
    """

    labels: Bools
    scores: Values
    probability: bool

    def log_odds(self, least: float) -> Values:
        """``log(q / (1 - q))`` of the probabilities, clipped to [least, 1 - least]; other scores as they are."""
        if not self.probability:
            return self.scores
        q = np.clip(self.scores, least, 1.0 - least)
        return np.asarray(np.log(q) - np.log1p(-q))

    def take(self, rows: Ints) -> "Response":
        """The answer for some of the rows."""
        return Response(self.labels[rows], self.scores[rows], self.probability)


def method_of(estimator: Any, response_method: str) -> str:
    """The name of the method that gives scores; raises ValueError if the estimator has none."""
    names = METHODS.get(response_method, (response_method,))
    for name in names:
        # available_if hides a method that the estimator has in other settings only.
        if getattr(estimator, name, None) is not None:
            return name
    raise ValueError(
        f"response_method={response_method!r}: {type(estimator).__name__} has no method {' or '.join(names)}. "
        "Use a classifier with scores."
    )


def respond(estimator: Any, X: Any, response_method: str, positive: Any, p: int | None) -> Response:
    """The response of a fitted classifier, with ``positive`` the label of positives; p labels a row, or None for one.

    Raises
    ------
    ValueError : for a classifier without scores, for scores that are not finite, and for answers of another shape than
        the rows and labels ask for
    """
    name, n = method_of(estimator, response_method), _num_samples(X)
    with base_threads(X):
        predicted = np.asarray(estimator.predict(X))
        refuse_shape(estimator, "predict", predicted.shape, *([(n,), (n, 1)] if p is None else [(n, p)]))
        if p is None:
            scores, labels = scores_of(estimator, X, name, positive), predicted.reshape(n) == positive
        else:
            scores = _columns(getattr(estimator, name)(X), estimator, name, (n, p))
            labels = predicted.astype(np.float64) == 1.0
    if not np.isfinite(scores).all():
        raise ValueError(f"{type(estimator).__name__}.{name} gave NaN or inf; the scores must be finite.")
    return Response(np.asarray(labels, dtype=np.bool_), np.ascontiguousarray(scores), name == "predict_proba")


def scores_of(estimator: Any, X: Any, name: str, positive: Any) -> NDArray[np.float64]:
    """What the method ``name`` of a classifier of two classes says for the class ``positive``, (n,)."""
    values = np.asarray(getattr(estimator, name)(X), dtype=np.float64)
    n, classes = _num_samples(X), np.asarray(estimator.classes_).tolist()
    # There is a column for each class, or one number that speaks for the second class.
    refuse_shape(estimator, name, values.shape, (n, len(classes)), *([(n,)] if len(classes) == 2 else []))
    at = classes.index(positive)
    return values[:, at] if values.ndim == 2 else values if at == 1 else -values


def _columns(raw: Any, estimator: Any, name: str, shape: tuple[int, int]) -> NDArray[np.float64]:
    """The scores of a label matrix, (n, p), from a matrix or from a list with the scores of each label."""
    n, p = shape
    if not isinstance(raw, list):
        values = np.asarray(raw, dtype=np.float64)
        refuse_shape(estimator, name, values.shape, shape)
        return values
    if len(raw) != p or len(estimator.classes_) != p:
        raise ValueError(f"{type(estimator).__name__}.{name} must answer for the {p} labels of y; got {len(raw)}.")
    columns = []
    for given, classes in zip(raw, estimator.classes_, strict=True):
        values, at = np.asarray(given, dtype=np.float64), np.flatnonzero(np.asarray(classes) == 1)
        refuse_shape(estimator, name, values.shape, (n, len(classes)))
        # A column that is always 0 has no probability of 1, and some trees know one class only.
        columns.append(values[:, at[0]] if at.size else np.zeros(n))
    return np.column_stack(columns)


def refuse_shape(estimator: Any, name: str, found: tuple[int, ...], *wanted: tuple[int, ...]) -> None:
    """Raise ValueError for an answer of none of the shapes that are wanted."""
    if found not in wanted:
        shapes = " or ".join(map(str, wanted))
        raise ValueError(f"{type(estimator).__name__}.{name} must give an array of shape {shapes}; got {found}.")
