"""What learners return: weights with their certificate, and a record of each iteration."""

from dataclasses import dataclass, field
from typing import final

from setwise.core.arrays import Values


@final
@dataclass(frozen=True)
class Record:
    """The state of a learner after one iteration.

    Attributes
    ----------
    iteration : its number, from 1
    objective : F at the best weights so far, as inference computed it
    lower_bound : the minimum of F is at least this
    upper_bound : F at the best weights is at most this
    seconds : since the fit began; those of an earlier fit that it goes on from count too
    gap : ``(upper_bound - lower_bound) / max(|upper_bound|, C / 1000)``

    Examples
    --------
    >>> from setwise.core.sets import Sets
    >>> from setwise.learners import OneSlack
    >>> from setwise.models import Independent
    >>> from setwise.risks import MeanRisk
    >>> from setwise.surrogates import LovaszHinge
    >>> risk = MeanRisk(Independent([[1.0]], intercept=0.0), LovaszHinge("hamming").on(Sets.single([1])))
    >>> fit = OneSlack(C=0.5, tol=1e-6).minimize(risk)
    >>> first, last = fit.history[0], fit.history[-1]
    >>> first.iteration, first.objective, round(last.objective, 3), last.gap <= 1e-6
    (1, 0.5, 0.375, True)
    """

    iteration: int
    objective: float
    lower_bound: float
    upper_bound: float
    seconds: float
    gap: float


@final
@dataclass(frozen=True, eq=False)
class Fit:
    """The best weights that were seen, with the certificate ``lower_bound <= minimum <= F(w) <= upper_bound``.

    Attributes
    ----------
    w : (d,)
    objective : F(w) as inference computed it
    lower_bound : the minimum of F is at least this
    upper_bound : F(w) is at most this; it also counts what inexact inference may have missed
    gap : ``(upper_bound - lower_bound) / max(|upper_bound|, C / 1000)``
    status : ``"converged"``, ``"local"``, ``"max_iter"``, ``"stalled"``, ``"interrupted"`` or ``"callback"``; an
        estimator with ``C=0``, which takes no step, has ``"start"``
    message : explains the status
    history : a :class:`Record` for each iteration

    Examples
    --------
    >>> from setwise.core.sets import Sets
    >>> from setwise.learners import OneSlack
    >>> from setwise.models import Independent
    >>> from setwise.risks import MeanRisk
    >>> from setwise.surrogates import LovaszHinge
    >>> risk = MeanRisk(Independent([[1.0]], intercept=0.0), LovaszHinge("hamming").on(Sets.single([1])))
    >>> fit = OneSlack(C=0.5, tol=1e-6).minimize(risk)  # 0.5 w^2 + 0.5 max(0, 1 - w), least at w = 0.5
    >>> print(fit.w.round(3), round(fit.lower_bound, 3), round(fit.upper_bound, 3), fit.status)
    [0.5] 0.375 0.375 converged
    """

    w: Values
    objective: float
    lower_bound: float
    upper_bound: float
    gap: float
    status: str
    message: str
    history: tuple[Record, ...] = field(repr=False)
