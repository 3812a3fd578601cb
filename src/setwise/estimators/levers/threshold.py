"""One threshold for all scores, at which the loss is least."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.arrays import Bools
from setwise.decisions import best_threshold
from setwise.decisions.task import Task
from setwise.estimators.choosing.lever import Base, Evidence, Lever, Rule


@final
@dataclass(frozen=True)
class Threshold(Lever):
    """``[score >= t]`` with the t of least mean loss on out-of-fold scores, among all cut points.

    This is the reference: the other levers must gain over it.
    """

    name: ClassVar[str] = "threshold"

    def refuses(self, task: Task, base: Base) -> str | None:
        return None

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        return AtThreshold(best_threshold(task.sets, task.flat(evidence.response().scores), task.loss).threshold)


@final
@dataclass(frozen=True)
class AtThreshold(Rule):
    """``[score >= at]`` for the scores of the base model.

    Parameters
    ----------
    at : the threshold; inf predicts no positive, -inf all
    weight : the weight of positive rows in the base model
    """

    at: float
    weight: float = 1.0

    @property
    def threshold(self) -> float:
        return self.at

    def labels(self, evidence: Evidence) -> Bools:
        return evidence.response(self.weight).scores >= self.at
