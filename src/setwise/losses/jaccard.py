"""The Jaccard loss, 1 - intersection over union."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np

from setwise.core.checks import Values, as_choice
from setwise.core.counts import Quotient, linear
from setwise.core.loss import CountLoss
from setwise.core.terms import Trait


@final
@dataclass(frozen=True)
class Jaccard(CountLoss):
    """``(fn + fp) / (P + fp) = 1 - |positives and predicted| / |positives or predicted|``; in [0, 1].

    One minus the intersection over union (IoU), the measure of masks. True negatives do not count. The loss is
    submodular and increasing.

    Source: LH Eq. 43-44 and Prop. 10; also DD Eq. 11 and HOL Eq. 5.

    Parameters
    ----------
    empty : the loss of a set without positives (P = 0), where the union may be empty and the formula 0/0

        - ``"perfect"``: 0 if nothing is predicted, and 1 if there is any false positive. This is the limit of the
          formula, and 1 - ``sklearn.metrics.jaccard_score(zero_division=1)``. The gradient of the Lovász hinge is then
          nonzero at the worst decision only.
        - ``"fraction"``: ``fp / N``. Each false positive costs the same, so the gradient reaches all of them.
        - ``"ignore"``: 0 whatever is predicted, so that such sets have no part in training.

    Raises
    ------
    ValueError : if ``empty`` is another word

    Examples
    --------
    >>> from setwise.losses import Jaccard
    >>> # Two mistakes, four positive or predicted.
    >>> Jaccard()([1, 1, 1, 0, 0], [1, 1, 0, 1, 0])
    0.5
    >>> words = "perfect", "fraction", "ignore"
    >>> [Jaccard(empty)([0, 0, 0, 0], [0, 0, 0, 1]) for empty in words]
    [1.0, 0.25, 0.0]
    """

    empty: Literal["perfect", "fraction", "ignore"] = "perfect"

    name: ClassVar[str] = "jaccard"

    def __post_init__(self) -> None:
        as_choice(self.empty, "empty", ("perfect", "fraction", "ignore"))

    @classmethod
    def examples(cls, p: int) -> "list[Jaccard]":
        return [Jaccard(), Jaccard("fraction"), Jaccard("ignore")]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.SUBMODULAR, Trait.COUNTS})

    @property
    def diluted(self) -> bool | None:
        """True for the limit of the formula: right decisions only add to the union. Other choices leave it at P = 0."""
        return True if self.empty == "perfect" else None

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        union = P + fp
        if self.empty == "perfect":
            # The union is empty only where there is no mistake, and 0 divided by 1 is the loss of a perfect set.
            filled: Values = union + (union == 0.0)
            return (fn + fp) / filled
        # Without positives fn is 0, so both choices depend on fp without_positives.
        without_positives = fp / np.where(N > 0, N, 1.0) if self.empty == "fraction" else 0.0 * fp
        return np.where(P > 0, (fn + fp) / np.where(P > 0, union, 1.0), without_positives)

    @property
    def monge(self) -> bool:
        """True: a false negative adds 1 / (P + fp), which falls as fp grows."""
        return True

    def quotient(self, P: Values, N: Values) -> Quotient:
        if self.empty == "perfect":
            return linear(len(P), 0.0, 1.0, 1.0), linear(len(P), P, 0.0, 1.0)
        # Without positives the coefficients of 1, fn and fp are those of ``fp / N``, or of 0.
        some, alarm = np.where(P > 0, 1.0, 0.0), 1.0 if self.empty == "fraction" else 0.0
        size = np.where(P > 0, P, np.where(N > 0, N, 1.0))
        return linear(len(P), 0.0, 1.0, np.where(P > 0, 1.0, alarm)), linear(len(P), size, 0.0, some)
