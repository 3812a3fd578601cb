"""The ramp of the loss, descended from logistic regression on the log-odds of the base model."""

from dataclasses import dataclass
from typing import ClassVar, final

from sklearn.linear_model import LogisticRegression

from setwise.core.checks import as_factor
from setwise.decisions.task import Task
from setwise.estimators.choosing.lever import Base, Evidence, Lever, Rule
from setwise.estimators.levers.linear import WIDEST, linear_rule, usable
from setwise.estimators.set_classifier import SetClassifier


@final
@dataclass(frozen=True)
class Ramp(Lever):
    """The ramp of the loss, minimized over linear functions of out-of-fold log-odds and of the columns of X.

    It begins at logistic regression (C = 1) on these features with its best threshold, and descends from there. For y
    (n,) the columns of X must be numbers, at most 200 of them: with log-odds alone the ramp would be another way to a
    threshold. Columns that a ``TableEncoder`` in front of the base model reads as words are left out. For a label
    matrix the features are the log-odds of all labels.

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
    >>> from setwise.estimators.levers import Ramp
    >>> X, y = make_classification(200, 4, weights=[0.8], class_sep=0.5, random_state=0)
    >>> model = MeasureClassifier(LogisticRegression(), "f1", [Ramp(C=100.0)], cv=3, random_state=0).fit(X, y)
    >>> [candidate.lever for candidate in model.candidates_]
    ['threshold', 'ramp']
    """

    C: float = 10000.0

    name: ClassVar[str] = "ramp"
    many_numbers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_factor(self.C, "C")

    def refuses(self, task: Task, base: Base) -> str | None:
        if not task.is_matrix and not usable(base.numbers):
            return (
                "ramp refuses y of shape (n,) without columns of X, where it is another threshold: X must be a dense "
                f"table of numbers, of {WIDEST} columns at most."
            )
        return None

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        model = SetClassifier(task.loss, "ramp", C=self.C, average=task.average, start=LogisticRegression())
        return linear_rule(evidence, task, model, rows=not task.is_matrix)
