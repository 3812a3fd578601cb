"""Floors of recall and precision that the threshold must keep."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.arrays import Bools
from setwise.core.refusal import Refusal
from setwise.decisions import Floor, UnmetFloor, constrained_threshold
from setwise.decisions.task import Task
from setwise.estimators.choosing.lever import Base, Evidence, Lever, Rule
from setwise.estimators.levers.threshold import AtThreshold


@final
@dataclass(frozen=True)
class FlooredThreshold(Lever):
    """``[score >= t]`` with the t of least mean loss among those that keep the floors on out-of-fold scores.

    Parameters
    ----------
    recall, precision : the least recall and the least precision over all rows together; None is no floor
    confidence : a number in (0, 1) with which the floors are to hold on new rows; None compares the shares themselves
    """

    recall: float | None = None
    precision: float | None = None
    confidence: float | None = None

    name: ClassVar[str] = "threshold"

    def __post_init__(self) -> None:
        if not self.floors:
            raise ValueError("a floor must be given, of recall or of precision; got neither.")

    @property
    def floors(self) -> tuple[Floor, ...]:
        """The floors that are given."""
        given = (("recall", self.recall), ("precision", self.precision))
        return tuple(Floor(measure, least, self.confidence) for measure, least in given if least is not None)  # type: ignore[arg-type]

    @property
    def words(self) -> str:
        """The floors in words."""
        sure = "" if self.confidence is None else f" with confidence {self.confidence:g}"
        return " and ".join(f"a {floor.measure} of at least {floor.least:g}" for floor in self.floors) + sure

    def refuses(self, task: Task, base: Base) -> str | None:
        """Label matrices are refused."""
        return "a floor is for one label a row, and the target is a label matrix." if task.is_matrix else None

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        """The threshold; Refusal where none keeps the floors."""
        scores = task.flat(evidence.response().scores)
        try:
            return AtThreshold(constrained_threshold(task.sets, scores, task.loss, self.floors).threshold)
        except UnmetFloor as sentence:
            raise Refusal(str(sentence)) from None

    def hold(self, task: Task, labels: Bools) -> bool:
        """Whether labels keep the floors, without the confidence, over all rows together."""
        hits = float((task.truth & labels).sum())
        recall, precision = hits / max(int(task.truth.sum()), 1), hits / max(int(np.sum(labels)), 1)
        return recall >= (self.recall or 0.0) and precision >= (self.precision or 0.0)
