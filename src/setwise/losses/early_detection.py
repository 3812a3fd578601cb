"""The loss of early detection: mistakes that are made early in a sequence cost more than late ones."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import Batch, Orders, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Values, as_weights
from setwise.core.loss import Loss
from setwise.core.terms import SetFunction, Trait
from setwise.kernels.set_functions import prefix_gains, prefix_marginals, prefix_values
from setwise.losses.functions import check_weights, example_weights


@final
@dataclass(frozen=True, eq=False, repr=False)
class EarlyDetection(Loss):
    """``sum_i gamma_i min(|A ∩ {1..i}|, i / 2)``: the mistakes up to each time i, at most i / 2.

    The decisions of a set are in the order of time, and an early mistake counts at all later times. The loss is in [0,
    sum_i gamma_i i / 2]. It is a positive sum of capped counts, so it is submodular and increasing. Gains along an
    order cost O(p log p).

    Source: LH Eq. 50-51.

    Parameters
    ----------
    gamma : (p,) non-negative weights of the times i = 1..p; None means ``exp(-i)``, for sets of any length

    Raises
    ------
    ValueError : if a weight is negative, or a set has another number of decisions than there are weights

    Examples
    --------
    >>> from setwise.losses import EarlyDetection
    >>> loss = EarlyDetection(gamma=[1, 1, 1, 1])
    >>> loss([0, 0, 0, 0], [1, 0, 0, 0])  # a mistake at once: 1/2 + 1 + 1 + 1
    3.5
    >>> loss([0, 0, 0, 0], [0, 0, 0, 1])  # a mistake at the end
    1.0
    """

    gamma: ArrayLike | None = None

    name: ClassVar[str] = "early_detection"
    traits = frozenset({Trait.INCREASING, Trait.SUBMODULAR, Trait.LABEL_FREE})

    def __post_init__(self) -> None:
        if self.gamma is not None:
            object.__setattr__(self, "gamma", as_weights(self.gamma, "gamma"))

    @classmethod
    def examples(cls, p: int) -> "list[EarlyDetection]":
        return [EarlyDetection(), EarlyDetection(example_weights(p))]

    def check(self, batch: Batch) -> None:
        check_weights(self.gamma, batch, self)

    def _bind(self, batch: Sets) -> BoundLoss:
        if self.gamma is None:
            # The weights of a short set are the first weights of the longest one.
            gamma = np.exp(-np.arange(1.0, float(batch.sizes.max()) + 1.0))
        else:
            gamma = np.asarray(self.gamma)

        def values(sets: Sets, mistakes: Bools) -> Values:
            return prefix_values(mistakes, sets.offsets, gamma)

        def gains(sets: Sets, orders: Orders) -> Values:
            return prefix_gains(orders.items, orders.offsets, sets.offsets, gamma)

        def marginals(sets: Sets, mistakes: Bools) -> Values:
            return prefix_marginals(mistakes, sets.offsets, gamma)

        return BoundLoss(batch, (SetFunction(values, self.traits, gains, marginals),))

    def __repr__(self) -> str:
        return "EarlyDetection()" if self.gamma is None else f"EarlyDetection(gamma=<{np.size(self.gamma)} weights>)"
