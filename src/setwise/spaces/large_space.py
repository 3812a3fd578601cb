"""What spaces share whose labels are too many to list, or are others for each input."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from setwise.core.arrays import Ints, Values
from setwise.core.batch import Batch
from setwise.core.features import Features
from setwise.core.inference import Solution
from setwise.core.structure import Structure
from setwise.inference.auto import Auto


class LargeSpace(ABC):
    """Labels with a layout of scores, a linear model of them, and a search for the best labels of an input."""

    @abstractmethod
    def bind(self, X: Any, Y: Any = None, constant: float = 1.0) -> tuple[Batch, Features]:
        """The layout of n inputs with their right labels, and the model of its scores.

        Parameters
        ----------
        X : the inputs
        Y : the right labels of each input, a list of n collections that may be empty; None where none is known
        constant : the value of a feature that all labels have, 0 for none
        """

    @abstractmethod
    def decode(self, label: Ints) -> Any:
        """What the user calls a label that is written as whole numbers (width,)."""

    def best(self, batch: Batch, scores: Values, limit: int, threshold: float = -np.inf) -> list[list[Solution]]:
        """The labels of each input with scores above ``threshold``, best first, and at most ``limit`` of them.

        ``batch`` has no right labels. The numbers of labels are written plus one.
        """
        found = Auto().prepare(Structure(batch))
        return found.k_best(scores, limit) if threshold == -np.inf else found.above(scores, threshold, limit)
