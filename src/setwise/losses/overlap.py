"""Losses of overlap: 1 - the Jaccard index, 1 - F_beta, and 1 - the index of Tversky."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np

from setwise.core.checks import Values, as_choice, as_factor, as_number
from setwise.core.counts import Quotient, linear
from setwise.core.loss import CountLoss
from setwise.core.terms import CURVATURES, Trait


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
    traits = frozenset({Trait.INCREASING, Trait.SUBMODULAR, Trait.COUNTS})
    monge = True
    """True: a false negative adds 1 / (P + fp), which falls as fp grows."""

    def __post_init__(self) -> None:
        as_choice(self.empty, "empty", ("perfect", "fraction", "ignore"))

    @classmethod
    def examples(cls, p: int) -> "list[Jaccard]":
        return [Jaccard(), Jaccard("fraction"), Jaccard("ignore")]

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

    def quotient(self, P: Values, N: Values) -> Quotient:
        if self.empty == "perfect":
            return linear(len(P), 0.0, 1.0, 1.0), linear(len(P), P, 0.0, 1.0)
        # Without positives the coefficients of 1, fn and fp are those of ``fp / N``, or of 0.
        some, alarm = np.where(P > 0, 1.0, 0.0), 1.0 if self.empty == "fraction" else 0.0
        size = np.where(P > 0, P, np.where(N > 0, N, 1.0))
        return linear(len(P), 0.0, 1.0, np.where(P > 0, 1.0, alarm)), linear(len(P), size, 0.0, some)


@final
@dataclass(frozen=True)
class Tversky(CountLoss):
    """``1 - tp / (tp + alpha fp + beta fn) = (alpha fp + beta fn) / (P + alpha fp + (beta - 1) fn)``, in [0, 1].

    An overlap in which the two kinds of mistakes have different weights. With ``alpha = beta = 1`` the index is the
    Jaccard index, with ``alpha = beta = 1/2`` it is F1 (Dice), and with ``alpha = 1 / (1 + b^2)`` and ``beta = b^2 / (1
    + b^2)`` it is F_b. The loss is increasing, and submodular for beta >= 1. Where the index is 0/0, because there are
    no positives and none are predicted, the loss is ``1 - zero_division``, by default 0.

    Source: Tversky (1977).

    Parameters
    ----------
    alpha, beta : the weight of a false positive and that of a false negative, above 0
    zero_division : the value of the index where it is 0/0, in [0, 1]

    Raises
    ------
    TypeError, ValueError : if a weight is no number above 0, or zero_division none in [0, 1]

    Examples
    --------
    >>> from setwise.losses import Tversky
    >>> # One true positive, two false ones.
    >>> y_true, y_pred = [1, 0, 0, 0], [1, 1, 1, 0]
    >>> Tversky()(y_true, y_pred), Tversky(alpha=1.5)(y_true, y_pred)  # 1/2 and 3/4
    (0.5, 0.75)
    """

    alpha: float = 0.5
    beta: float = 0.5
    zero_division: float = 1.0

    name: ClassVar[str] = "tversky"
    diluted = True
    """True: right decisions only add to the denominator, and 0/0 becomes 0."""

    def __post_init__(self) -> None:
        as_factor(self.alpha, "alpha")
        as_factor(self.beta, "beta")
        as_number(self.zero_division, "zero_division", low=0.0, high=1.0)

    @classmethod
    def examples(cls, p: int) -> "list[Tversky]":
        return [
            Tversky(),
            Tversky(1.0, 1.0),
            Tversky(0.3, 0.2),
            Tversky(0.3, 0.7),
            Tversky(0.3, 1.5, zero_division=0.0),
            Tversky(2.0, 1.0, zero_division=0.5),
        ]

    @property
    def traits(self) -> frozenset[Trait]:
        found = {Trait.INCREASING, Trait.COUNTS}
        return frozenset(found | {Trait.SUBMODULAR} if self.beta >= 1.0 else found)

    @property
    def denied(self) -> frozenset[Trait]:
        # With beta < 1 the denominator falls as false negatives gather, so their gains may grow.
        curved = {Trait.MODULAR, Trait.SUPERMODULAR}
        return frozenset(curved if self.beta >= 1.0 else curved | {Trait.SUBMODULAR})

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        wrong = self.alpha * fp + self.beta * fn
        # ``whole`` is 0 only where the index is 0/0.
        whole = P - fn + wrong
        return np.where(whole > 0, wrong / np.where(whole > 0, whole, 1.0), 1.0 - self.zero_division)

    @property
    def monge(self) -> bool | None:
        """True for beta >= 1/2; for smaller beta the property need not hold."""
        # The sign of the mixed derivative is that of -alpha fp - (1 - beta) fn - (2 beta - 1) P, and fn <= P.
        return True if self.beta >= 0.5 else None

    def quotient(self, P: Values, N: Values) -> Quotient:
        # Without positives the formula is 1 wherever it is not 0/0; the loss of no mistake is not read from it.
        return linear(len(P), 0.0, self.beta, self.alpha), linear(len(P), P, self.beta - 1.0, self.alpha)


@final
@dataclass(frozen=True)
class FBeta(CountLoss):
    """``(b^2 fn + fp) / ((1 + b^2) P - fn + fp)``, 1 - ``sklearn.metrics.fbeta_score``; in [0, 1].

    F_b is the harmonic mean of precision and recall in which recall has b^2 times the weight of precision; b = 1 gives
    F1. The loss is increasing, but not submodular. Where F is 0/0, because there are no positives and none are
    predicted, the loss is ``1 - zero_division``, by default 0. A set without positives in which any is
    predicted has the loss 1.

    Source: Joachims (2005).

    Parameters
    ----------
    beta : b, above 0
    zero_division : the value of F where it is 0/0, in [0, 1], as in scikit-learn

    Raises
    ------
    TypeError, ValueError : if beta is no number above 0, or zero_division none in [0, 1]

    Examples
    --------
    >>> from setwise.losses import FBeta
    >>> # The recall is 1, the precision 1/3.
    >>> y_true, y_pred = [1, 0, 0, 0], [1, 1, 1, 0]
    >>> FBeta()(y_true, y_pred)
    0.5
    >>> # 2/7, as recall has four times the weight.
    >>> round(FBeta(beta=2.0)(y_true, y_pred), 3)
    0.286
    >>> FBeta()([0, 0], [0, 0]), FBeta(zero_division=0.0)([0, 0], [0, 0])
    (0.0, 1.0)
    """

    beta: float = 1.0
    zero_division: float = 1.0

    name: ClassVar[str] = "f1"
    traits = frozenset({Trait.INCREASING, Trait.COUNTS})
    denied = CURVATURES
    diluted = True
    """True: right decisions only add to the denominator, and 0/0 becomes 0."""

    def __post_init__(self) -> None:
        as_factor(self.beta, "beta")
        as_number(self.zero_division, "zero_division", low=0.0, high=1.0)

    @classmethod
    def examples(cls, p: int) -> "list[FBeta]":
        return [FBeta(), FBeta(2.0, zero_division=0.0), FBeta(0.5, zero_division=0.25), FBeta(0.1)]

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        square = self.beta**2
        # ``whole`` is 0 only where F is 0/0.
        whole = (1.0 + square) * P - fn + fp
        return np.where(whole > 0, (square * fn + fp) / np.where(whole > 0, whole, 1.0), 1.0 - self.zero_division)

    @property
    def monge(self) -> bool | None:
        """True for beta >= 1; for smaller beta the property need not hold."""
        return True if self.beta >= 1.0 else None

    def quotient(self, P: Values, N: Values) -> Quotient:
        square = self.beta**2
        # F_b is the Tversky index with these weights.
        return Tversky(1.0 / (1.0 + square), square / (1.0 + square), self.zero_division).quotient(P, N)
