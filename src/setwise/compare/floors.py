"""Floors of recall and precision that the labels must keep."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.arrays import Bools
from setwise.estimators.choosing import Task
from setwise.estimators.choosing.lever import Lever


@final
@dataclass(frozen=True)
class Floors:
    """The least recall, or the least precision, at a confidence; None is no floor."""

    recall: float | None = None
    precision: float | None = None
    confidence: float | None = None

    def lever(self) -> Lever:
        """The best threshold that keeps the floors."""
        raise NotImplementedError

    def hold(self, task: Task, labels: Bools) -> bool:
        """Whether labels keep the floors over all rows together."""
        hits = float((task.truth & labels).sum())
        recall, precision = hits / max(task.truth.sum(), 1), hits / max(np.sum(labels), 1)
        return recall >= (self.recall or 0.0) and precision >= (self.precision or 0.0)
