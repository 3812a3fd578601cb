"""A quotient of counts in which positives and negatives have different weights."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values, as_factor
from setwise.core.counts import Quotient
from setwise.core.exceptions import Refusal
from setwise.core.loss import CountLoss, Loss
from setwise.core.pages import WEIGHTS
from setwise.core.terms import Trait
from setwise.losses.balanced_error import BalancedError
from setwise.losses.class_weighted_hamming import ClassWeightedHamming
from setwise.losses.f_beta import FBeta
from setwise.losses.hamming import Hamming
from setwise.losses.inner import inner_loss, is_quotient
from setwise.losses.jaccard import Jaccard


@final
@dataclass(frozen=True)
class ClassWeighted(CountLoss):
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
    >>> from setwise.losses import ClassWeighted, Jaccard
    >>> y_true, y_pred = [1, 1, 1, 0], [1, 1, 1, 1]
    >>> Jaccard()(y_true, y_pred)  # one false alarm, four positive or predicted
    0.25
    >>> # As if there were three false alarms.
    >>> ClassWeighted("jaccard", negative=3.0, positive=1.0)(y_true, y_pred)
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
                f"class_weight refuses {self.loss!r}: it is no quotient of counts, so a weighted count has no meaning. "
                "Use loss='jaccard' or loss='hamming'.",
                WEIGHTS,
            )

    @classmethod
    def examples(cls, p: int) -> "list[ClassWeighted]":
        return [
            ClassWeighted(Jaccard(), 0.5, 2.0),
            ClassWeighted(Jaccard("fraction"), 0.01, 0.02),
            ClassWeighted(BalancedError(), 0.1, 0.03),
            ClassWeighted(FBeta(zero_division=0.5), 3.0, 1.0),
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
    return ClassWeighted(loss, negative, positive)
