"""The term of the largest cost of the mistakes of each set, and the one that allows one mistake at most."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Ints, Values
from setwise.core.batch import Batch
from setwise.core.cached import cached_property
from setwise.core.sets import Orders, Sets
from setwise.core.terms import Mistakes, MistakesTerm, Term
from setwise.core.traits import Trait
from setwise.kernels.segments import count_true, differences
from setwise.kernels.set_functions import running_maxima, segment_maxima


@final
@dataclass(frozen=True, eq=False)
class Largest(MistakesTerm):
    """``max_(i in A) costs_i``, and 0 for no mistake: increasing and submodular. ``costs`` (total,) are 0 or above."""

    costs: Values

    @cached_property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.SUBMODULAR})

    def check(self, batch: Batch) -> None:
        if np.shape(self.costs) != (batch.total,):
            raise ValueError(f"costs must have shape ({batch.total},), one for each decision; got {self.costs.shape}.")

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        return segment_maxima(self.costs, batch.mistakes(labels), batch.offsets)

    def gains(self, batch: Sets, orders: Orders) -> Values:
        most = running_maxima(self.costs[orders.items], orders.offsets)
        return differences(most, orders.offsets, np.zeros(len(batch)))

    def marginals(self, batch: Sets, labels: NDArray[Any]) -> Values:
        more = np.maximum(self.costs - self.values(batch, labels)[batch.owners], 0.0)
        return np.where(batch.mistakes(labels), 0.0, more)

    def scaled(self, factor: float) -> "Largest":
        return Largest(factor * self.costs)

    def take(self, batch: Batch, parts: Ints) -> "Largest":
        return Largest(self.costs[batch.decisions(parts)])

    def zero(self, batch: Batch) -> Mistakes:
        return Mistakes(np.where(self.costs > 0, -np.inf, 0.0))


@final
@dataclass(frozen=True, eq=False)
class OneMistake(Term):
    """0 on the labelings with one mistake at most, and -inf on all others: the single labels of MLSP (Eq. 6)."""

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset()

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        return np.where(count_true(batch.mistakes(labels), batch.offsets) > 1, -np.inf, 0.0)

    def scaled(self, factor: float) -> "OneMistake":
        return self

    def take(self, batch: Batch, parts: Ints) -> "OneMistake":
        return self

    def merged(self, other: Term) -> Term | None:
        return self if isinstance(other, OneMistake) else None

    def allowed(self, batch: Batch) -> "OneMistake":
        return self
