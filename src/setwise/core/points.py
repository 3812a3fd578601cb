"""Points on a grid: each decision is a state, and a term counts the pairs that lie wrong to each other."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Ints, Values
from setwise.core.batch import Batch
from setwise.core.terms import Term
from setwise.core.traits import Trait
from setwise.kernels.paths import misplaced_pairs


@final
@dataclass(frozen=True, eq=False)
class Misplaced(Term):
    """``factor * [some pair lies wrong]``, or with ``share`` ``factor * wrong pairs / all pairs``.

    State v is the point in row ``v // width`` and column ``v % width``. A pair lies wrong if its points are not in the
    true order from top to bottom or from left to right; equal rows, or columns, are an order of their own. Pairs with a
    point whose true state is not known are not counted, and without pairs the value is 0.

    Parameters
    ----------
    width : the number of columns
    factor : what a wrong order is worth
    share : whether each pair counts for itself
    required : whether the value is 0 where all pairs lie right and -inf elsewhere
    """

    width: int
    factor: float = 1.0
    share: bool = False
    required: bool = False

    @property
    def traits(self) -> frozenset[Trait]:
        # Which decisions are wrong does not tell which pairs lie wrong.
        return frozenset()

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        states, truth = labels.astype(np.int64), np.asarray(batch.labels, dtype=np.int64)
        pairs, wrong = misplaced_pairs(states, truth, batch.offsets, self.width).T
        if self.required:
            return np.where(wrong > 0, -np.inf, 0.0)
        return np.asarray(self.factor * (wrong / np.maximum(pairs, 1) if self.share else wrong > 0))

    def scaled(self, factor: float) -> "Misplaced":
        return replace(self, factor=factor * self.factor)

    def merged(self, other: Term) -> Term | None:
        if not isinstance(other, Misplaced):
            return None
        if (self.width, self.share, self.required) != (other.width, other.share, other.required):
            return None
        return replace(self, factor=self.factor + other.factor)

    def take(self, batch: Batch, parts: Ints) -> "Misplaced":
        return self

    def allowed(self, batch: Batch) -> "Misplaced | None":
        return self if self.required else None

    def zero(self, batch: Batch) -> "Misplaced":
        return replace(self, factor=1.0, share=False, required=True)
