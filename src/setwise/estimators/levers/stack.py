"""A linear classifier trained for the loss, on the log-odds of the base model and on the rows themselves."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Bools, Values
from setwise.core.checks import as_factor, as_flag
from setwise.decisions.task import Task
from setwise.estimators.choosing.lever import Base, Evidence, Lever, Rule
from setwise.estimators.choosing.tables import Scaling
from setwise.estimators.set_classifier import SetClassifier

WIDEST = 200
"""Tables with more columns than this are left out of the stack, where they would drown the log-odds."""


@final
@dataclass(frozen=True)
class Stack(Lever):
    """A set surrogate of the loss, minimized over linear functions of out-of-fold log-odds and of the scaled rows.

    For a label matrix each label has a weight for the log-odds of every label, so that labels which go together are
    predicted together. For y (n,) there are weights for the columns of X beside the log-odds, if all of them are
    numbers and there are at most 200; without them a stack would only be another way to a threshold.

    Parameters
    ----------
    C : the weight of the surrogate against the regularizer, as in :class:`~setwise.SetClassifier`
    rows : whether the columns of X are used beside the log-odds; None uses them for y (n,) alone
    """

    C: float = 10000.0
    rows: bool | None = None

    name: ClassVar[str] = "stack"
    many_numbers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_factor(self.C, "C")
        if self.rows is not None:
            as_flag(self.rows, "rows")

    def refuses(self, task: Task, base: Base) -> str | None:
        rows = not task.is_matrix if self.rows is None else self.rows
        if not task.is_matrix and not (rows and usable(base.numbers)):
            return (
                "stack refuses y of shape (n,) without columns of X, where it is another threshold: X must be a dense "
                f"table of numbers, of {WIDEST} columns at most."
            )
        return None

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        rows = not task.is_matrix if self.rows is None else self.rows
        return linear_rule(evidence, task, SetClassifier(task.loss, C=self.C, average=task.average), rows)


def usable(table: Values | None) -> bool:
    """Whether a table of numbers has few enough columns for a stack."""
    return table is not None and table.shape[1] <= WIDEST


def linear_rule(evidence: Evidence, task: Task, model: SetClassifier, rows: bool) -> "Linear":
    """The rule of a linear classifier that is fitted to the features of :class:`Linear`."""
    rows = rows and usable(evidence.numbers)
    least = 0.5 / len(task.truth)
    features = _features(evidence, rows, least)
    scaling = Scaling.of(features)
    model.fit(scaling(features), task.truth.astype(np.int64), groups=task.groups)
    return Linear(model.coef_, model.intercept_, scaling, rows, least)


@final
@dataclass(frozen=True, eq=False)
class Linear(Rule):
    """``[W z + b > 0]`` for z the log-odds of the base model and the columns of X, scaled.

    Parameters
    ----------
    coef : W, (1, m) or (p, m)
    intercept : b, (1,) or (p,)
    scaling : the means and deviations of z
    rows : whether z holds the columns of X
    least : probabilities are clipped to [least, 1 - least] before their log-odds are taken
    """

    coef: Values
    intercept: Values
    scaling: Scaling
    rows: bool
    least: float

    def labels(self, evidence: Evidence) -> Bools:
        scores = self.scaling(_features(evidence, self.rows, self.least)) @ self.coef.T + self.intercept
        return (scores[:, 0] if len(self.coef) == 1 and evidence.response().scores.ndim == 1 else scores) > 0


def _features(evidence: Evidence, rows: bool, least: float) -> NDArray[Any]:
    odds = evidence.response().log_odds(least)
    columns = odds if odds.ndim == 2 else odds[:, None]
    if not rows:
        return columns
    table = evidence.numbers
    if table is None:
        raise ValueError("X must be a dense table of numbers in predict, as it was in fit.")
    return np.hstack([columns, table])
