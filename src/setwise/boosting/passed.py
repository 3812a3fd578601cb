"""What boosters pass to functions of their users, in one form."""

from dataclasses import dataclass
from typing import Any, Protocol, final, runtime_checkable

import numpy as np

from setwise.core.checks import Bools, Values, as_array, as_labels, as_reals, as_scores
from setwise.core.exceptions import Refusal
from setwise.core.pages import BOOSTING


@runtime_checkable
class DataSet(Protocol):
    """The data sets of the boosters' own interfaces: a DMatrix of XGBoost, or a Dataset of LightGBM."""

    def get_label(self) -> Any:
        """The labels, (n,)."""

    def get_weight(self) -> Any:
        """The weights of rows, or in XGBoost those of groups if there are some; none may be None or empty."""

    def get_group(self) -> Any:
        """The sizes of groups of consecutive rows; none may be None or empty."""


@final
@dataclass(frozen=True, eq=False)
class Passed:
    """Labels and scores of rows, (n,), with weights of rows or of groups, and sizes of groups, each None if not given.

    Raises ValueError for labels other than 0 and 1, and for scores that are not finite or not one for each row.
    """

    labels: Bools
    scores: Values
    weight: Values | None
    sizes: Values | None

    @classmethod
    def of(cls, first: Any, second: Any, weight: Any, group: Any) -> "Passed":
        """From ``(preds, data set)``, or from ``(y_true, y_pred)`` with weights and sizes of groups, if any."""
        if isinstance(second, DataSet):
            return cls._of(second.get_label(), first, second.get_weight(), second.get_group(), "preds")
        return cls._of(first, second, weight, group, "y_pred")

    @classmethod
    def _of(cls, labels: Any, scores: Any, weight: Any, group: Any, name: str) -> "Passed":
        truth = as_labels(labels, "the labels of a booster")
        given = as_array(scores, name)
        if given.shape != truth.shape:
            raise Refusal(
                f"boosting refuses {name} of shape {given.shape} for {truth.size} rows: a set loss of labels 0 and 1 "
                "reads one score for each row. Train with one class, num_class=1.",
                BOOSTING,
            )
        checked = as_scores(given, truth.size, name).astype(np.float64)
        return cls(truth, checked, _or_none(weight, "weight"), _or_none(group, "group"))


def _or_none(values: Any, name: str) -> Values | None:
    """The numbers as float64; None for None and for an empty array, by which XGBoost means none."""
    if values is None or np.size(values) == 0:
        return None
    return as_reals(values, name)
