"""Losses of counts where a decision stands for an area: superpixels of different size, grouped cells."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.batch import Batch
from setwise.core.checks import as_areas
from setwise.core.count_loss import CountLoss
from setwise.core.counts import Counts
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.core.structure import Structure
from setwise.core.traits import SHAPES, Trait
from setwise.losses.balanced_error import BalancedError
from setwise.losses.f_beta import FBeta
from setwise.losses.inner import inner_loss, is_quotient
from setwise.losses.jaccard import Jaccard
from setwise.losses.weights import check_weights, example_weights, weights_repr


@final
@dataclass(frozen=True, eq=False, repr=False)
class AreaWeighted(Loss):
    """``f(fn, fp, P, N)`` with areas instead of counts: ``fn`` is the area of wrong positives, and so on (DD 4.1).

    The loss f must be a quotient of linear functions of the counts: Jaccard, F_beta, Tversky, error rate. The result is
    the loss of the single pixels when all pixels of an area share one decision. It is increasing and submodular where f
    is. Margin rescaling has a bound by the fractional relaxation; for Tversky with beta > 1 it is greedy.

    Parameters
    ----------
    loss : f, or its name
    areas : (p,) above 0, one for each place; every set must have p decisions
    """

    loss: CountLoss
    areas: Any

    name: ClassVar[str] = "area_weighted"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", inner_loss(self.loss))
        object.__setattr__(self, "areas", as_areas(self.areas))
        if not is_quotient(self.loss):
            why = "it is not a quotient of linear functions of the counts, so areas have no meaning for it"
            raise Refusal(f"AreaWeighted refuses {self.loss!r}: {why}. Use Jaccard, FBeta, Tversky or ErrorRate.")

    @classmethod
    def examples(cls, p: int) -> "list[AreaWeighted]":
        areas = example_weights(p) + 0.25
        inner = (Jaccard(), FBeta(), FBeta(zero_division=0.3))
        return [*(AreaWeighted(loss, areas) for loss in inner), AreaWeighted(BalancedError(), areas / 100)]

    @property
    def traits(self) -> frozenset[Trait]:
        return self.loss.traits & set(SHAPES)

    @property
    def denied(self) -> frozenset[Trait]:
        return self.loss.denied

    def check(self, batch: Batch) -> None:
        check_weights(self.areas, batch, self)

    def bind(self, batch: Sets) -> Structure:
        areas = np.asarray(self.areas)[batch.places]
        P, N = batch.count(1, areas), batch.count(0, areas)
        formulas, quotient = ((1.0, self.loss.of_counts),), self.loss.quotient(P, N)
        return Structure(batch, (Counts(formulas, P, N, self.traits, areas, quotient),))

    def __repr__(self) -> str:
        return f"AreaWeighted({self.loss!r}, {weights_repr(self.areas).replace('weights', 'areas')})"
