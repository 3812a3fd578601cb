"""The base model as it is, with its own predictions."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.checks import Bools
from setwise.decisions.task import Task
from setwise.estimators.choosing.lever import Base, Evidence, Lever, Rule


@final
@dataclass(frozen=True)
class AsItIs(Lever):
    """``estimator.predict(X)``, unchanged.

    Source: own; it tells what all else gains.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.levers import AsItIs
    >>> X, y = make_classification(200, 4, weights=[0.8], class_sep=0.5, random_state=0)
    >>> model = MeasureClassifier(LogisticRegression(), "f1", [AsItIs()], cv=3, random_state=0).fit(X, y)
    >>> [candidate.lever for candidate in model.candidates_]
    ['threshold', 'as_it_is']
    """

    name: ClassVar[str] = "as_it_is"

    def refuses(self, task: Task, base: Base) -> str | None:
        return None

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        return OwnLabels()


@final
@dataclass(frozen=True)
class OwnLabels(Rule):
    """The labels that the base model predicts."""

    def labels(self, evidence: Evidence) -> Bools:
        return evidence.response().labels
