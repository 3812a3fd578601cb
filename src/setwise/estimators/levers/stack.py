"""A linear classifier trained for the loss of many sets, on the log-odds of the base model."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.checks import as_factor
from setwise.decisions.task import Task
from setwise.estimators.choosing.lever import Base, Evidence, Lever, Rule
from setwise.estimators.levers.linear import linear_rule
from setwise.estimators.set_classifier import SetClassifier


@final
@dataclass(frozen=True)
class Stack(Lever):
    """The convex set surrogate of the loss, minimized over linear functions of out-of-fold log-odds.

    For a label matrix each label has a weight for the log-odds of every label, so that labels which depend on each
    other are predicted together. For groups there are weights for the columns of X beside those of the log-odds, if
    all columns are numbers and there are at most 200; columns that a ``TableEncoder`` in front of the base model reads
    as words are left out.

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
    >>> from setwise.estimators.levers import Stack
    >>> X, Y = make_multilabel_classification(100, n_features=5, n_classes=3, random_state=0)
    >>> model = MeasureClassifier(LogisticRegression(), "jaccard", [Stack()], cv=3, random_state=0).fit(X, Y)
    >>> [candidate.lever for candidate in model.candidates_]
    ['threshold', 'stack']
    """

    C: float = 10000.0

    name: ClassVar[str] = "stack"
    many_numbers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_factor(self.C, "C")

    def refuses(self, task: Task, base: Base) -> str | None:
        if task.spans_rows:
            return "stack refuses a loss of all rows as one set, whose convex bound often says nothing: use 'ramp'."
        return None

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        model = SetClassifier(task.loss, "convex", C=self.C, average=task.average)
        return linear_rule(evidence, task, model, rows=not task.is_matrix)
