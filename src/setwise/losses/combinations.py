"""Losses made of losses: with weighted classes, with areas of decisions, of one of k classes, or the mean over them."""

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, Literal, final

import numpy as np

from setwise.core.batch import Batch, Sets
from setwise.core.bound_loss import BoundLoss, binary_view, flip_back, flipped, lift
from setwise.core.checks import Values, as_areas, as_choice, as_count, as_factor
from setwise.core.counts import Counts, Formula, Quotient
from setwise.core.exceptions import Refusal
from setwise.core.loss import CountLoss, Loss
from setwise.core.pages import CLASS_LOSSES, QUOTIENTS, WEIGHTS
from setwise.core.terms import SHAPES, Mistakes, Trait
from setwise.losses.functions import check_weights, example_weights, weights_repr
from setwise.losses.mistakes import BalancedError, ClassWeightedHamming, Hamming
from setwise.losses.overlap import FBeta, Jaccard


def inner_loss(loss: object) -> Loss:
    """The loss itself, or the loss with this short name."""
    # The names are known only after all files of this folder are imported, so this import must wait.
    from setwise.losses import as_loss

    return as_loss(loss)


def is_quotient(loss: Loss) -> bool:
    """Whether a loss is a quotient of linear functions of the counts."""
    # Whether a loss has coefficients does not depend on the counts, so any set will do.
    return isinstance(loss, CountLoss) and loss.quotient(np.ones(1), np.ones(1)) is not None


@final
@dataclass(frozen=True)
class ClassWeightedLoss(CountLoss):
    """``f(b fn, a fp, b P, a N)``: the loss as if each negative occurred a times and each positive b times.

    The loss f must be a quotient of linear functions of the counts, as the Jaccard loss is. Range, conventions for sets
    without positives, and whether the loss increases and is submodular are as with f. ``class_weight`` of
    :class:`setwise.SetClassifier` makes it.

    Source: this library, after ``class_weight`` of scikit-learn.

    Parameters
    ----------
    loss : f, or its name
    negative, positive : a and b, above 0

    Raises
    ------
    Refusal : if the loss is no quotient of linear functions of the counts
    TypeError : if the loss is neither a loss nor its name, or a weight is no number
    ValueError : if there is no loss of this name, or a weight is not above 0

    Examples
    --------
    >>> from setwise.losses import ClassWeightedLoss, Jaccard
    >>> y_true, y_pred = [1, 1, 1, 0], [1, 1, 1, 1]
    >>> Jaccard()(y_true, y_pred)  # one false alarm, four positive or predicted
    0.25
    >>> # As if there were three false alarms.
    >>> ClassWeightedLoss("jaccard", negative=3.0, positive=1.0)(y_true, y_pred)
    0.5
    """

    loss: Loss
    negative: float
    positive: float

    name: ClassVar[str] = "class_weighted"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", inner_loss(self.loss))
        as_factor(self.negative, "negative")
        as_factor(self.positive, "positive")
        if not is_quotient(self.loss):
            raise Refusal(
                f"class_weight refuses {self.loss!r}: it is not a quotient of counts, so a weighted count has no "
                "meaning. Use loss='jaccard' or loss='hamming'.",
                WEIGHTS,
            )

    @classmethod
    def examples(cls, p: int) -> "list[ClassWeightedLoss]":
        return [
            ClassWeightedLoss(Jaccard(), 0.5, 2.0),
            ClassWeightedLoss(Jaccard("fraction"), 0.01, 0.02),
            ClassWeightedLoss(BalancedError(), 0.1, 0.03),
            ClassWeightedLoss(FBeta(zero_division=0.5), 3.0, 1.0),
        ]

    @property
    def _inner(self) -> CountLoss:
        """The loss f, known to be a loss of counts."""
        assert isinstance(self.loss, CountLoss)
        return self.loss

    @property
    def traits(self) -> frozenset[Trait]:
        # The weights tell positives from negatives, so no trait that ignores labels is left.
        return frozenset({Trait.COUNTS}) | (self.loss.traits & {Trait.INCREASING, Trait.SUBMODULAR})

    @property
    def diluted(self) -> bool | None:
        """As f: a right decision adds a or b to the counts of f."""
        return self._inner.diluted

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        a, b = self.negative, self.positive
        return self._inner.of_counts(b * fn, a * fp, b * P, a * N)

    def quotient(self, P: Values, N: Values) -> Quotient | None:
        found = self._inner.quotient(self.positive * P, self.negative * N)
        if found is None:
            return None
        # The inner coefficients belong to 1, ``positive * fn`` and ``negative * fp``.
        scale = np.array([1.0, self.positive, self.negative])
        return found[0] * scale, found[1] * scale


