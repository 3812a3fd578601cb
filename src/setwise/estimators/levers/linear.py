"""The rule of a linear classifier over the log-odds of the base model, and over the rows themselves."""

import warnings
from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.checks import Bools, Values
from setwise.decisions.task import Task
from setwise.estimators.choosing.lever import Evidence, Rule
from setwise.estimators.choosing.tables import Scaling
from setwise.estimators.set_classifier import SetClassifier

WIDEST = 200
"""Tables with more columns than this are left out, for they would drown the log-odds."""


def usable(table: Values | None) -> bool:
    """Whether a table of numbers has few enough columns."""
    return table is not None and table.shape[1] <= WIDEST


def linear_rule(evidence: Evidence, task: Task, model: SetClassifier, rows: bool) -> "Linear":
    """The rule of a linear classifier that is fitted to the features of :class:`Linear`, with usable rows or without.

    Its warnings are left out: how far it got, and what that is worth, is judged on rows that it did not see.
    """
    rows = rows and usable(evidence.numbers)
    least = 0.5 / len(task.truth)
    features = _features(evidence, rows, least)
    scaling = Scaling.of(features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
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
        features = _features(evidence, self.rows, self.least)
        scores = self.scaling(features) @ self.coef.T + self.intercept
        return (scores[:, 0] if evidence.response().scores.ndim == 1 else scores) > 0


def _features(evidence: Evidence, rows: bool, least: float) -> Values:
    odds = evidence.response().log_odds(least)
    columns = odds if odds.ndim == 2 else odds[:, None]
    if not rows:
        return columns
    table = evidence.numbers
    if table is None:
        raise ValueError("X must be a dense table of numbers in predict, as it was in fit.")
    return np.hstack([columns, table])
