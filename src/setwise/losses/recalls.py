"""Losses of both classes: 1 - the geometric or harmonic mean of their recalls, 1 - Matthews' correlation or kappa."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np

from setwise.core.checks import Values, as_choice
from setwise.core.counts import Curvature, Quotient, convex_monge, linear
from setwise.core.loss import CountLoss
from setwise.core.terms import CURVATURES, Trait


@final
@dataclass(frozen=True)
class MCC(CountLoss):
    """``1 - (tp tn - fp fn) / sqrt((tp + fp) (tn + fn) P N)``, 1 - ``sklearn.metrics.matthews_corrcoef``; in [0, 2].

    One minus the correlation of truth and prediction: 0 if they agree, 1 if they are unrelated, 2 if they are opposite.
    The loss is increasing. If the truth or the prediction has one class only, the formula is 0/0; the coefficient is
    then 0 and the loss 1. So a set of one class has the loss 1 whatever is predicted; a set of which nothing is known
    has the loss 0.

    Source: Matthews (1975).

    Examples
    --------
    >>> from setwise.losses import MCC
    >>> MCC()([1, 1, 0, 0], [1, 0, 1, 0]), MCC()([1, 1, 0, 0], [0, 0, 1, 1])
    (1.0, 2.0)
    >>> MCC()([0, 0, 0], [0, 0, 0])  # one class only: 1, though all are right
    1.0
    """

    name: ClassVar[str] = "mcc"
    traits = frozenset({Trait.INCREASING, Trait.COUNTS})
    denied = CURVATURES
    affine = True
    """True: at a given number predicted the root is a constant, and ``tp tn - fp fn = p tp - (tp + fp) P``."""
    diluted = True
    """True: the coefficient grows with tp, and so with tn.

    Its numerator A has the derivative tn by tp. Where A > 0 this is at least ``A / tp``, and the root grows by at
    most its own share ``1 / tp``. Where A <= 0 the numerator grows and the root does not fall.
    """

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        tp, tn = P - fn, N - fp
        # The root is taken in two steps, because the product of four large counts has more digits than a float.
        scale = np.sqrt((tp + fp) * (tn + fn)) * np.sqrt(P * N)
        # Where the scale is 0 the numerator is 0 too.
        known = np.where(P + N > 0, 1.0, 0.0)
        return known - (tp * tn - fp * fn) / np.where(scale > 0, scale, 1.0)

    @property
    def curvature(self) -> Curvature:
        """Bounds from the ranges of two factors: one is linear, the other depends on the number predicted alone."""
        return _curvature


def _curvature(
    fn: Values, last_fn: Values, fp: Values, last_fp: Values, P: Values, N: Values
) -> tuple[Values, Values, Values]:
    """Bounds on the second derivatives of ``1 - n h`` with the linear ``n = P N - N fn - P fp`` and a convex h of q.

    ``h = (P N q (P + N - q))^(-1/2)`` is symmetric, and its second derivative is least in the middle. By the rule of
    products, with the derivatives -1 and 1 of q, the loss has the second derivatives ``-2 N h' - n h''`` along fn,
    ``2 P h' - n h''`` along fp, and the mixed one ``(N - P) h' + n h''``. Each is bounded term by term.
    """
    p = P + N
    first, last = P - last_fn + fp, P - fn + last_fp
    most = P * N - N * fn - P * fp
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes, ends, middle = (
            _derivatives(first, p, P * N),
            _derivatives(last, p, P * N),
            _derivatives(np.clip(p / 2.0, first, last), p, P * N),
        )
        highest, lowest = np.maximum(slopes[1], ends[1]), middle[1]
        product = np.where(most > 0, most * highest, most * lowest)
        # Where one class is predicted alone the loss is 1, whatever the formula tends to.
        inside = (first > 0) & (last < p) & (P * N > 0)
        mixed = np.maximum((N - P) * slopes[0], (N - P) * ends[0]) + product
        out = (-2.0 * N * ends[0] - product, 2.0 * P * slopes[0] - product, mixed)
    unknown = (-np.inf, -np.inf, np.inf)
    constant = P * N == 0
    found = [np.where(constant, 0.0, np.where(inside, x, none)) for x, none in zip(out, unknown, strict=True)]
    return found[0], found[1], found[2]


def _derivatives(q: Values, p: Values, scale: Values) -> tuple[Values, Values]:
    """The first and the second derivative of ``(scale q (p - q))^(-1/2)``."""
    r, tilt = q * (p - q), p - 2.0 * q
    h = 1.0 / (np.sqrt(scale) * np.sqrt(r))
    return -0.5 * h * tilt / r, h * (0.75 * (tilt / r) ** 2 + 1.0 / r)


@final
@dataclass(frozen=True)
class CohenKappa(CountLoss):
    """``(P + N) (fn + fp) / (2 P N + (P - N) (fn - fp))``, 1 - ``sklearn.metrics.cohen_kappa_score``; in [0, 2].

    Kappa is ``(a - e) / (1 - e)`` with the accuracy a and the accuracy e that labels drawn at random would have, in the
    same numbers as in truth and prediction. The loss is 0 if they agree and 1 if they agree as chance does; it is
    increasing. If truth and prediction are the same one class, the formula is 0/0 and the loss 0; scikit-learn then
    returns NaN.

    Source: Cohen (1960, 1968).

    Parameters
    ----------
    weights : how much a mistake counts where there are more than two classes, in sorted order: None counts all alike,
        ``"linear"`` by the distance of the two classes, ``"quadratic"`` by its square

    Raises
    ------
    ValueError : for other weights

    Examples
    --------
    >>> from setwise.losses import CohenKappa
    >>> CohenKappa()([1, 1, 0, 0], [1, 0, 0, 0]), CohenKappa()([1, 1, 0, 0], [0, 0, 1, 1])
    (0.5, 2.0)
    >>> CohenKappa()([0, 0, 0], [0, 0, 0]), CohenKappa()([0, 0, 0], [0, 1, 0])  # one class only
    (0.0, 1.0)
    """

    weights: Literal["linear", "quadratic"] | None = None

    name: ClassVar[str] = "kappa"
    traits = frozenset({Trait.INCREASING, Trait.COUNTS})
    denied = CURVATURES
    diluted = True
    """True: the derivatives by P and N have the signs of ``-N (N + fn - fp)`` and ``-P (P - fn + fp)``."""
    monge = True
    """True: the mixed derivative has the sign of ``-(P - N)^2 (fn + fp)``."""

    def __post_init__(self) -> None:
        if self.weights is not None:
            as_choice(self.weights, "weights", ("linear", "quadratic"))

    def __repr__(self) -> str:
        return "CohenKappa()" if self.weights is None else f"CohenKappa({self.weights!r})"

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        whole = 2.0 * P * N + (P - N) * (fn - fp)
        return (P + N) * (fn + fp) / np.where(whole > 0, whole, 1.0)

    def quotient(self, P: Values, N: Values) -> Quotient:
        return linear(len(P), 0.0, P + N, P + N), linear(len(P), 2.0 * P * N, P - N, N - P)


def recalls(fn: Values, fp: Values, P: Values, N: Values) -> tuple[Values, Values]:
    """``1 - fn / P`` and ``1 - fp / N``; an absent class gets the recall of the other one, and both absent get 1."""
    # Arrays whose numbers lie on another device can not be asked.
    asked = isinstance(P, float | np.ndarray) and isinstance(N, float | np.ndarray)
    if asked and np.all(P > 0) and np.all(N > 0):
        return 1.0 - fn / P, 1.0 - fp / N
    # So an absent class drops out of any mean of the two recalls.
    positive = np.where(P > 0, 1.0 - fn / np.where(P > 0, P, 1.0), 1.0)
    negative = np.where(N > 0, 1.0 - fp / np.where(N > 0, N, 1.0), positive)
    return np.where(P > 0, positive, negative), negative


class LossOfRecalls(CountLoss):
    """``1 -`` a mean of the recalls of both classes, which is concave in each of them; a subclass gives the mean."""

    traits = frozenset({Trait.INCREASING, Trait.COUNTS})
    denied = CURVATURES
    diluted = True
    """True: both recalls grow with right decisions. A class that was absent comes in with the recall 1."""
    monge = True
    """True: the mixed differences of the mean by fn and fp are not negative, so those of the loss are not positive.

    The product of the recalls, whose root is the geometric mean, has one factor that falls with fn and one that falls
    with fp; the mixed derivative of the harmonic mean of a and b is ``4 a b / (a + b)^3``.
    """

    @property
    def curvature(self) -> Curvature:
        """The loss is convex along fn and fp, as the mean is concave in each recall, and Monge."""
        return convex_monge


@final
@dataclass(frozen=True)
class GMean(LossOfRecalls):
    """``1 - sqrt((1 - fn / P) (1 - fp / N))``, 1 - the geometric mean of the recalls of both classes; in [0, 1].

    The loss is 1 as soon as one class is missed altogether. In a set of one class it is the share of wrong decisions of
    that class, ``fn / P`` or ``fp / N``: the mean is that of ``sklearn.metrics.recall_score`` over the classes that
    occur in the set. The loss is increasing.

    Source: Kubat and Matwin (1997).

    Examples
    --------
    >>> from setwise.losses import GMean
    >>> GMean()([1, 1, 1, 1, 0], [1, 0, 0, 0, 0])  # the recalls are 1/4 and 1
    0.5
    >>> GMean()([0, 0, 0, 0], [0, 1, 0, 0])  # one class: the share that is wrong
    0.25
    """

    name: ClassVar[str] = "g_mean"

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        positive, negative = recalls(fn, fp, P, N)
        found = positive * negative
        # Tables of counts are large, so no more arrays are made.
        out = found if np.ndim(found) else None
        return np.subtract(1.0, np.sqrt(found, out=out), out=out)


@final
@dataclass(frozen=True)
class HMean(LossOfRecalls):
    """``1 - 2 a b / (a + b)`` with the recalls ``a = 1 - fn / P`` and ``b = 1 - fp / N`` of both classes; in [0, 1].

    This is 1 - the harmonic mean of ``sklearn.metrics.recall_score`` over the classes that occur in the set, so in a
    set of one class ``fn / P`` or ``fp / N``; it is 1 if both recalls are 0. The loss is increasing, and never smaller
    than :class:`GMean`.

    Source: a function of the counts as in Joachims (2005), with the means of :class:`GMean`.

    Examples
    --------
    >>> from setwise.losses import HMean
    >>> # The recalls are 1/4 and 1, their mean 0.5 / 1.25.
    >>> round(HMean()([1, 1, 1, 1, 0], [1, 0, 0, 0, 0]), 3)
    0.6
    """

    name: ClassVar[str] = "h_mean"

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        positive, negative = recalls(fn, fp, P, N)
        total = positive + negative
        # If both recalls are 0, the product is 0 too, and any divisor gives the loss 1.
        return 1.0 - 2.0 * positive * negative / np.where(total > 0, total, 1.0)
