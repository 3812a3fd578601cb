"""A loss of binary decisions, for one of k classes against the rest."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.batch import Batch, Sets
from setwise.core.checks import as_count
from setwise.core.loss import Loss
from setwise.core.structure import Structure, binary_view, flip_back, flipped, lift
from setwise.core.terms import SHAPES, Trait
from setwise.losses.f_beta import FBeta
from setwise.losses.inner import inner_of_labels
from setwise.losses.jaccard import Jaccard


@final
@dataclass(frozen=True)
class OneClass(Loss):
    """``loss([y = label], [yhat = label])``: the loss of one class against the rest, for decisions with k labels.

    The range, and what the loss is for sets without the class, are those of the loss.

    Source: DD Algorithm 1.

    Parameters
    ----------
    loss : any loss of labels 0 and 1 that leaves the number of predicted positives free, or its name
    label : the index of the class that is positive, 0..k-1; all other classes are negative

    Raises
    ------
    Refusal : if the loss reads anything but labels 0 and 1, as losses of a ranking do
    TypeError : if the loss is neither a loss nor its name, or label no whole number
    ValueError : if there is no loss of this name, or no such label in the sets

    Examples
    --------
    >>> from setwise.losses import OneClass
    >>> y_true, y_pred = [0, 1, 1, 2], [0, 1, 2, 2]
    >>> [OneClass("jaccard", label)(y_true, y_pred) for label in range(3)]
    [0.0, 0.5, 0.5]
    """

    loss: Loss
    label: int

    name: ClassVar[str] = "one_class"
    reads: ClassVar = "classes"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", inner_of_labels(self.loss, "OneClass"))
        as_count(self.label, "label", low=0)

    @classmethod
    def examples(cls, p: int) -> "list[OneClass]":
        return [OneClass(Jaccard(), 1), OneClass(FBeta(), 0)]

    @property
    def traits(self) -> frozenset[Trait]:
        # The counts are those of one class, so only traits of the shape hold for decisions with k labels.
        return self.loss.traits & set(SHAPES)

    def check(self, batch: Batch) -> None:
        if self.label >= batch.n_labels:
            raise ValueError(f"label must be one of 0..{batch.n_labels - 1}; got {self.label}.")

    def of_one_batch(self, batch: Batch) -> bool:
        return self.loss.of_one_batch(batch)

    def bind(self, batch: Batch) -> Structure:
        if isinstance(batch, Sets):
            if self.label == 1:
                return self.loss.structure(batch)
            # Class 0 of two is the positive class once the labels are exchanged.
            return flip_back(batch, self.loss.structure(flipped(batch)))
        return lift(batch, self.label, self.loss.structure(binary_view(batch, self.label)))

    def __repr__(self) -> str:
        return f"OneClass({self.loss!r}, {self.label})"
