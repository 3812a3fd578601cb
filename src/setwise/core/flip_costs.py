"""What one wrong label of a large space costs: lambda(Y, y) of MLSP as terms of a batch of single mistakes."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Ints, Values
from setwise.core.batch import Batch
from setwise.core.checks import as_factor, as_number, as_reals, shown
from setwise.core.flips import Flips
from setwise.core.pages import LABEL_SPACES
from setwise.core.refusal import Refusal
from setwise.core.terms import Term
from setwise.core.traits import Trait


class FlipCosts(Term):
    """``factor * lambda(Y, y)`` where a labeling names the label y, and 0 where it names none.

    Attributes
    ----------
    factor : above 0
    binary : whether all costs are 0 or 1, before the factor
    """

    factor: float
    binary: ClassVar[bool] = False

    @property
    @abstractmethod
    def most(self) -> float:
        """No label costs more than this, before the factor."""

    @abstractmethod
    def of(self, batch: Any, i: int, labels: Ints) -> Values:
        """``lambda(Y_i, y)`` of ``labels`` (m, width) of input i, (m,) of 0 or above, before the factor."""

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset()

    def check(self, batch: Batch) -> None:
        if not isinstance(batch, Flips):
            raise Refusal(
                f"{type(self).__name__} refuses {type(batch).__name__}: it costs single labels of a large space, as "
                "LabelSequences.",
                LABEL_SPACES,
            )

    def values(self, batch: Flips, labels: NDArray[Any]) -> Values:
        out = np.zeros(len(batch))
        for i in np.flatnonzero(batch.named(labels)).tolist():
            out[i] = self.factor * self.of(batch, i, batch.of_input(i, labels)[None])[0]
        return out

    def scaled(self, factor: float) -> Self:
        return replace(self, factor=self.factor * factor)  # type: ignore[type-var]

    def take(self, batch: Flips, parts: Ints) -> Self:
        return self


@final
@dataclass(frozen=True)
class EqualCosts(FlipCosts):
    """1 for every label, so that the max loss is whether the whole set is right.

    ``MaxLoss()`` means the same.

    Source: MLSP 3 with lambda = 1.

    Parameters
    ----------
    factor : by which the cost is multiplied, above 0

    Raises
    ------
    TypeError, ValueError : if factor is no number above 0

    Examples
    --------
    >>> from setwise.core.label_sequences import Sequences
    >>> from setwise.losses import EqualCosts, MaxLoss
    >>> # Labels 0, 1 at two places are right.
    >>> one = Sequences(lengths=[2], k=3, truths=[[[0, 1]]])
    >>> # A labeling names one wrong label plus one, or zeros for none.
    >>> wrong = np.array([2, 1]) + 1
    >>> loss = MaxLoss(EqualCosts())
    >>> loss.values(one, wrong).item(), loss.values(one, [0, 0]).item()
    (1.0, 0.0)
    """

    factor: float = 1.0
    binary: ClassVar[bool] = True

    @property
    def most(self) -> float:
        return 1.0

    def __post_init__(self) -> None:
        as_factor(self.factor)

    def of(self, batch: Flips, i: int, labels: Ints) -> Values:
        return np.ones(len(labels))

    def values(self, batch: Flips, labels: NDArray[Any]) -> Values:
        return np.where(batch.named(labels), self.factor, 0.0)


@final
@dataclass(frozen=True)
class NearestHamming(FlipCosts):
    """``missed`` for right labels, and for others the least share of places in which they differ from a right label.

    Where no label is right, each costs ``missed``. This is the minimum over Y of a loss of single labels for the
    Hamming loss.

    Source: MLSP 3 for costs that depend on all right labels; Blaschko and Lampert (2008) for losses of single labels.

    Parameters
    ----------
    missed : the cost of a right label that is not predicted, 0 or above
    factor : by which the cost is multiplied, above 0

    Raises
    ------
    TypeError, ValueError : if missed is no number of 0 or above, or factor none above 0

    Examples
    --------
    >>> from setwise.core.label_sequences import Sequences
    >>> from setwise.losses import MaxLoss, NearestHamming
    >>> # Two sequences of two labels are right.
    >>> one = Sequences(lengths=[2], k=3, truths=[[[0, 1], [2, 2]]])
    >>> # Right, one place off, both off.
    >>> named = [np.array(label) + 1 for label in ([0, 1], [2, 1], [1, 0])]
    >>> loss = MaxLoss(NearestHamming(missed=3.0))
    >>> [loss.values(one, label).item() for label in named]
    [3.0, 0.5, 1.0]
    """

    missed: float = 1.0
    factor: float = 1.0

    def __post_init__(self) -> None:
        as_number(self.missed, "missed", low=0.0)
        as_factor(self.factor)

    @property
    def most(self) -> float:
        return max(1.0, self.missed)

    def of(self, batch: Flips, i: int, labels: Ints) -> Values:
        truths = batch.truths[i]
        if not len(truths):
            return np.full(len(labels), self.missed)
        shares = (labels[:, None] != truths[None]).mean(axis=2).min(axis=1)
        return np.where(shares == 0.0, self.missed, shares)


@final
@dataclass(frozen=True)
class GivenCosts(FlipCosts):
    """``function(truths, label)``, a number from 0 to ``most``.

    Searches go down the best labels until no other can cost more, so the smaller ``most`` is, the sooner they end.

    Source: MLSP 3, any lambda.

    Parameters
    ----------
    function : of the right labels (m, width) of an input and a label (width,), all whole numbers; it returns the cost
        of this label, in [0, most]
    most : no label costs more than this, 0 or above
    factor : by which the cost is multiplied, above 0

    Raises
    ------
    TypeError : if function cannot be called, or most or factor is no number
    ValueError : if most is negative or factor not above 0, or when function returns a number that is not in [0, most]

    Examples
    --------
    >>> from setwise.core.label_sequences import Sequences
    >>> from setwise.losses import GivenCosts, MaxLoss
    >>> def first(truths, label):
    ...     return float((truths[:, 0] != label[0]).all())  # whether the first is wrong
    >>> loss = MaxLoss(GivenCosts(first))
    >>> one = Sequences(lengths=[2], k=3, truths=[[[0, 1]]])
    >>> [loss.values(one, np.array(label) + 1).item() for label in ([0, 2], [1, 1])]
    [0.0, 1.0]
    """

    function: Callable[[Ints, Ints], float]
    most: float = 1.0
    factor: float = 1.0

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function must be callable; got {shown(self.function)}.")
        as_number(self.most, "most", low=0.0)
        as_factor(self.factor)

    def of(self, batch: Flips, i: int, labels: Ints) -> Values:
        truths, shown_labels = batch.truths[i].view(), labels.view()
        for given in (truths, shown_labels):
            given.setflags(write=False)
        values = [self.function(truths, label) for label in shown_labels]
        found = as_reals(values, "function(truths, label)", (len(labels),))
        if len(found) and (found.min() < 0.0 or found.max() > self.most):
            wrong = found.min() if found.min() < 0.0 else found.max()
            raise ValueError(f"function(truths, label) must be from 0 to {self.most:.4g}; got {wrong:.4g}.")
        return found
