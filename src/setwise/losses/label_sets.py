"""Losses of label sets (MLSP): the cost of the worst mistake, the costs of all, and what a wrong label costs."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.batch import Batch, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Ints, Values, as_flag, as_number, as_reals, as_weights, shown
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import LABEL_COSTS
from setwise.core.single_labels import EqualCosts, FlipCosts, Flips
from setwise.core.terms import CURVATURES, LargestCost, Mistakes, Trait
from setwise.losses.functions import check_weights, example_weights, weights_repr

LabelCosts = Callable[[Bools], Any]


def bound_costs(costs: Any, batch: Batch) -> Values:
    """The cost of each decision of a batch, (total,)."""
    if costs is None:
        return np.ones(batch.total)
    if not callable(costs):
        return np.asarray(np.asarray(costs)[batch.places])
    truth = batch.truth.view()
    truth.setflags(write=False)
    found = [as_reals(costs(truth[a:b]), "costs(truth)", (b - a,)) for a, b in pairwise(batch.offsets.tolist())]
    flat = np.concatenate(found)
    if (flat < 0).any():
        raise ValueError(f"costs(truth) must be {batch.sizes[0]} numbers of 0 or above; got {shown(flat.min())}.")
    return flat


def costs_repr(costs: Any) -> str:
    """Costs as text."""
    if isinstance(costs, FlipCosts):
        return repr(costs)
    if callable(costs):
        return str(getattr(costs, "__name__", type(costs).__name__))
    return weights_repr(costs).replace("weights", "costs")


@final
@dataclass(frozen=True, eq=False)
class NearestCosts:
    """``lambda(Y, y) = min over true labels of distances[true, y]`` where y is false, ``missed`` where it is true.

    A false label costs ``missed`` too where no label is true. MLSP 5.2 has distances of 0 between boxes that overlap
    by half and 1 between others; a hierarchy has the lengths of paths. It is given as ``costs`` to
    :class:`setwise.losses.MaxLoss` and :class:`setwise.losses.SumLoss`.

    Source: MLSP 3 and 5.2.

    Parameters
    ----------
    distances : (p, p) of 0 or above
    missed : the cost of a true label that is not predicted, 0 or above

    Raises
    ------
    TypeError : if missed is no number
    ValueError : if distances are not square or negative, or not those of the labels of a set, or missed is negative

    Examples
    --------
    >>> from setwise.losses import MaxLoss, NearestCosts
    >>> costs = NearestCosts([[0, 1, 2], [1, 0, 1], [2, 1, 0]], missed=5.0)
    >>> costs(np.array([True, False, False])).tolist()  # label 0 is true
    [5.0, 1.0, 2.0]
    >>> # Labels 1 and 2 are false; the worse one counts.
    >>> MaxLoss(costs)([1, 0, 0], [1, 1, 1])
    2.0
    """

    distances: Any
    missed: float = 1.0

    def __post_init__(self) -> None:
        distances = as_reals(self.distances, "distances")
        if distances.ndim != 2 or distances.shape[0] != distances.shape[1]:
            raise ValueError(f"distances must have shape (p, p); got shape {distances.shape}.")
        if (distances < 0).any():
            raise ValueError(f"distances must be 0 or above; got {distances.min():.4g}.")
        object.__setattr__(self, "distances", distances)
        as_number(self.missed, "missed", low=0.0)

    def __call__(self, truth: Bools) -> Values:
        """The cost of each label, (p,)."""
        if len(truth) != len(self.distances):
            raise ValueError(f"distances must be those of {len(truth)} labels; got {len(self.distances)}.")
        if not truth.any():
            return np.full(len(truth), self.missed)
        return np.where(truth, self.missed, self.distances[truth].min(axis=0))


@dataclass(frozen=True, eq=False, repr=False)
class LabelCostLoss(Loss):
    """A loss with a cost for a mistake on each label.

    Costs are None, numbers (p,) of 0 or above, a function of the truth (p,) that returns such numbers, or a term of
    :mod:`setwise.core.single_labels`, for labels that are too many to list.
    """

    costs: Any = None

    def __post_init__(self) -> None:
        if not (self.costs is None or callable(self.costs) or isinstance(self.costs, FlipCosts)):
            object.__setattr__(self, "costs", as_weights(self.costs, "costs"))

    def check(self, batch: Batch) -> None:
        if isinstance(batch, Flips):
            if self.costs is not None and not isinstance(self.costs, FlipCosts):
                raise Refusal(
                    f"{self!r} refuses {type(batch).__name__}, whose labels are too many to list. Use costs of single "
                    "labels, such as MaxLoss(GivenCosts(function, most)).",
                    LABEL_COSTS,
                )
        elif isinstance(self.costs, FlipCosts):
            raise Refusal(
                f"{self!r} refuses {type(batch).__name__}, whose labels are listed. Use numbers for costs, or a "
                "function.",
                LABEL_COSTS,
            )
        elif self.costs is not None and not callable(self.costs):
            check_weights(self.costs, batch, self)

    def costs_of(self, batch: Batch) -> Values:
        """The cost of each binary decision of a batch, (total,)."""
        if not isinstance(batch, Sets):
            raise Refusal(
                f"{self!r} refuses {type(batch).__name__}: it has a cost for each binary decision.", LABEL_COSTS
            )
        return bound_costs(self.costs, batch)


@final
@dataclass(frozen=True, eq=False, repr=False)
class MaxLoss(LabelCostLoss):
    """``max_(i in A) costs_i``, and 0 for no mistake: the cost of the worst mistake; in [0, max costs].

    It is the 0/1 loss of a set where all costs are 1. It is increasing and submodular, and its margin and slack
    rescaling are maximized exactly in O(p log p). The surrogate of MLSP for it is
    :class:`setwise.surrogates.MultilabelHinge`.

    Source: MLSP 3.

    Parameters
    ----------
    costs : lambda, the cost of a mistake on each label: None for 1; (p,) of 0 or above, where all sets have p labels;
        or a function of the truth (p,) of a set that returns (p,) such numbers, as
        :class:`setwise.losses.NearestCosts`. Labels that are too many to list take
        a class such as :class:`setwise.losses.NearestHammingCosts`, or None

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

    name: ClassVar[str] = "max"

    @classmethod
    def examples(cls, p: int) -> "list[MaxLoss]":
        return [MaxLoss(), MaxLoss(example_weights(p)), MaxLoss(np.arange(p) % 3 / 4), MaxLoss(_dear_positives)]

    @property
    def traits(self) -> frozenset[Trait]:
        shapes = {Trait.INCREASING, Trait.SUBMODULAR}
        return frozenset(shapes if callable(self.costs) else shapes | {Trait.LABEL_FREE})

    def _bind(self, batch: Any) -> BoundLoss:
        if isinstance(batch, Flips):
            return BoundLoss(batch, (EqualCosts() if self.costs is None else self.costs,))
        return BoundLoss(batch, (LargestCost(self.costs_of(batch)),))

    def __repr__(self) -> str:
        return f"MaxLoss({costs_repr(self.costs)})"


