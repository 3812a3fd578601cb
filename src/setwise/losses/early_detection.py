"""Early detection: mistakes early in a sequence cost more than late ones."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.checks import as_weights
from setwise.core.loss import Loss, Values
from setwise.core.sets import Bools, Orders, Sets
from setwise.core.traits import Trait
from setwise.kernels.early_detection import prefix_gains, prefix_marginals, prefix_values
from setwise.losses.weights import check_weights


@final
@dataclass(frozen=True, eq=False, repr=False)
class EarlyDetection(Loss):
    """``sum_i gamma_i min(|A ∩ {1..i}|, i / 2)``: mistakes up to each time i, capped at half of it (LH Eq. 50-51).

    Decisions are in time order inside their set. A positive sum of capped counts: submodular and increasing.
    Gains along an order cost O(p log p).

    Parameters
    ----------
    gamma : (p,) non-negative weights of the times; None means ``exp(-i)``, i = 1..p, for sets of any length
    """

    gamma: ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.gamma is not None:
            object.__setattr__(self, "gamma", as_weights(self.gamma, "gamma"))

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.SUBMODULAR, Trait.LABEL_FREE})

    def check(self, sets: Sets) -> None:
        check_weights(self.gamma, sets, self)

    def values(self, sets: Sets, mistakes: Bools) -> Values:
        return prefix_values(mistakes, sets.offsets, self._weights(sets))

    def gains(self, sets: Sets, orders: Orders) -> Values:
        return prefix_gains(orders.items, orders.offsets, sets.offsets, self._weights(sets))

    def marginals(self, sets: Sets, mistakes: Bools) -> Values:
        return prefix_marginals(mistakes, sets.offsets, self._weights(sets))

    def _weights(self, sets: Sets) -> Values:
        if self.gamma is not None:
            return np.asarray(self.gamma)
        return np.exp(-np.arange(1.0, float(sets.sizes.max()) + 1.0))

    def __repr__(self) -> str:
        return "EarlyDetection()" if self.gamma is None else f"EarlyDetection(gamma=<{np.size(self.gamma)} weights>)"
