"""Hamming loss: the sum of the mistakes."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.checks import as_weights
from setwise.core.loss import Loss, Values
from setwise.core.sets import Bools, Orders, Sets
from setwise.core.traits import Trait
from setwise.kernels.segments import segment_sums
from setwise.losses.weights import check_weights, weights_repr


@final
@dataclass(frozen=True, eq=False, repr=False)
class Hamming(Loss):
    """``sum_(i in A) weights_i``, or the number of mistakes where ``weights`` is None. Modular; in [0, sum of weights].

    Its Lovász hinge and its margin rescaling are both the sum of hinges of an SVM (LH Prop. 7).

    Parameters
    ----------
    weights : (p,) non-negative, one for each place; every set must then have p decisions
    """

    weights: ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.weights is not None:
            object.__setattr__(self, "weights", as_weights(self.weights))

    @property
    def traits(self) -> frozenset[Trait]:
        modular = {Trait.INCREASING, Trait.MODULAR, Trait.SUBMODULAR, Trait.SUPERMODULAR, Trait.LABEL_FREE}
        even = self.weights is None or np.ptp(self.weights) == 0
        return frozenset(modular | ({Trait.COUNTS, Trait.CARDINALITY} if even else set()))

    def check(self, sets: Sets) -> None:
        check_weights(self.weights, sets, self)

    def costs(self, sets: Sets) -> Values:
        return np.ones(sets.total) if self.weights is None else np.asarray(self.weights)[sets.places]

    @property
    def curved(self) -> None:
        return None

    def values(self, sets: Sets, mistakes: Bools) -> Values:
        return segment_sums(np.where(mistakes, self.costs(sets), 0.0), sets.offsets)

    def gains(self, sets: Sets, orders: Orders) -> Values:
        return np.ones(len(orders.items)) if self.weights is None else self.costs(sets)[orders.items]

    def marginals(self, sets: Sets, mistakes: Bools) -> Values:
        return np.where(mistakes, 0.0, self.costs(sets))

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        if Trait.COUNTS not in self.traits:
            return super().of_counts(fn, fp, P, N)
        return (1.0 if self.weights is None else np.asarray(self.weights)[0]) * (fn + fp)

    def __repr__(self) -> str:
        return f"Hamming({weights_repr(self.weights)})"
