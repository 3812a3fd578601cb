"""The base model as it is, with its own predictions."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.arrays import Bools
from setwise.decisions.task import Task
from setwise.estimators.choosing.lever import Base, Evidence, Lever, Rule


@final
@dataclass(frozen=True)
class AsItIs(Lever):
    """``estimator.predict(X)``, unchanged."""

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
