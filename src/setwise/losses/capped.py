"""A weighted sum of mistakes under a cap."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.checks import as_number, as_weights
from setwise.core.loss import Loss, Values
from setwise.core.sets import Bools, Orders, Sets
from setwise.core.traits import Trait
from setwise.kernels.segments import running_sums, segment_sums, steps
from setwise.losses.weights import check_weights, weights_repr


@final
@dataclass(frozen=True, eq=False, repr=False)
class Capped(Loss):
    """``min(cap, sum_(i in A) weights_i)``: once much is wrong, more is no matter (LH Eq. 52). Submodular, increasing.

    Parameters
    ----------
    weights : (p,) non-negative, one for each place; every set must have p decisions
    cap : above 0; below the sum of the weights the loss is strictly submodular
    """

    weights: ArrayLike
    cap: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", as_weights(self.weights))
        object.__setattr__(self, "cap", as_number(self.cap, "cap", low=0.0, open_low=True))

    @property
    def traits(self) -> frozenset[Trait]:
        found = {Trait.INCREASING, Trait.SUBMODULAR, Trait.LABEL_FREE}
        if np.ptp(self.weights) == 0:
            found |= {Trait.COUNTS, Trait.CARDINALITY}
        if np.sum(self.weights) <= self.cap:
            found |= {Trait.MODULAR, Trait.SUPERMODULAR}
        return frozenset(found)

    def check(self, sets: Sets) -> None:
        check_weights(self.weights, sets, self)

    def values(self, sets: Sets, mistakes: Bools) -> Values:
        return np.minimum(self._sums(sets, mistakes), self.cap)

    def gains(self, sets: Sets, orders: Orders) -> Values:
        sums = running_sums(np.asarray(self.weights)[sets.places[orders.items]], orders.offsets)
        return steps(np.minimum(sums, self.cap), orders.offsets, np.zeros(len(sets)))

    def marginals(self, sets: Sets, mistakes: Bools) -> Values:
        room = np.maximum(self.cap - self._sums(sets, mistakes), 0.0)
        return np.where(mistakes, 0.0, np.minimum(np.asarray(self.weights)[sets.places], room[sets.owners]))

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        if Trait.COUNTS not in self.traits:
            return super().of_counts(fn, fp, P, N)
        return np.minimum(np.asarray(self.weights)[0] * (fn + fp), self.cap)

    def _sums(self, sets: Sets, mistakes: Bools) -> Values:
        return segment_sums(np.where(mistakes, np.asarray(self.weights)[sets.places], 0.0), sets.offsets)

    def __repr__(self) -> str:
        return f"Capped({weights_repr(self.weights)}, cap={self.cap:g})"
