"""The sum loss of MLSP: the costs of all mistakes together."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.batch import Batch, Sets
from setwise.core.checks import as_flag
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import LABEL_COSTS
from setwise.core.structure import Structure
from setwise.core.terms import CURVATURES, Mistakes, Trait
from setwise.losses.label_costs import as_label_costs, bound_costs, check_label_costs, costs_repr
from setwise.losses.weights import example_weights


@final
@dataclass(frozen=True, eq=False, repr=False)
class SumLoss(Loss):
    """``sum_(i in A) costs_i``, or that over p: the Hamming loss where all costs are 1; in [0, sum of costs].

    The loss is modular: a sum of one cost for each mistake.

    Source: MLSP 3.

    Parameters
    ----------
    costs : lambda, the cost of a mistake on each label: None for 1, numbers (p,), or a function of the truth, as in
        :class:`setwise.losses.MaxLoss`
    normalized : whether the sum is divided by the number of labels of the set

    Raises
    ------
    Refusal : for a batch that is not one of binary decisions
    TypeError : if normalized is not True or False
    ValueError : if a cost is negative, or a set has another number of decisions than there are costs

    Examples
    --------
    >>> from setwise.losses import SumLoss
    >>> SumLoss([5.0, 1.0, 2.0])([1, 1, 0], [1, 0, 1])  # the last two are wrong
    3.0
    >>> SumLoss([5.0, 1.0, 2.0], normalized=True)([1, 1, 0], [1, 0, 1])
    1.0
    """

    costs: Any = None
    normalized: bool = False

    name: ClassVar[str] = "sum"

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", as_label_costs(self.costs))
        as_flag(self.normalized, "normalized")

    @classmethod
    def examples(cls, p: int) -> "list[SumLoss]":
        return [SumLoss(), SumLoss(example_weights(p), True), SumLoss(_dear_positives)]

    @property
    def traits(self) -> frozenset[Trait]:
        modular = CURVATURES | {Trait.INCREASING}
        return modular if callable(self.costs) else modular | {Trait.LABEL_FREE}

    def check(self, batch: Batch) -> None:
        check_label_costs(self.costs, batch, self)

    def bind(self, batch: Any) -> Structure:
        if not isinstance(batch, Sets):
            raise Refusal(
                f"{self!r} refuses {type(batch).__name__}: it has a cost for each binary decision.", LABEL_COSTS
            )
        costs = bound_costs(self.costs, batch)
        return Structure(batch, (Mistakes(costs / np.repeat(batch.sizes, batch.sizes) if self.normalized else costs),))

    def __repr__(self) -> str:
        inner = [costs_repr(self.costs), "normalized" if self.normalized else ""]
        return f"SumLoss({', '.join(part for part in inner if part)})"


def _dear_positives(truth: Any) -> Any:
    """Costs of an example: a missed label costs 1.5, a false one a half."""
    return 0.5 + truth
