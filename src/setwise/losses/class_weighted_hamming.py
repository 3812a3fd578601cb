"""The Hamming loss in which a false negative and a false positive have different costs."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.checks import LARGEST_FACTOR, Values, as_number
from setwise.core.counts import Quotient, linear
from setwise.core.loss import CountLoss
from setwise.core.terms import CURVATURES, Trait


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

    def __post_init__(self) -> None:
        as_number(self.negative, "negative", low=0.0, high=LARGEST_FACTOR)
        as_number(self.positive, "positive", low=0.0, high=LARGEST_FACTOR)

    @classmethod
    def examples(cls, p: int) -> "list[ClassWeightedHamming]":
        return [ClassWeightedHamming(0.5, 2.0), ClassWeightedHamming(0.0, 1.0)]

    @property
    def traits(self) -> frozenset[Trait]:
        return CURVATURES | {Trait.INCREASING, Trait.COUNTS}

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return self.positive * fn + self.negative * fp

    def quotient(self, P: Values, N: Values) -> Quotient:
        # A linear loss is a quotient with the denominator 1.
        return linear(len(P), 0.0, self.positive, self.negative), linear(len(P), 1.0, 0.0, 0.0)
