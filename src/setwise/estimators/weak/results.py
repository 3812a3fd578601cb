"""What the estimator stores of a fit, and the warnings that it gives."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from setwise.core.pages import AFTER_A_FIT, BAG_LIMITS, BAGS
from setwise.estimators.weak.problem import LinearModel
from setwise.estimators.weak.scaling import Scaling
from setwise.estimators.weak.training import Trained
from setwise.estimators.weak.wrapped import WrappedModel

ENDINGS = {
    "max_iter": ("{name} {message}; raise max_iter or tol.", ConvergenceWarning, BAGS),
    "interrupted": ("{name} was {message}.", RuntimeWarning, AFTER_A_FIT),
}


def keep(model: Any, trained: Sequence[Trained], classes: NDArray[Any], scaling: Scaling | None) -> None:
    """Store the models of all classes in the attributes of ``model``, and warn of what went wrong."""
    models = [one.model for one in trained]
    model.classes_, model._models, model.estimators_ = classes, [], []
    if scaling is not None:
        pairs = [scaling.given(one.w) for one in models if isinstance(one, LinearModel)]
        model.coef_, model.intercept_ = (np.array(parts) for parts in zip(*pairs, strict=True))
    else:
        model._models = models
        model.estimators_ = [one.estimator for one in models if isinstance(one, WrappedModel)]
        if model.estimators_:
            _take_names(model, model.estimators_[0])
    single = len(trained) == 1
    for name, values in _columns(trained).items():
        setattr(model, name, values[0] if single else values)
    _warn(type(model).__name__, trained)


def _columns(trained: Sequence[Trained]) -> dict[str, list[Any]]:
    """The attributes with one value for each class."""
    races = [one.race for one in trained]
    return {
        "method_": [one.method for one in trained],
        "C_": [one.C for one in trained],
        "candidates_": [() if race is None else race.candidates for race in races],
        "doubt_": [None if race is None else race.doubt for race in races],
        "choice_": [one.choice for one in trained],
        "interval_": [one.interval for one in trained],
        "objective_": [one.model.objective for one in trained],
        "n_iter_": [max(one.model.n_iter, 1) for one in trained],
        "status_": [one.model.status for one in trained],
        "stop_reason_": [one.model.message for one in trained],
    }


def _take_names(model: Any, fitted: Any) -> None:
    """The number of features and their names, as a classifier tells them."""
    for name in ("n_features_in_", "feature_names_in_"):
        found = getattr(fitted, name, None)
        if found is not None:
            setattr(model, name, found)
        elif name in vars(model):
            delattr(model, name)


def _warn(name: str, trained: Sequence[Trained]) -> None:
    """Warn of the first class that has a reason, of each kind."""
    statuses = {one.model.status: one.model.message for one in reversed(trained)}
    for status, (words, kind, page) in ENDINGS.items():
        if status in statuses:
            # The warning points at the line of the user that called fit.
            warnings.warn(words.format(name=name, message=statuses[status]) + page.see, kind, stacklevel=5)
    advice = next((one.advice for one in trained if one.advice is not None), None)
    if advice is not None:
        warnings.warn(advice + BAG_LIMITS.see, UserWarning, stacklevel=5)
