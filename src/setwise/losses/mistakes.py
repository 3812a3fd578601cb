"""Losses of mistakes: their number or share, with costs for each kind, balanced over the classes, or any at all."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import Batch, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import LARGEST_FACTOR, Ints, Values, as_number, as_weights
from setwise.core.counts import Formula, Quotient, linear
from setwise.core.loss import CountLoss, Loss
from setwise.core.terms import CURVATURES, Mistakes, Trait
from setwise.losses.functions import check_weights, example_weights, weights_repr


@final
@dataclass(frozen=True, eq=False, repr=False)
class Hamming(Loss):
    """``sum_(i in A) weights_i``, or the number of mistakes if ``weights`` is None; in [0, sum of weights].

    The loss is modular. Its Lovász hinge and its margin rescaling are the sum of the hinges of an SVM.

    Source: LH 2.1 and Prop. 7.

    Parameters
    ----------
    weights : (p,) non-negative, one for each position in a set; every set must then have p decisions

    Raises
    ------
    ValueError : if a weight is negative, or a set has another number of decisions than there are weights

    Examples
    --------
    >>> from setwise.losses import Hamming
    >>> Hamming()([1, 1, 0], [1, 0, 1])
    2.0
    >>> Hamming(weights=[1.0, 2.0, 0.5])([1, 1, 0], [1, 0, 1])  # 2 + 0.5
    2.5
    """

    weights: ArrayLike | None = None

    name: ClassVar[str] = "hamming"

    def __post_init__(self) -> None:
        if self.weights is not None:
            object.__setattr__(self, "weights", as_weights(self.weights))

    @classmethod
    def examples(cls, p: int) -> "list[Hamming]":
        return [Hamming(), Hamming(example_weights(p)), Hamming(np.full(p, 2.0)), Hamming(np.arange(p) % 3 / 4)]

    @property
    def traits(self) -> frozenset[Trait]:
        modular = CURVATURES | {Trait.INCREASING, Trait.LABEL_FREE}
        # Equal weights make the loss a multiple of the number of mistakes.
        even = self.weights is None or np.ptp(self.weights) == 0
        return modular | {Trait.COUNTS, Trait.CARDINALITY} if even else modular

    @property
    def formula(self) -> Formula | None:
        return _number_of_mistakes if self.weights is None else None

    def check(self, batch: Batch) -> None:
        check_weights(self.weights, batch, self)

    def of_rows(self, rows: Ints) -> "Hamming":
        """The weights of some decisions of a set."""
        return self if self.weights is None else Hamming(np.asarray(self.weights)[rows])

    def _bind(self, batch: Sets) -> BoundLoss:
        costs = np.ones(batch.total) if self.weights is None else np.asarray(self.weights)[batch.places]
        return BoundLoss(batch, (Mistakes(costs),))

    def __repr__(self) -> str:
        return f"Hamming({weights_repr(self.weights)})"


def _number_of_mistakes(fn: Values, fp: Values, P: Values, N: Values) -> Values:
    return fn + fp


@final
@dataclass(frozen=True)
class ClassWeightedHamming(CountLoss):
    """``negative * fp + positive * fn``: a false alarm and a miss have different costs.

    The loss is in ``[0, negative N + positive P]``. It is modular: a sum of one cost for each mistake.

    Source: DD Eq. 12.

    Parameters
    ----------
    negative, positive : the cost of a false positive and that of a false negative, both >= 0

    Raises
    ------
    TypeError, ValueError : if a cost is no number of 0 or above

    Examples
    --------
    >>> from setwise.losses import ClassWeightedHamming
    >>> # One miss, one false alarm.
    >>> ClassWeightedHamming(negative=1.0, positive=5.0)([1, 1, 0, 0], [1, 0, 1, 0])
    6.0
    """

    negative: float = 1.0
    positive: float = 1.0

    name: ClassVar[str] = "class_weighted_hamming"
    traits = CURVATURES | {Trait.INCREASING, Trait.COUNTS}

    def __post_init__(self) -> None:
        as_number(self.negative, "negative", low=0.0, high=LARGEST_FACTOR)
        as_number(self.positive, "positive", low=0.0, high=LARGEST_FACTOR)

    @classmethod
    def examples(cls, p: int) -> "list[ClassWeightedHamming]":
        return [ClassWeightedHamming(0.5, 2.0), ClassWeightedHamming(0.0, 1.0)]

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return self.positive * fn + self.negative * fp

    def quotient(self, P: Values, N: Values) -> Quotient:
        # A linear loss is a quotient with the denominator 1.
        return linear(len(P), 0.0, self.positive, self.negative), linear(len(P), 1.0, 0.0, 0.0)


@final
@dataclass(frozen=True)
class ErrorRate(CountLoss):
    """``(fn + fp) / (P + N)``, the share of wrong decisions, 1 - ``sklearn.metrics.accuracy_score``; in [0, 1].

    The loss is modular: a sum of one cost for each mistake.

    Source: DD Eq. 12 with both weights ``1 / (P + N)``.

    Examples
    --------
    >>> from setwise.losses import ErrorRate
    >>> ErrorRate()([1, 1, 0, 0], [1, 0, 0, 0])
    0.25
    """

    name: ClassVar[str] = "error_rate"
    traits = CURVATURES | {Trait.INCREASING, Trait.COUNTS, Trait.CARDINALITY, Trait.LABEL_FREE}

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        # The size is 0 in a set without known labels, and may be tiny where areas take the place of counts.
        return (fn + fp) / np.maximum(P + N, 1e-300)

    def quotient(self, P: Values, N: Values) -> Quotient:
        return linear(len(P), 0.0, 1.0, 1.0), linear(len(P), P + N, 0.0, 0.0)


@final
@dataclass(frozen=True)
class ZeroOne(CountLoss):
    """``1 if A else 0``: the loss is 0 only if every decision of the set is right.

    Use it if one mistake spoils the whole set. It is submodular and increasing.

    Source: MLSP 3, the max loss with equal costs.

    Examples
    --------
    >>> from setwise.losses import ZeroOne
    >>> predicted = [1, 0, 1], [1, 0, 0], [0, 1, 0]
    >>> [ZeroOne()([1, 0, 1], guess) for guess in predicted]  # 0, 1 and 3 are wrong
    [0.0, 1.0, 1.0]
    """

    name: ClassVar[str] = "zero_one"
    traits = frozenset({Trait.INCREASING, Trait.SUBMODULAR, Trait.COUNTS, Trait.CARDINALITY, Trait.LABEL_FREE})
    diluted = True
    """True: the loss does not see right decisions."""

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return np.where(fn + fp > 0, 1.0, 0.0)


@final
@dataclass(frozen=True)
class BalancedError(CountLoss):
    """``(fn / P + fp / N) / 2``, 1 - ``sklearn.metrics.balanced_accuracy_score``; in [0, 1].

    Both classes count the same, however rare one is. In a set of one class the loss is the share of wrong decisions of
    that class, ``fn / P`` or ``fp / N``. It is modular: a sum of one cost for each mistake.

    Source: the weighted Hamming loss of DD Eq. 12, with the weights ``1 / (2 N)`` and ``1 / (2 P)``.

    Examples
    --------
    >>> from setwise.losses import BalancedError, ErrorRate
    >>> # All of the one class are wrong, none of the other.
    >>> y_true, y_pred = [1, 0, 0, 0], [0, 0, 0, 0]
    >>> BalancedError()(y_true, y_pred), ErrorRate()(y_true, y_pred)
    (0.5, 0.25)
    """

    name: ClassVar[str] = "balanced_error"
    traits = CURVATURES | {Trait.INCREASING, Trait.COUNTS}
    diluted = True
    """True: right decisions lower the shares of wrong ones. A class that was absent comes in with the share 0."""

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        miss, alarm = _weights(P, N)
        return fn * miss + fp * alarm

    def quotient(self, P: Values, N: Values) -> Quotient:
        miss, alarm = _weights(P, N)
        return linear(len(P), 0.0, miss, alarm), linear(len(P), 1.0, 0.0, 0.0)


def _weights(P: Values, N: Values) -> tuple[Values, Values]:
    """The cost of a false negative and of a false positive, (n,) each."""
    # A class that is absent has no mistakes; its cost only has to be finite.
    classes = np.where((P > 0) & (N > 0), 2.0, 1.0)
    return 1.0 / (classes * np.where(P > 0, P, 1.0)), 1.0 / (classes * np.where(N > 0, N, 1.0))
