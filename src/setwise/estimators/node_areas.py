"""Losses of counts in which each node of the sets stands for its own area."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.arrays import Ints, Values
from setwise.core.batch import Batch
from setwise.core.count_loss import CountLoss
from setwise.core.counts import Counts
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.core.structure import Structure
from setwise.core.terms import Mistakes
from setwise.core.traits import SHAPES, Trait
from setwise.losses.hamming import Hamming
from setwise.losses.inner import is_quotient
from setwise.losses.mean_over_classes import MeanOverClasses
from setwise.losses.one_class import OneClass


@final
@dataclass(frozen=True, eq=False, repr=False)
class NodeAreas(Loss):
    """``f(fn, fp, P, N)`` of areas instead of counts, as :class:`setwise.losses.AreaWeighted` for sets of any size.

    Parameters
    ----------
    loss : ``Hamming()``, or a quotient of linear functions of the counts; others are refused
    areas : (total,) the areas of all decisions of the one batch to which this loss can be bound
    """

    loss: Loss
    areas: Values

    name: ClassVar[str] = "node_areas"

    def __post_init__(self) -> None:
        plain = isinstance(self.loss, Hamming) and self.loss.weights is None
        if not plain and not is_quotient(self.loss):
            raise Refusal(
                f"graphs with areas refuse {self.loss!r}: it is not a quotient of linear functions of the counts. "
                "Use Jaccard, FBeta, Tversky, ErrorRate or Hamming, or graphs without areas."
            )

    @classmethod
    def examples(cls, p: int) -> list[Any]:
        """None: the areas belong to one batch."""
        return []

    @property
    def traits(self) -> frozenset[Trait]:
        """Those of the shape of the loss, and whether it tells labels apart."""
        return self.loss.traits & {*SHAPES, Trait.LABEL_FREE}

    def check(self, batch: Batch) -> None:
        """Raise ValueError for a batch of another size."""
        if batch.total != len(self.areas):
            raise ValueError(f"areas must be {batch.total}, one for each decision; got {len(self.areas)}.")

    def bind(self, batch: Any) -> Structure:
        """The formula with the areas of the batch."""
        if isinstance(self.loss, Hamming):
            return Structure(batch, (Mistakes(np.asarray(self.areas)),))
        P, N = batch.count(1, self.areas), batch.count(0, self.areas)
        assert isinstance(self.loss, CountLoss)
        quotient = self.loss.quotient(P, N)
        assert quotient is not None
        top, bottom = quotient
        if not bottom[:, 1:].any() and not top[:, 0].any():
            # A constant denominator makes the loss a sum of costs.
            miss, alarm = (top[:, 1:] / bottom[:, :1]).T
            cost = np.where(batch.truth, miss[batch.owners], alarm[batch.owners])
            return Structure(batch, (Mistakes(cost * self.areas),))
        term = Counts(((1.0, self.loss.of_counts),), P, N, self.traits, self.areas, (top, bottom))
        return Structure(batch, (term,))

    def __repr__(self) -> str:
        return f"{self.loss!r} of areas"


def with_areas(loss: Loss, areas: Values) -> Loss:
    """The loss of areas in place of counts, for the labels of which it is a loss."""
    if isinstance(loss, MeanOverClasses | OneClass):
        return replace(loss, loss=with_areas(loss.loss, areas))
    return NodeAreas(loss, areas)


def part_of(loss: Loss, batch: Batch, parts: Ints) -> Loss:
    """The loss for the chosen sets of its batch."""
    if isinstance(loss, MeanOverClasses | OneClass):
        return replace(loss, loss=part_of(loss.loss, batch, parts))
    return NodeAreas(loss.loss, loss.areas[batch.decisions(parts)]) if isinstance(loss, NodeAreas) else loss
