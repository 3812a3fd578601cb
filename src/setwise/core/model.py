"""A model: what turns features and weights into scores, linearly in the weights."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.core.sets import Ints, Sets

Floats = NDArray[np.float64]


class Model(ABC):
    """Scores ``s = Phi(x) w`` and their adjoint. ``X`` is a dense (rows, features) float64 array or a CSR matrix."""

    @abstractmethod
    def size(self, X: Any) -> int:
        """Number ``d`` of weights."""

    @abstractmethod
    def scores(self, X: Any, w: Floats) -> Floats:
        """``Phi(x) w``, flat (total,), in the order of the decisions."""

    @abstractmethod
    def pullback(self, X: Any, gradient: Floats) -> Floats:
        """``Phi(x)^T g``, (d,): the adjoint of :meth:`scores`."""

    @abstractmethod
    def pullbacks(self, X: Any, gradient: Floats, sets: Sets) -> Floats:
        """The same for each set on its own, (n, d)."""

    @abstractmethod
    def take(self, X: Any, sets: Sets, parts: Ints) -> Any:
        """The rows of ``X`` that the chosen sets need."""