def with_class_weights(loss: Loss, negative: float, positive: float) -> Loss:
    """The loss with weighted classes: weighted mistakes for ``Hamming()``, weighted counts for a quotient of counts."""
    if isinstance(loss, Hamming) and loss.weights is None:
        return ClassWeightedHamming(negative, positive)
    return ClassWeightedLoss(loss, negative, positive)


@final
@dataclass(frozen=True, eq=False, repr=False)
class AreaWeightedLoss(Loss):
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
    >>> from setwise.losses import AreaWeightedLoss
    >>> loss = AreaWeightedLoss("jaccard", areas=[9, 1, 5])
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
                f"AreaWeightedLoss refuses {self.loss!r}: {why}. Use Jaccard, FBeta, Tversky, ErrorRate or Hamming.",
                QUOTIENTS,
            )

    @classmethod
    def examples(cls, p: int) -> "list[AreaWeightedLoss]":
        areas = example_weights(p) + 0.25
        inner = (Jaccard(), FBeta(), FBeta(zero_division=0.3), Hamming())
        return [*(AreaWeightedLoss(loss, areas) for loss in inner), AreaWeightedLoss(BalancedError(), areas / 100)]

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

    def _bind(self, batch: Any) -> BoundLoss:
        flat = np.asarray(self.areas)
        areas = flat if batch.total == len(flat) else flat[batch.places]
        if isinstance(self.loss, Hamming):
            return BoundLoss(batch, (Mistakes(areas),))
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
            return BoundLoss(batch, (Mistakes(cost * areas),))
        return BoundLoss(batch, (Counts(formulas, P, N, self.traits, areas, quotient),))

    def __repr__(self) -> str:
        return f"AreaWeightedLoss({self.loss!r}, {weights_repr(self.areas).replace('weights', 'areas')})"


@dataclass(frozen=True)
class LossOfClasses(Loss):
    """A loss of decisions with k labels that sets a class, or each in turn, against all others."""

    loss: Loss

    reads: ClassVar = "classes"

    def __post_init__(self) -> None:
        found = inner_loss(self.loss)
        if found.reads != "labels":
            raise Refusal(
                f"{type(self).__name__} refuses {found!r}: it evaluates {found.reads}, not labels 0 and 1.",
                CLASS_LOSSES,
            )
        object.__setattr__(self, "loss", found)

    @property
    def traits(self) -> frozenset[Trait]:
        # Counts and labels of one class do not describe the others, so only traits of the shape are left.
        return self.loss.traits & set(SHAPES)

    def of_one_batch(self, batch: Batch) -> bool:
        return self.loss.of_one_batch(batch)

    @property
    def reported(self) -> "LossOfClasses":
        """The same of the loss that scores are made of."""
        return replace(self, loss=self.loss.reported)

    @property
    def of_two(self) -> Formula | None:
        """The loss of decisions with two labels as a function of (fn, fp, P, N); None if it is unknown."""
        return None

    def label_formula(self, label: int) -> Formula | None:
        """The loss of class 0 or 1 against the other one, of two, as a function of (fn, fp, P, N); None if unknown."""
        found = self.loss.of_counts if isinstance(self.loss, CountLoss) else self.loss.formula
        if found is None or label:
            return found
        return lambda fn, fp, P, N: found(fp, fn, N, P)

    def as_score(self, loss: float, n: float) -> float:
        """The score of this loss as one of the loss of a class."""
        return self.loss.as_score(loss, n)


