"""Losses of the number predicted positive, whichever decisions are wrong; and Q-measures, which read both.

A Q-measure is the harmonic mean of a score of the decisions and a score of the number predicted.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np

from setwise.core.checks import Values, as_factor
from setwise.core.counts import Ceiling, Curvature, Formula, convex_monge
from setwise.core.loss import CountLoss
from setwise.core.terms import CURVATURES, Trait
from setwise.losses.mistakes import ErrorRate
from setwise.losses.overlap import FBeta
from setwise.losses.recalls import GMean


class PrevalenceLoss(CountLoss):
    """A convex function of ``fp - fn``, 0 at 0, which right decisions never raise; a subclass gives the formula.

    Misses and false alarms that are equally many cost nothing, so the loss is not increasing.
    """

    traits = frozenset({Trait.COUNTS})
    denied = CURVATURES | {Trait.INCREASING}
    monge = True
    """True: the loss is a convex function of ``fp - fn``."""
    affine = True
    """True: the loss depends on the number predicted, and not on which decisions are."""
    diluted = True
    """True, as the class says."""

    @property
    def curvature(self) -> Curvature:
        """A convex function of ``fp - fn`` is convex along both, and Monge."""
        return convex_monge


@final
@dataclass(frozen=True)
class AE(PrevalenceLoss):
    """``|fp - fn| / (P + N)``, the absolute error of the prevalence that is predicted; in [0, 1].

    A quantifier is judged by it. Misses and false alarms that are equally many cost nothing, so the loss is not
    increasing.

    Source: Sebastiani (2020), who surveys measures of quantification; Moreo and Sebastiani (2022) train for it.

    Examples
    --------
    >>> from setwise.losses import AE
    >>> # A half is positive, and a quarter is predicted.
    >>> AE()([1, 1, 0, 0], [1, 0, 0, 0])
    0.25
    >>> AE()([1, 1, 0, 0], [0, 0, 1, 1])  # all are wrong, but their number is right
    0.0
    """

    name: ClassVar[str] = "ae"

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        # The size is 0 in a set without known labels.
        return np.abs(fp - fn) / np.maximum(P + N, 1e-300)


@final
@dataclass(frozen=True)
class RAE(PrevalenceLoss):
    """``(|fp - fn| / (P + 1/2) + |fp - fn| / (N + 1/2)) / 2``, the mean relative error of the two prevalences.

    A quantifier is judged by it. Both prevalences are smoothed by half a decision of each class, as in :class:`KLD`, so
    that sets of one class have a finite loss. The error of a rare class weighs the most. Misses and false alarms that
    are equally many cost nothing, so the loss is not increasing. It is at least 0, and at most about P + N.

    Source: Sebastiani (2020), who surveys measures of quantification; Moreo and Sebastiani (2022) train for it.

    Examples
    --------
    >>> from setwise.losses import RAE
    >>> # One positive too few: 1 / 2.5 for both classes.
    >>> RAE()([1, 1, 0, 0], [1, 0, 0, 0])
    0.4
    """

    name: ClassVar[str] = "rae"

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return 0.5 * np.abs(fp - fn) * (1.0 / (P + 0.5) + 1.0 / (N + 0.5))


def divergence(fn: Values, fp: Values, P: Values, N: Values) -> Values:
    """``p log(p / q) + (1 - p) log((1 - p) / (1 - q))`` with p from P, and q from ``P - fn + fp``, of P + N decisions.

    Each prevalence is ``(count + 1/2) / (P + N + 1)``, so that the divergence is finite.
    """
    more, positive, negative = fp - fn, P + 0.5, N + 0.5
    total = positive * np.log1p(more / positive) + negative * np.log1p(-more / negative)
    # The two terms nearly cancel where few decisions too many are positive, and rounding may leave a negative rest.
    return np.maximum(-total / (positive + negative), 0.0)


def agreement(fn: Values, fp: Values, P: Values, N: Values) -> Values:
    """``1 - |fp - fn| / max(P, N)``, the normalized absolute score of Barranquero et al. (2015), in [0, 1]."""
    # The size is 0 in a set without known labels.
    return 1.0 - np.abs(fp - fn) / np.maximum(np.maximum(P, N), 1e-300)


def ceiling_of_q(classified: Formula, beta: float) -> Ceiling:
    """A bound on ``1 - joined(classified, agreement, beta)`` over ranges of fn and fp; ``classified`` falls with both.

    The mean is least where both scores are: with most mistakes, and where fn and fp are farthest apart.
    """

    def most(first_fn: Values, fn: Values, first_fp: Values, fp: Values, P: Values, N: Values) -> Values:
        apart = np.maximum(fp - first_fn, fn - first_fp)
        return 1.0 - joined(classified(fn, fp, P, N), agreement(0.0 * apart, apart, P, N), beta)

    return most


def joined(classified: Values, counted: Values, beta: float) -> Values:
    """``(1 + b^2) c q / (b^2 c + q)`` of a score c of the decisions and a score q of their number; 0 where both are 0.

    This is the Q-measure of Barranquero et al. (2015): the larger b, the more the number counts.
    """
    square = beta**2
    total = square * classified + counted
    # Where the total is 0 the product is 0 too.
    return (1.0 + square) * classified * counted / np.where(total > 0, total, 1.0)


@final
@dataclass(frozen=True)
class KLD(PrevalenceLoss):
    """``p log(p / q) + (1 - p) log((1 - p) / (1 - q))``, the divergence of the prevalence q that is predicted from p.

    A quantifier is judged by it. Both prevalences are smoothed by half a decision of each class, ``p = (P + 1/2) /
    (P + N + 1)`` and ``q = (P - fn + fp + 1/2) / (P + N + 1)``, so that sets of one class have a finite loss. Misses
    and false alarms that are equally many cost nothing. The loss is not increasing, and in [0, log(2 (P + N) + 1)).

    Source: Esuli and Sebastiani (2015).

    Examples
    --------
    >>> from setwise.losses import KLD
    >>> round(KLD()([1, 0], [0, 0]), 3)  # p = 1/2 and q = 1/6: log(9 / 5) / 2
    0.294
    >>> KLD()([1, 0], [0, 1])  # all are wrong, but their number is right
    0.0
    """

    name: ClassVar[str] = "kld"

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        # The derivative of (P + N + 1) KLD by P is log r + 1 - r <= 0 with r = p / q, and by N alike.
        return divergence(fn, fp, P, N)


@final
@dataclass(frozen=True)
class NKLD(PrevalenceLoss):
    """``2 e / (e + 1) - 1 = tanh(KLD / 2)`` with ``e = exp(KLD)``, the divergence normalized to [0, 1).

    The prevalences are smoothed as in :class:`KLD`. Misses and false alarms that are equally many cost nothing, so the
    loss is not increasing.

    Source: Esuli and Sebastiani (2015) for the divergence and its smoothing, and (2014) for its normalization.

    Examples
    --------
    >>> from setwise.losses import KLD, NKLD
    >>> round(NKLD()([1, 0], [0, 0]), 3), round(KLD()([1, 0], [0, 0]), 3)
    (0.146, 0.294)
    """

    name: ClassVar[str] = "nkld"

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        # It is convex in q, and so in fp - fn: with k for KLD as a function of q,
        # k'' = k'^2 + p (1 - p) / (q (1 - q))^2, and k'' >= tanh(k / 2) k'^2.
        return np.tanh(0.5 * divergence(fn, fp, P, N))


@dataclass(frozen=True)
class QMeasure(CountLoss):
    """``1 - (1 + b^2) c q / (b^2 c + q)`` with a score c of the decisions and ``q = 1 - |fp - fn| / max(P, N)``.

    This is one minus the Q-measure (Barranquero et al. 2015). A subclass gives c, in [0, 1], which falls with fn and
    with fp and never with more right decisions. The loss is in [0, 1], and 1 where c and q are both 0. It need not
    increase: a false alarm may make up for a miss.

    Parameters
    ----------
    beta : b, above 0; the larger, the more the number predicted counts
    """

    beta: float = 1.0
    traits = frozenset({Trait.COUNTS})
    diluted = True
    """True: both scores grow with right decisions."""

    def __post_init__(self) -> None:
        as_factor(self.beta, "beta")

    @classmethod
    def examples(cls, p: int) -> list[Self]:
        return [cls(), cls(2.0), cls(0.5)]

    @abstractmethod
    def score(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """The score c of the decisions, in the shape of the counts."""

    @property
    def denied(self) -> frozenset[Trait]:
        return CURVATURES | {Trait.INCREASING}

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return 1.0 - joined(self.score(fn, fp, P, N), agreement(fn, fp, P, N), self.beta)

    @property
    def ceiling(self) -> Ceiling:
        """A bound from the least score of each kind."""
        return ceiling_of_q(self.score, self.beta)


@final
@dataclass(frozen=True)
class Q(QMeasure):
    """``1 - (1 + b^2) c q / (b^2 c + q)`` with ``c = 1 - fn / P`` and ``q = 1 - |fp - fn| / max(P, N)``; in [0, 1].

    One minus the Q-measure, the harmonic mean of the recall c and of a score q of the number predicted. The loss is not
    increasing: a false alarm may make up for a miss. Where c and q are both 0, it is 1. Without positives c is 1,
    because nothing is missed.

    Source: Barranquero, Díez and del Coz (2015).

    Parameters
    ----------
    beta : b, above 0; the larger, the more the number predicted counts

    Raises
    ------
    TypeError, ValueError : if beta is no number above 0

    Examples
    --------
    >>> from setwise.losses import Q
    >>> # The recall is 1/3, and the number predicted is right.
    >>> Q()([1, 1, 1, 0, 0], [1, 0, 0, 1, 1])
    0.5
    """

    name: ClassVar[str] = "q"

    def score(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """``1 - fn / P``; 1 without positives, where nothing is missed."""
        return 1.0 - fn / np.where(P > 0, P, 1.0)


@final
@dataclass(frozen=True)
class QAcc(QMeasure):
    """``1 - (1 + b^2) c q / (b^2 c + q)`` with the accuracy c and ``q = 1 - |fp - fn| / max(P, N)``; in [0, 1].

    One minus the Q-measure with the accuracy, ``1 - ErrorRate()``, in place of the recall of :class:`Q`. The loss is
    not increasing: a false alarm may make up for a miss. Where c and q are both 0, it is 1.

    Source: Barranquero, Díez and del Coz (2015) for the measure; with the accuracy it is the loss ``qacc`` of QuaPy.

    Parameters
    ----------
    beta : b, above 0; the larger, the more the number predicted counts

    Raises
    ------
    TypeError, ValueError : if beta is no number above 0

    Examples
    --------
    >>> from setwise.losses import QAcc
    >>> # The accuracy is 1/3, and the number predicted is right.
    >>> QAcc()([1, 1, 0], [1, 0, 1])
    0.5
    """

    name: ClassVar[str] = "qacc"

    def score(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """The accuracy."""
        return 1.0 - ErrorRate().of_counts(fn, fp, P, N)


@final
@dataclass(frozen=True)
class QF1(QMeasure):
    """``1 - (1 + b^2) c q / (b^2 c + q)`` with c = F1 and ``q = 1 - |fp - fn| / max(P, N)``; in [0, 1].

    One minus the Q-measure with F1, ``1 - FBeta()``, in place of the recall of :class:`Q`. The loss need not increase:
    a false alarm may make up for a miss. Where c and q are both 0, it is 1. Without positives F1 is 1 where none is
    predicted, and else 0.

    Source: Barranquero, Díez and del Coz (2015) for the measure; with F1 it is the loss ``qf1`` of QuaPy.

    Parameters
    ----------
    beta : b, above 0; the larger, the more the number predicted counts

    Raises
    ------
    TypeError, ValueError : if beta is no number above 0

    Examples
    --------
    >>> from setwise.losses import QF1
    >>> # F1 is 1/3, and the number predicted is right.
    >>> QF1()([1, 1, 1, 0, 0], [1, 0, 0, 1, 1])
    0.5
    """

    name: ClassVar[str] = "qf1"

    @property
    def denied(self) -> frozenset[Trait]:
        # For small b a mistake may always cost more than the number gains.
        return super().denied if self.beta >= 1.0 else CURVATURES

    def score(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """F1."""
        return 1.0 - FBeta().of_counts(fn, fp, P, N)


@final
@dataclass(frozen=True)
class QGM(QMeasure):
    """``1 - (1 + b^2) c q / (b^2 c + q)``, ``c = sqrt((1 - fn / P) (1 - fp / N))``, ``q = 1 - |fp - fn| / max(P, N)``.

    One minus the Q-measure with the geometric mean of the two recalls, ``1 - GMean()``, in place of the recall of
    :class:`Q`; in [0, 1]. The loss need not increase: a false alarm may make up for a miss. Where c and q are both 0,
    it is 1. In a set of one class c is the recall of that class.

    Source: Barranquero, Díez and del Coz (2015) for the measure; with this c it is the loss ``qgm`` of QuaPy.

    Parameters
    ----------
    beta : b, above 0; the larger, the more the number predicted counts

    Raises
    ------
    TypeError, ValueError : if beta is no number above 0

    Examples
    --------
    >>> from setwise.losses import QGM
    >>> # Both recalls are 1/3, and the number is right.
    >>> round(QGM()([1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 1, 1]), 3)
    0.5
    """

    name: ClassVar[str] = "qgm"

    @property
    def denied(self) -> frozenset[Trait]:
        # For small b a mistake may always cost more than the number gains.
        return super().denied if self.beta >= 1.0 else CURVATURES

    def score(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """The geometric mean of the recalls."""
        return 1.0 - GMean().of_counts(fn, fp, P, N)
