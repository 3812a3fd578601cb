"""Losses of counts in which each decision stands for an area, such as a superpixel or a group of cells."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.batch import Batch
from setwise.core.checks import as_areas
from setwise.core.counts import Counts
from setwise.core.exceptions import Refusal
from setwise.core.loss import CountLoss, Loss
from setwise.core.pages import QUOTIENTS
from setwise.core.structure import Structure
from setwise.core.terms import SHAPES, Mistakes, Trait
from setwise.losses.balanced_error import BalancedError
from setwise.losses.f_beta import FBeta
from setwise.losses.hamming import Hamming
from setwise.losses.inner import inner_loss, is_quotient
from setwise.losses.jaccard import Jaccard
from setwise.losses.weights import check_weights, example_weights, weights_repr


@final
@dataclass(frozen=True, eq=False, repr=False)
class AreaWeighted(Loss):
    """``f(fn, fp, P, N)`` of areas instead of counts: ``fn`` is the area of the false negatives, and so on.

    The loss f must be Hamming or a quotient of linear functions of the counts, as Jaccard, F_beta, Tversky and the
    error rate are. The value is the loss of the single pixels if all pixels of an area share one decision; its range,
    and what it is for sets without positives, are those of f. The loss is increasing and submodular where f is. Margin
    rescaling is maximized with a bound, by a fractional relaxation, or greedily for Tversky with beta > 1, and on
    graphs by dual decomposition; it is exact where f is a sum of costs.

    Source: DD 4.1.

    Parameters
    ----------
    loss : f, or its name
    areas : (p,) above 0, one for each position in a set, where all sets have p decisions; or (total,), one for each
        decision of the one batch to which this loss is bound, whose sets may have any sizes

    Raises
    ------
    Refusal : if the loss is no quotient of linear functions of the counts, so that areas have no meaning for it
    TypeError : if the loss is neither a loss nor its name
    ValueError : if there is no loss of this name, an area is not above 0, or a set has another number of decisions

    Examples
    --------
    >>> from setwise.losses import AreaWeighted
    >>> loss = AreaWeighted("jaccard", areas=[9, 1, 5])
    >>> # An area of 1 is wrong, of 10 that are positive or predicted.
    >>> loss([1, 0, 0], [1, 1, 0])
    0.1
    >>> loss([1, 0, 0], [0, 0, 0])  # nothing is found
    1.0
    """

    loss: Loss
    areas: Any

    name: ClassVar[str] = "area_weighted"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", inner_loss(self.loss))
        object.__setattr__(self, "areas", as_areas(self.areas))
        plain = isinstance(self.loss, Hamming) and self.loss.weights is None
        if not plain and not is_quotient(self.loss):
            why = "it is not a quotient of linear functions of the counts, so areas have no meaning for it"
            raise Refusal(
                f"AreaWeighted refuses {self.loss!r}: {why}. Use Jaccard, FBeta, Tversky, ErrorRate or Hamming.",
                QUOTIENTS,
            )

    @classmethod
    def examples(cls, p: int) -> "list[AreaWeighted]":
        areas = example_weights(p) + 0.25
        inner = (Jaccard(), FBeta(), FBeta(zero_division=0.3), Hamming())
        return [*(AreaWeighted(loss, areas) for loss in inner), AreaWeighted(BalancedError(), areas / 100)]

    @property
    def traits(self) -> frozenset[Trait]:
        # With areas the value is no longer a function of counts alone, so only the traits of the shape are left.
        return self.loss.traits & {*SHAPES, Trait.LABEL_FREE}

    @property
    def denied(self) -> frozenset[Trait]:
        return self.loss.denied

    def of_one_batch(self, batch: Batch) -> bool:
        return len(batch) > 1 and batch.total == len(self.areas)

    def check(self, batch: Batch) -> None:
        if batch.total != len(self.areas):
            check_weights(self.areas, batch, self)

    def bind(self, batch: Any) -> Structure:
        flat = np.asarray(self.areas)
        areas = flat if batch.total == len(flat) else flat[batch.places]
        if isinstance(self.loss, Hamming):
            return Structure(batch, (Mistakes(areas),))
        P, N = batch.count(1, areas), batch.count(0, areas)
        assert isinstance(self.loss, CountLoss)
        # The formula and its coefficients hold for areas too, because both sides of the quotient are linear.
        formulas, quotient = ((1.0, self.loss.of_counts),), self.loss.quotient(P, N)
        assert quotient is not None
        top, bottom = quotient
        if not bottom[:, 1:].any() and not top[:, 0].any():
            # A constant denominator makes the loss a sum of costs.
            miss, alarm = (top[:, 1:] / bottom[:, :1]).T
            cost = np.where(batch.truth, miss[batch.owners], alarm[batch.owners])
            return Structure(batch, (Mistakes(cost * areas),))
        return Structure(batch, (Counts(formulas, P, N, self.traits, areas, quotient),))

    def __repr__(self) -> str:
        return f"AreaWeighted({self.loss!r}, {weights_repr(self.areas).replace('weights', 'areas')})"