@final
@dataclass(frozen=True)
class MeanOverClasses(LossOfClasses):
    """``(1/k) sum_c loss([y = c], [yhat = c])``: mean Jaccard, macro F1, and so on, for k labels.

    All classes have the same weight, and the range is that of the loss. A class that is absent from a set contributes
    the loss of a set without positives. Margin rescaling and the ramp are maximized by decoupling the classes, with a
    bound; the Lovász hinge and slack rescaling refuse this loss.

    Source: DD 3, which mentions losses of the counts of each class after Eq. 10.

    Parameters
    ----------
    loss : any loss of labels 0 and 1 that leaves the number of predicted positives free, or its name
    weights : ``"equal"`` for 1/k; ``"support"`` for the share of the rows that are of the class, in one set alone

    Raises
    ------
    Refusal : if the loss reads anything but labels 0 and 1, as losses of a ranking do
    TypeError : if the loss is neither a loss nor its name
    ValueError : if there is no loss of this name, or one that needs parameters, and for other weights

    Examples
    --------
    >>> from setwise.losses import MeanOverClasses
    >>> mean = MeanOverClasses("jaccard")
    >>> # (0 + 1/2 + 1/2) / 3 for the classes 0, 1 and 2.
    >>> round(mean([0, 1, 1, 2], [0, 1, 2, 2]), 3)
    0.333
    """

    weights: Literal["equal", "support"] = "equal"

    name: ClassVar[str] = "mean_over_classes"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_choice(self.weights, "weights", ("equal", "support"))

    @classmethod
    def examples(cls, p: int) -> "list[MeanOverClasses]":
        return [MeanOverClasses(Jaccard()), MeanOverClasses(FBeta())]

    @property
    def of_two(self) -> Formula | None:
        """The mean over two classes as a function of (fn, fp, P, N)."""
        first, second = self.label_formula(0), self.label_formula(1)
        if first is None or second is None:
            return None
        equal = self.weights == "equal"

        def mean(fn: Values, fp: Values, P: Values, N: Values) -> Values:
            share = 0.5 if equal else P / np.maximum(P + N, 1e-300)
            return np.asarray((1.0 - share) * first(fn, fp, P, N) + share * second(fn, fp, P, N))

        return mean

    def _bind(self, batch: Batch) -> BoundLoss:
        if self.weights == "support":
            return self._by_support(batch)
        if isinstance(batch, Sets):
            # Two labels need only one score for each decision. For class 0, false negatives and false positives are
            # exchanged.
            other = flip_back(batch, self.loss.bind(flipped(batch)))
            return 0.5 * (self.loss.bind(batch) + other)
        # The loss is bound once to each question "is this class c?", and the terms are added up.
        share = 1.0 / batch.n_labels
        each = [lift(batch, c, share * self.loss.bind(binary_view(batch, c))) for c in range(batch.n_labels)]
        return replace(reduce(BoundLoss.__add__, each), source=self)

    def _by_support(self, batch: Batch) -> BoundLoss:
        """The classes with the weights of their shares of the rows."""
        if len(batch) > 1 or batch.known is not None:
            raise Refusal(
                f"{self!r} refuses several sets and unknown labels: its weights are for one set.", CLASS_LOSSES
            )
        counts = np.bincount(batch.labels, minlength=batch.n_labels)
        shares = {c: count / batch.total for c, count in enumerate(counts.tolist()) if count}
        each: list[BoundLoss] = [share * OneClass(self.loss, c)._bind(batch) for c, share in shares.items()]
        return replace(reduce(BoundLoss.__add__, each), source=self)

    def __repr__(self) -> str:
        return f"MeanOverClasses({self.loss!r}{', weights=' + repr(self.weights) if self.weights != 'equal' else ''})"


@final
@dataclass(frozen=True)
class OneClass(LossOfClasses):
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

    label: int

    name: ClassVar[str] = "one_class"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_count(self.label, "label", low=0)

    @classmethod
    def examples(cls, p: int) -> "list[OneClass]":
        return [OneClass(Jaccard(), 1), OneClass(FBeta(), 0)]

    @property
    def of_two(self) -> Formula | None:
        """The loss of one of two classes as a function of (fn, fp, P, N)."""
        return self.label_formula(self.label)

    def check(self, batch: Batch) -> None:
        if self.label >= batch.n_labels:
            raise ValueError(f"label must be one of 0..{batch.n_labels - 1}; got {self.label}.")

    def _bind(self, batch: Batch) -> BoundLoss:
        if isinstance(batch, Sets):
            if self.label == 1:
                return self.loss.bind(batch)
            # Class 0 of two is the positive class once the labels are exchanged.
            return flip_back(batch, self.loss.bind(flipped(batch)))
        return lift(batch, self.label, self.loss.bind(binary_view(batch, self.label)))

    def __repr__(self) -> str:
        return f"OneClass({self.loss!r}, {self.label})"
