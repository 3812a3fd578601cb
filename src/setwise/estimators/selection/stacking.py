"""Strategies that train on top: a linear classifier over the log-odds of the base model, and over the rows themselves.

The ramp is descended from logistic regression; of many sets a convex surrogate is trained.
"""

import warnings
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from sklearn.linear_model import LogisticRegression

from setwise.core import pages
from setwise.core.checks import Bools, Values, as_factor
from setwise.core.loss import calls_labels
from setwise.decisions.task import Task
from setwise.estimators.selection.out_of_fold import ColumnScaling
from setwise.estimators.selection.strategies import Base, Evidence, Rule, Strategy
from setwise.estimators.set_classifier import SetClassifier

WIDEST = 200
"""Tables with more columns than this are left out, for they would drown the log-odds."""


def usable(table: Values | None) -> bool:
    """Whether a table of numbers has few enough columns."""
    return table is not None and table.shape[1] <= WIDEST


def linear_rule(evidence: Evidence, task: Task, model: SetClassifier, rows: bool) -> "LinearRule":
    """The rule of a linear classifier fitted to the features of :class:`LinearRule`, with usable rows or without.

    Its warnings are left out: how far it got, and what that is worth, is judged on rows that it did not see.
    """
    rows = rows and usable(evidence.numbers)
    least = 0.5 / len(task.truth)
    features = _features(evidence, rows, least)
    scaling = ColumnScaling.of(features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(scaling(features), task.truth.astype(np.int64), groups=task.groups)
    return LinearRule(model.coef_, model.intercept_, scaling, rows, least)


def _refuses_function(name: str, task: Task) -> str | None:
    """The sentence that refuses a loss whose values are calls of a function of labels."""
    if calls_labels(task.loss):
        return f"{name} refuses {task.loss!r}: training would call the function for all labelings."
    return None


@final
@dataclass(frozen=True, eq=False)
class LinearRule(Rule):
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
    scaling: ColumnScaling
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


@final
@dataclass(frozen=True)
class RampStack(Strategy):
    """The ramp of the loss, minimized over linear functions of out-of-fold log-odds and of the columns of X.

    It begins at logistic regression (C = 1) on these features with its best threshold, and descends from there. For y
    (n,) the columns of X must be numbers, at most 200 of them: with log-odds alone the ramp would be another way to a
    threshold. Columns that a ``TableEncoder`` in front of the base model reads as words are left out; where another
    step may leave columns out, as a ``ColumnTransformer``, the ramp is refused. For a label matrix the features are the
    log-odds of all labels.

    Source: own; measured in docs/results.md.

    Parameters
    ----------
    C : the weight of the surrogate against the distance from the start, as in :class:`~setwise.SetClassifier`

    Raises
    ------
    ValueError : for C that is not above 0
    TypeError : for C that is no number

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.selection import RampStack
    >>> X, y = make_classification(200, 4, weights=[0.8], class_sep=0.5, random_state=0)
    >>> model = MeasureClassifier(LogisticRegression(), "f1", [RampStack(C=100.0)], cv=3, random_state=0).fit(X, y)
    >>> [candidate.strategy for candidate in model.candidates_]
    ['threshold', 'ramp']
    """

    C: float = 10000.0

    name: ClassVar[str] = "ramp"
    title = "ramp on top"
    phrase = "with a ramp trained on top"
    explanation = (
        "a linear function of the model's log-odds and of the features, trained for the measure itself, from the "
        "tuned threshold on"
    )
    needs = "because it needs a dense table of numbers without too many columns"
    page = pages.RAMP
    linear = True
    many_numbers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_factor(self.C, "C")

    def refuses_data(self, task: Task) -> str | None:
        return _refuses_function(self.name, task)

    def refuses(self, task: Task, base: Base) -> str | None:
        if not task.is_matrix and not usable(base.numbers):
            return (
                "ramp refuses this X: for y of shape (n,) X must be a dense table of numbers, of at most "
                f"{WIDEST} columns, and no step of the estimator may leave some out. Without columns the ramp would be "
                "just a threshold."
            )
        return self.refuses_data(task)

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        model = SetClassifier(task.loss, "ramp", C=self.C, average=task.average, start=LogisticRegression())
        return linear_rule(evidence, task, model, rows=not task.is_matrix)


@final
@dataclass(frozen=True)
class Stack(Strategy):
    """The convex set surrogate of the loss, minimized over linear functions of out-of-fold log-odds.

    For a label matrix each label has a weight for the log-odds of every label, so that labels which depend on each
    other are predicted together. For groups there are weights for the columns of X beside those of the log-odds, if
    all columns are numbers and there are at most 200, and no step before the classifier may leave some out. Columns
    that a ``TableEncoder`` in front of the base model reads as words are left out.

    Where all rows are one set, the bound of a convex surrogate often says nothing; ``"ramp"`` is for these.

    Source: own; measured in docs/results.md.

    Parameters
    ----------
    C : the weight of the surrogate against the regularizer, as in :class:`~setwise.SetClassifier`. There are few
        weights here, so they need not be held small

    Raises
    ------
    ValueError : for C that is not above 0
    TypeError : for C that is no number

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.selection import Stack
    >>> X, Y = make_multilabel_classification(100, n_features=5, n_classes=3, random_state=0)
    >>> model = MeasureClassifier(LogisticRegression(), "jaccard", [Stack()], cv=3, random_state=0).fit(X, Y)
    >>> [candidate.strategy for candidate in model.candidates_]
    ['threshold', 'stack']
    """

    C: float = 10000.0

    name: ClassVar[str] = "stack"
    title = "trained on top"
    phrase = "with a linear model trained on top"
    explanation = "a linear function of the model's log-odds and of the features, trained for the measure itself"
    many_numbers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_factor(self.C, "C")

    def refuses_data(self, task: Task) -> str | None:
        if task.spans_rows:
            return "stack refuses a loss of all rows as one set, whose convex bound often says nothing: use 'ramp'."
        return _refuses_function(self.name, task)

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        model = SetClassifier(task.loss, "convex", C=self.C, average=task.average)
        return linear_rule(evidence, task, model, rows=not task.is_matrix)
