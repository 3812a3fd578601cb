"""The base model of a choice: the default one, and what may be asked of any."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from setwise.core.exceptions import Refusal
from setwise.core.pages import MEASURE_COST
from setwise.estimators.choosing.label_by_label import LabelByLabel


def default_classifier(X: Any) -> Any:
    """Logistic regression on scaled columns; sparse rows are not centered, so that they stay sparse."""
    return array_pipeline(StandardScaler(with_mean=not issparse(X)), LogisticRegression(max_iter=1000))


def array_pipeline(*steps: Any) -> Pipeline:
    """``make_pipeline(*steps)`` whose steps hand on arrays, as tables of pandas are never sparse."""
    return make_pipeline(*steps).set_output(transform="default")


def base_has(name: str) -> Callable[[Any], bool]:
    """Whether the base model of a choice has a method, for ``available_if``."""

    def check(model: Any) -> bool:
        return getattr(vars(model).get("estimator_", model._base(None)), name, None) is not None

    return check


def takes_matrices(estimator: Any) -> bool:
    """Whether a classifier is fitted to a label matrix as a whole."""
    return get_tags(estimator).classifier_tags.multi_label or takes_matrices_alone(estimator)


def takes_matrices_alone(estimator: Any) -> bool:
    """Whether a classifier is fitted to label matrices and to nothing else, as those of ``sklearn.multioutput``."""
    # Pipelines and searches do not hand this tag on.
    while isinstance(estimator, Pipeline | BaseSearchCV):
        estimator = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator.estimator
    return not get_tags(estimator).target_tags.single_output


def is_prefit(cv: Any) -> bool:
    """Whether the base model was fitted before."""
    return isinstance(cv, str) and cv == "prefit"


def check_prefit(estimator: Any, classes: NDArray[Any] | None) -> None:
    """Raise if a classifier is not fitted, or not to the two ``classes``; None for a label matrix."""
    if estimator is None:
        raise ValueError("estimator must be a fitted classifier with cv='prefit'; got None.")
    check_is_fitted(estimator)
    known = None if classes is None else np.asarray(estimator.classes_).tolist()
    if classes is not None and known != classes.tolist():
        raise ValueError(f"y must hold the labels {known} that the estimator was fitted with; got {classes.tolist()}.")


def weight_name(estimator: Any) -> str | None:
    """The name of the argument of ``estimator.fit`` that weighs rows; None if there is none.

    A pipeline hands weights to its last step, a search over parameters to what it searches. With metadata routing the
    estimator must have requested ``sample_weight``.
    """
    estimator = _inner(estimator)
    if get_config().get("enable_metadata_routing"):
        return "sample_weight" if get_routing_for_object(estimator).consumes("fit", ["sample_weight"]) else None
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        inner = weight_name(last)
        return None if inner is None else f"{step}__{inner}"
    if isinstance(estimator, BaseSearchCV):
        return weight_name(estimator.estimator)
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def refuse_weights(estimator: Any) -> Refusal:
    """Why ``sample_weight`` cannot be given to an estimator that has no :func:`weight_name`."""
    inner, routed = _inner(estimator), bool(get_config().get("enable_metadata_routing"))
    name = type(inner).__name__
    # Searches and pipelines hand weights on, so their own signature says nothing.
    if routed and (has_fit_parameter(inner, "sample_weight") or isinstance(inner, Pipeline | BaseSearchCV)):
        return Refusal(
            f"sample_weight refuses {name}, which does not request it: with metadata routing weights go where "
            "set_fit_request(sample_weight=True) was called. Call it, or leave the weights out.",
            MEASURE_COST,
        )
    return Refusal(f"sample_weight refuses {name}, whose fit takes no weights of rows. Leave it out.", MEASURE_COST)


def routed(estimator: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of ``estimator.fit`` among those ``given``, by its requests and those of what it holds.

    A classifier that is fitted label by label gets what one of its clones requests. Without metadata routing there are
    none. Raises ``UnsetMetadataPassedError`` of scikit-learn if the estimator takes an argument of such a name, and it
    was not said whether it is to get it.
    """
    if not given or not get_config().get("enable_metadata_routing"):
        return {}
    mapping = MethodMapping().add(caller="fit", callee="fit")
    router = MetadataRouter(owner="MeasureClassifier").add(estimator=_inner(estimator), method_mapping=mapping)
    return dict(router.route_params(params=dict(given), caller="fit").estimator.fit)


def _inner(estimator: Any) -> Any:
    return estimator.estimator if isinstance(estimator, LabelByLabel) else estimator
