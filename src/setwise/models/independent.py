"""One weight vector scores every decision from its own row of features."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.sparse import issparse

from setwise.core.model import Floats, Model
from setwise.core.sets import Ints, Sets


@final
@dataclass(frozen=True)
class Independent(Model):
    """``s_i = <w, x_i> + intercept b``: row i of ``X`` (rows, features) is decision i.

    ``intercept`` is the value of a constant feature, whose weight b comes last and is regularized like the others; the
    larger the value, the less. 0 leaves it out.
    """

    intercept: float = 1.0

    def size(self, X: Any) -> int:
        return int(X.shape[1]) + bool(self.intercept)

    def scores(self, X: Any, w: Floats) -> Floats:
        return X @ w[:-1] + self.intercept * w[-1] if self.intercept else X @ w

    def pullback(self, X: Any, gradient: Floats) -> Floats:
        slope = X.T @ gradient
        return np.append(slope, self.intercept * gradient.sum()) if self.intercept else slope

    def pullbacks(self, X: Any, gradient: Floats, sets: Sets) -> Floats:
        scaled = X.multiply(gradient[:, None]).toarray() if issparse(X) else X * gradient[:, None]
        if self.intercept:
            scaled = np.column_stack([scaled, self.intercept * gradient])
        return np.add.reduceat(scaled, sets.offsets[:-1], axis=0)

    def take(self, X: Any, sets: Sets, parts: Ints) -> Any:
        return X[sets.take(parts)[1]]
