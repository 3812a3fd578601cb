"""Mistakes that matter ever less, plus a cost for each."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.checks import as_number, as_weights
from setwise.core.loss import Loss, Values
from setwise.core.sets import Bools, Orders, Sets
from setwise.core.traits import Trait
from setwise.kernels.segments import count_true, segment_sums
from setwise.losses.weights import check_weights, weights_repr


@final
@dataclass(frozen=True, eq=False, repr=False)
class Saturating(Loss):
    """``1 - exp(-alpha |A|) + sum_(i in A) weights_i`` (LH Eq. 53 to 55). Submodular, increasing.

    Parameters
    ----------
    alpha : above 0, how fast the first part saturates
    weights : (p,) non-negative, one for each place, every set must then have p decisions; None leaves the sum out
        (Eq. 54)
    """

    alpha: float = 1.0
    weights: ArrayLike | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", as_number(self.alpha, "alpha", low=0.0, open_low=True))
        if self.weights is not None:
            object.__setattr__(self, "weights", as_weights(self.weights))

    @property
    def traits(self) -> frozenset[Trait]:
        even = self.weights is None or np.ptp(self.weights) == 0
        found = {Trait.INCREASING, Trait.SUBMODULAR, Trait.LABEL_FREE}
        return frozenset(found | ({Trait.COUNTS, Trait.CARDINALITY} if even else set()))

    def check(self, sets: Sets) -> None:
        check_weights(self.weights, sets, self)

    def costs(self, sets: Sets) -> Values:
        return np.zeros(sets.total) if self.weights is None else np.asarray(self.weights)[sets.places]

    @property
    def curved(self) -> Loss:
        return self if self.weights is None else Saturating(self.alpha)

    def values(self, sets: Sets, mistakes: Bools) -> Values:
        size = count_true(mistakes, sets.offsets)
        return -np.expm1(-self.alpha * size) + segment_sums(np.where(mistakes, self.costs(sets), 0.0), sets.offsets)

    def gains(self, sets: Sets, orders: Orders) -> Values:
        rank = np.arange(len(orders.items)) - np.repeat(orders.offsets[:-1], orders.sizes)
        return self._gain(rank) + self.costs(sets)[orders.items]

    def marginals(self, sets: Sets, mistakes: Bools) -> Values:
        size = count_true(mistakes, sets.offsets)
        return np.where(mistakes, 0.0, self._gain(size)[sets.owners] + self.costs(sets))

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        if Trait.COUNTS not in self.traits:
            return super().of_counts(fn, fp, P, N)
        each = 0.0 if self.weights is None else np.asarray(self.weights)[0]
        return -np.expm1(-self.alpha * (fn + fp)) + each * (fn + fp)

    def _gain(self, before: Values) -> Values:
        """``exp(-alpha k) - exp(-alpha (k+1))``."""
        return -np.expm1(-self.alpha) * np.exp(-self.alpha * before)

    def __repr__(self) -> str:
        tail = f", {weights_repr(self.weights)}" if self.weights is not None else ""
        return f"Saturating(alpha={self.alpha:g}{tail})"
