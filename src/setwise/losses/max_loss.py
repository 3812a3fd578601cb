"""The max loss of MLSP: the cost of the worst mistake."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.batch import Batch, Sets
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import LABEL_COSTS
from setwise.core.single_labels import Flips
from setwise.core.structure import Structure
from setwise.core.terms import Largest, Trait
from setwise.losses.label_costs import as_label_costs, bound_costs, check_label_costs, costs_repr, flip_costs
from setwise.losses.weights import example_weights


@final
@dataclass(frozen=True, eq=False, repr=False)
class MaxLoss(Loss):
    """``max_(i in A) costs_i``, and 0 for no mistake: the cost of the worst mistake; in [0, max costs].

    It is the 0/1 loss of a set where all costs are 1. It is increasing and submodular, and its margin and slack
    rescaling are maximized exactly in O(p log p). The surrogate of MLSP for it is
    :class:`setwise.surrogates.MultilabelHinge`.

    Source: MLSP 3.

    Parameters
    ----------
    costs : lambda, the cost of a mistake on each label: None for 1; (p,) of 0 or above, where all sets have p labels;
        or a function of the truth (p,) of a set that returns (p,) such numbers, as :class:`setwise.losses.Nearest`.
        Labels that are too many to list take :class:`setwise.losses.NearestHamming` and its like, or None

    Raises
    ------
    Refusal : for a batch whose labels are listed though the costs need a large space, or the other way round
    ValueError : if a cost is negative, or a set has another number of decisions than there are costs

    Examples
    --------
    >>> from setwise.losses import MaxLoss
    >>> MaxLoss([5.0, 1.0, 2.0])([1, 1, 0], [1, 0, 1])  # the last two are wrong
    2.0
    >>> MaxLoss()([1, 1, 0], [1, 0, 1])
    1.0
    """

    costs: Any = None

    name: ClassVar[str] = "max"

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", as_label_costs(self.costs))

    @classmethod
    def examples(cls, p: int) -> "list[MaxLoss]":
        return [MaxLoss(), MaxLoss(example_weights(p)), MaxLoss(np.arange(p) % 3 / 4), MaxLoss(_dear_positives)]

    @property
    def traits(self) -> frozenset[Trait]:
        shapes = {Trait.INCREASING, Trait.SUBMODULAR}
        return frozenset(shapes if callable(self.costs) else shapes | {Trait.LABEL_FREE})

    def check(self, batch: Batch) -> None:
        check_label_costs(self.costs, batch, self)

    def bind(self, batch: Any) -> Structure:
        if isinstance(batch, Flips):
            return Structure(batch, (flip_costs(self.costs),))
        if not isinstance(batch, Sets):
            raise Refusal(
                f"{self!r} refuses {type(batch).__name__}: it has a cost for each binary decision.", LABEL_COSTS
            )
        return Structure(batch, (Largest(bound_costs(self.costs, batch)),))

    def __repr__(self) -> str:
        return f"MaxLoss({costs_repr(self.costs)})"


def _dear_positives(truth: Any) -> Any:
    """Costs of an example: a missed label costs 1, a false one a half."""
    return np.where(truth, 1.0, 0.5)
