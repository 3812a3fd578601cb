"""A maximizer that keeps the best labeling of each set that it has found, and gives it up for better ones alone."""

from typing import final

import numpy as np

from setwise.core.checks import Floats, Ints, Values
from setwise.core.inference import Maximizer, Solutions


@final
class Kept(Maximizer):
    """What ``inner`` finds, or what this maximizer returned last where that has the larger value (HOL 4.1).

    A completion that is not certified may be worse than the one before it. Kept in this way its value never falls below
    what the last labeling has, so the tangent of a step stays below the function that the next step sees, and
    alternation between completions and weights descends. The bounds are those of ``inner``.

    Parameters
    ----------
    inner : any maximizer without slack rescaling
    """

    def __init__(self, inner: Maximizer) -> None:
        batch = inner.structure.batch
        self.method, self.structure, self.slack, self._inner = inner.method, inner.structure, inner.slack, inner
        self._memory = np.zeros(batch.total, dtype=np.int64)
        self._filled = np.zeros(len(batch), dtype=bool)
        self._sets: Ints = np.arange(len(batch))
        self._places: Ints = np.arange(batch.total)

    def take(self, parts: Ints) -> "Kept":
        chosen = Kept(self._inner.take(parts))
        # The parts remember in the arrays of the whole.
        chosen._memory, chosen._filled = self._memory, self._filled
        chosen._sets, chosen._places = self._sets[parts], self._places[self.structure.batch.decisions(parts)]
        return chosen

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        found, batch = self._inner.solve(scores, tol), self.structure.batch
        former, filled = self._memory[self._places], self._filled[self._sets]
        values = np.where(filled, self.structure.values(former) + batch.won(scores, former), -np.inf)
        better = values > found.values
        labels = np.where(better[batch.owners], former, found.labels).astype(found.labels.dtype)
        self._memory[self._places], self._filled[self._sets] = labels, True
        values = np.maximum(values, found.values)
        return Solutions(labels, values, np.maximum(found.bounds, values), found.exact)
