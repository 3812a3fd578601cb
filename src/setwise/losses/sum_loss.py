"""The sum loss of MLSP: the costs of all mistakes together."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.batch import Batch
from setwise.core.checks import as_flag
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.core.structure import Structure
from setwise.core.terms import Mistakes
from setwise.core.traits import CURVATURES, Trait
from setwise.losses.label_costs import as_label_costs, bound_costs, check_label_costs, costs_repr
from setwise.losses.weights import example_weights


@final
@dataclass(frozen=True, eq=False, repr=False)
class SumLoss(Loss):
    """``sum_(i in A) costs_i`` (MLSP 3), or that over p: the Hamming loss where all costs are 1. It is modular.

    Parameters
    ----------
    costs : lambda, the cost of a mistake on each label, as in :class:`setwise.losses.MaxLoss`
    normalized : whether the sum is divided by the number of labels of the set
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
            raise Refusal(f"{self!r} refuses {type(batch).__name__}: it has a cost for each binary decision.")
        costs = bound_costs(self.costs, batch)
        return Structure(batch, (Mistakes(costs / np.repeat(batch.sizes, batch.sizes) if self.normalized else costs),))

    def __repr__(self) -> str:
        inner = [costs_repr(self.costs), "normalized" if self.normalized else ""]
        return f"SumLoss({', '.join(part for part in inner if part)})"


def _dear_positives(truth: Any) -> Any:
    """Costs of an example: a missed label costs 1.5, a false one a half."""
    return 0.5 + truth
