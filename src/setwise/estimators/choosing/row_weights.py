"""Under which name the ``fit`` of a classifier takes weights of rows."""

from typing import Any

from sklearn import get_config
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from setwise.estimators.choosing.label_by_label import LabelByLabel


def weight_name(estimator: Any) -> str | None:
    """The name of the argument of ``estimator.fit`` that weighs rows; None if there is none.

    A pipeline hands weights to its last step, a search over parameters to what it searches. With metadata routing the
    estimator must have requested ``sample_weight``.
    """
    if isinstance(estimator, LabelByLabel):
        return weight_name(estimator.estimator)
    if get_config().get("enable_metadata_routing"):
        return "sample_weight" if get_routing_for_object(estimator).consumes("fit", ["sample_weight"]) else None
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        inner = weight_name(last)
        return None if inner is None else f"{step}__{inner}"
    if isinstance(estimator, BaseSearchCV):
        return weight_name(estimator.estimator)
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
