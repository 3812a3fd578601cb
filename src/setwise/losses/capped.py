"""A weighted sum of the mistakes that cannot exceed a cap."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import Batch, Orders, Sets
from setwise.core.checks import Bools, Values, as_number, as_weights
from setwise.core.counts import Counts
from setwise.core.loss import Loss
from setwise.core.structure import Structure
from setwise.core.terms import CURVATURES, Mistakes, SetFunction, Trait
from setwise.kernels.segments import differences, running_sums, segment_sums
from setwise.losses.weights import check_weights, example_weights, weights_repr


@final
@dataclass(frozen=True, eq=False, repr=False)
class Capped(Loss):
    """``min(cap, sum_(i in A) weights_i)``: beyond the cap further mistakes cost nothing; in [0, cap].

    The loss is submodular and increasing.

    Source: LH Eq. 52.

    Parameters
    ----------
    weights : (p,) non-negative, one for each position in a set; every set must have p decisions
    cap : above 0; if it is below the sum of the weights, the loss is submodular but not modular

    Raises
    ------
    TypeError : if cap is no number
    ValueError : if a weight is negative, cap is not above 0, or a set has another number of decisions than p

    Examples
    --------
    >>> from setwise.losses import Capped
    >>> loss = Capped([1.0, 0.5, 0.2], cap=1.3)  # the weights and the cap of LH 6.3
    >>> loss([1, 1, 1], [1, 0, 0])  # 0.5 + 0.2
    0.7
    >>> loss([1, 1, 1], [0, 0, 0])  # 1.7 is above the cap
    1.3
    """

    weights: ArrayLike
    cap: float

    name: ClassVar[str] = "capped"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", as_weights(self.weights))
        object.__setattr__(self, "cap", as_number(self.cap, "cap", low=0.0, open_low=True))

    @classmethod
    def examples(cls, p: int) -> "list[Capped]":
        weights = example_weights(p)
        return [Capped(weights, 1.5), Capped(weights, 1e3), Capped(np.full(p, 0.5), 0.75)]

    @property
    def traits(self) -> frozenset[Trait]:
        found = {Trait.INCREASING, Trait.SUBMODULAR, Trait.LABEL_FREE}
        # With equal weights the loss depends on the number of mistakes alone.
        if np.ptp(self.weights) == 0:
            found |= {Trait.COUNTS, Trait.CARDINALITY}
        # A cap that is never exceeded leaves a modular sum.
        if np.sum(self.weights) <= self.cap:
            found |= CURVATURES
        return frozenset(found)

    def check(self, batch: Batch) -> None:
        check_weights(self.weights, batch, self)

    def bind(self, batch: Sets) -> Structure:
        # The simplest term that holds the loss is chosen, because it has the fastest inference.
        weights = np.asarray(self.weights)
        if Trait.MODULAR in self.traits:
            return Structure(batch, (Mistakes(weights[batch.places]),))
        if Trait.CARDINALITY in self.traits:
            return Structure(
                batch, (Counts(((1.0, self._of_counts),), batch.count(1), batch.count(0), self.traits, diluted=True),)
            )
        return Structure(batch, (SetFunction(self._values, self.traits, self._gains, self._marginals),))

    def _of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        # All weights are equal here, so the first one stands for each.
        cost: Values = np.asarray(self.weights)[0] * (fn + fp)
        return np.minimum(cost, self.cap)

    def _values(self, sets: Sets, mistakes: Bools) -> Values:
        return np.minimum(self._sums(sets, mistakes), self.cap)

    def _gains(self, sets: Sets, orders: Orders) -> Values:
        sums = running_sums(np.asarray(self.weights)[sets.places[orders.items]], orders.offsets)
        return differences(np.minimum(sums, self.cap), orders.offsets, np.zeros(len(sets)))

    def _marginals(self, sets: Sets, mistakes: Bools) -> Values:
        # One more mistake adds its weight, or what is left up to the cap.
        room = np.maximum(self.cap - self._sums(sets, mistakes), 0.0)
        return np.where(mistakes, 0.0, np.minimum(np.asarray(self.weights)[sets.places], room[sets.owners]))

    def _sums(self, sets: Sets, mistakes: Bools) -> Values:
        return segment_sums(np.where(mistakes, np.asarray(self.weights)[sets.places], 0.0), sets.offsets)

    def __repr__(self) -> str:
        return f"Capped({weights_repr(self.weights)}, cap={self.cap:g})"
