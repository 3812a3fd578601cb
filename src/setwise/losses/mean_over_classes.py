"""The mean over k classes of a loss of binary decisions."""

from dataclasses import dataclass, replace
from functools import reduce
from typing import ClassVar, final

from setwise.core.batch import Batch, Sets
from setwise.core.loss import Loss
from setwise.core.structure import Structure, binary_view, flip_back, flipped, lift
from setwise.core.terms import SHAPES, Trait
from setwise.losses.f_beta import FBeta
from setwise.losses.inner import inner_of_labels
from setwise.losses.jaccard import Jaccard


@final
@dataclass(frozen=True)
class MeanOverClasses(Loss):
    """``(1/k) sum_c loss([y = c], [yhat = c])``: mean Jaccard, macro F1, and so on, for k labels.

    All classes have the same weight, and the range is that of the loss. A class that is absent from a set contributes
    the loss of a set without positives. Margin rescaling and the ramp are maximized by decoupling the classes, with a
    bound; the Lovász hinge and slack rescaling refuse this loss.

    Source: DD 3, which mentions losses of the counts of each class after Eq. 10.

    Parameters
    ----------
    loss : any loss of labels 0 and 1 that leaves the number of predicted positives free, or its name

    Raises
    ------
    Refusal : if the loss reads anything but labels 0 and 1, as losses of a ranking do
    TypeError : if the loss is neither a loss nor its name
    ValueError : if there is no loss of this name, or one that needs parameters

    Examples
    --------
    >>> from setwise.losses import MeanOverClasses
    >>> mean = MeanOverClasses("jaccard")
    >>> # (0 + 1/2 + 1/2) / 3 for the classes 0, 1 and 2.
    >>> round(mean([0, 1, 1, 2], [0, 1, 2, 2]), 3)
    0.333
    """

    loss: Loss

    name: ClassVar[str] = "mean_over_classes"
    reads: ClassVar = "classes"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", inner_of_labels(self.loss, "MeanOverClasses"))

    @classmethod
    def examples(cls, p: int) -> "list[MeanOverClasses]":
        return [MeanOverClasses(Jaccard()), MeanOverClasses(FBeta())]

    @property
    def traits(self) -> frozenset[Trait]:
        # Counts and labels of one class do not describe the others, so only traits of the shape are left.
        return self.loss.traits & set(SHAPES)

    def of_one_batch(self, batch: Batch) -> bool:
        return self.loss.of_one_batch(batch)

    def bind(self, batch: Batch) -> Structure:
        if isinstance(batch, Sets):
            # Two labels need only one score for each decision. For class 0, false negatives and false positives are
            # exchanged.
            other = flip_back(batch, self.loss.structure(flipped(batch)))
            return 0.5 * (self.loss.structure(batch) + other)
        # The loss is bound once to each question "is this class c?", and the terms are added up.
        share = 1.0 / batch.n_labels
        each = [lift(batch, c, share * self.loss.structure(binary_view(batch, c))) for c in range(batch.n_labels)]
        return replace(reduce(Structure.__add__, each), source=self)

    def __repr__(self) -> str:
        return f"MeanOverClasses({self.loss!r})"
