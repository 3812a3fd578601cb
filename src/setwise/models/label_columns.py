"""One weight vector for each label; the column of a label over all rows is one set."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.model import Floats, Model
from setwise.core.sets import Ints, Sets


@final
@dataclass(frozen=True, eq=False)
class Columns:
    """Features ``X`` (n, d) and the ``labels`` (k,) whose columns are scored from them."""

    X: Any
    labels: NDArray[np.int64]


@final
@dataclass(frozen=True)
class LabelColumns(Model):
    """``S = X W^T + intercept b``, flat by columns: set j is the column of label j, scored by ``W_j, b_j``.

    Weights as in :class:`setwise.models.MultiLabel`. Features come as :class:`Columns`.
    """

    p: int
    intercept: float = 1.0

    def size(self, X: Columns) -> int:
        return self.p * (int(X.X.shape[1]) + bool(self.intercept))

    def scores(self, X: Columns, w: Floats) -> Floats:
        W = w.reshape(self.p, -1)[X.labels]
        S = X.X @ W[:, :-1].T + self.intercept * W[:, -1] if self.intercept else X.X @ W.T
        return np.ascontiguousarray(np.asarray(S).T).ravel()

    def pullback(self, X: Columns, gradient: Floats) -> Floats:
        slopes = np.zeros((self.p, int(X.X.shape[1]) + bool(self.intercept)))
        slopes[X.labels] = self._slopes(X, gradient)
        return slopes.ravel()

    def pullbacks(self, X: Columns, gradient: Floats, sets: Sets) -> Floats:
        slopes = np.zeros((len(sets), self.p, int(X.X.shape[1]) + bool(self.intercept)))
        slopes[np.arange(len(sets)), X.labels] = self._slopes(X, gradient)
        return slopes.reshape(len(sets), -1)

    def take(self, X: Columns, sets: Sets, parts: Ints) -> Columns:
        return Columns(X.X, X.labels[parts])

    def _slopes(self, X: Columns, gradient: Floats) -> Floats:
        G = gradient.reshape(len(X.labels), -1)
        slopes = np.asarray((X.X.T @ G.T).T)
        return np.column_stack([slopes, self.intercept * G.sum(axis=1)]) if self.intercept else slopes
