"""One weight vector for each label scores the rows of a label matrix."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.sparse import issparse

from setwise.core.model import Floats, Model
from setwise.core.sets import Ints, Sets


@final
@dataclass(frozen=True)
class MultiLabel(Model):
    """``S = X W^T + intercept b``, flat by rows, (n p,); label j has the weights ``W_j, b_j``.

    Set i is row i of the label matrix (n, p), or the whole matrix is one set.

    ``w`` holds the rows of ``[W | b]`` one after another, (p * (features + 1),), or of ``W`` where
    ``intercept``, the value of a constant feature as in :class:`setwise.models.Independent`, is 0.
    """

    p: int
    intercept: float = 1.0

    def size(self, X: Any) -> int:
        return self.p * (int(X.shape[1]) + bool(self.intercept))

    def scores(self, X: Any, w: Floats) -> Floats:
        W = w.reshape(self.p, -1)
        S = X @ W[:, :-1].T + self.intercept * W[:, -1] if self.intercept else X @ W.T
        return np.ascontiguousarray(S).ravel()

    def pullback(self, X: Any, gradient: Floats) -> Floats:
        G = gradient.reshape(-1, self.p)
        slope = (X.T @ G).T
        if self.intercept:
            slope = np.column_stack([slope, self.intercept * G.sum(axis=0)])
        return np.ascontiguousarray(slope).ravel()

    def pullbacks(self, X: Any, gradient: Floats, sets: Sets) -> Floats:
        if len(sets) == 1:
            return self.pullback(X, gradient)[None, :]
        rows = X.toarray() if issparse(X) else X
        if self.intercept:
            rows = np.column_stack([rows, np.full(len(rows), self.intercept)])
        return (gradient.reshape(-1, self.p)[:, :, None] * rows[:, None, :]).reshape(len(sets), -1)

    def take(self, X: Any, sets: Sets, parts: Ints) -> Any:
        return X[parts]