def _dear_positives(truth: Any) -> Any:
    """Costs of an example: a missed label costs 1, a false one a half."""
    return np.where(truth, 1.0, 0.5)


@final
@dataclass(frozen=True, eq=False, repr=False)
class SumLoss(LabelCostLoss):
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

    normalized: bool = False

    name: ClassVar[str] = "sum"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_flag(self.normalized, "normalized")

    @classmethod
    def examples(cls, p: int) -> "list[SumLoss]":
        return [SumLoss(), SumLoss(example_weights(p), True), SumLoss(_dearer_positives)]

    @property
    def traits(self) -> frozenset[Trait]:
        modular = CURVATURES | {Trait.INCREASING}
        return modular if callable(self.costs) else modular | {Trait.LABEL_FREE}

    def of_rows(self, rows: Ints) -> "SumLoss":
        """The costs of some decisions of a set, where they are numbers."""
        costs = self.costs
        return self if costs is None or callable(costs) else SumLoss(np.asarray(costs)[rows], self.normalized)

    def _bind(self, batch: Any) -> BoundLoss:
        costs = self.costs_of(batch)
        return BoundLoss(batch, (Mistakes(costs / np.repeat(batch.sizes, batch.sizes) if self.normalized else costs),))

    def __repr__(self) -> str:
        inner = [costs_repr(self.costs), "normalized" if self.normalized else ""]
        return f"SumLoss({', '.join(part for part in inner if part)})"


def _dearer_positives(truth: Any) -> Any:
    """Costs of an example: a missed label costs 1.5, a false one a half."""
    return 0.5 + truth
