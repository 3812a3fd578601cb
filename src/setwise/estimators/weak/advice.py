"""What the knowledge can decide, and what it cannot: bags without signal, and the interval of the intercept."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import chi2

from setwise.core.checks import Ints, Values
from setwise.estimators.weak.knowledge import Knowledge
from setwise.estimators.weak.racing import FAR, Race, likeliest_constant
from setwise.probabilistic import CountLikelihood

CHANCE = 0.01
"""What a test finds is chance where its p-value is above this."""

REMEDY = "Know the labels y of some rows, or form bags whose shares differ."

DROP = 1.92
"""So much may the log-likelihood drop in an interval of 95 %."""


@final
@dataclass(frozen=True)
class Interval:
    """How far what is known decides the intercept.

    Attributes
    ----------
    low, high : constants that may be added to all log-odds
    undecided : the share of the rows of which something is known whose predicted label depends on which is added
    """

    low: float
    high: float
    undecided: float


def words_on_signal(knowledge: Knowledge, race: Race | None) -> str | None:
    """A sentence where the bags tell rows apart no better than chance, or None (naive bags).

    After a race: one share explains what is known of all bags, up to chance, and held-out bags are more likely by the
    features than by one share only by chance, or by less than 1.92 in all. Without one the same must be known of all
    bags, up to one row.
    A label that was given lifts it.
    """
    if knowledge.labeled or (knowledge.sets.labels >= 0).all():
        return None
    count = len(knowledge)
    if count == 1:
        return f"one bag carries no signal of which of its rows are positive. {REMEDY}"
    if race is None:
        same = _same(knowledge.low, knowledge.sets.sizes) and _same(knowledge.high, knowledge.sets.sizes)
        return f"the bags carry hardly any signal: the same is known of all {count} of them. {REMEDY}" if same else None
    p, (gain, error) = _chance_of_one_share(knowledge), race.signal
    if p <= CHANCE or (race.chance <= CHANCE and gain * count > DROP):
        return None
    return (
        f"the bags show no signal: one share of positives explains what is known of {count} bags up to chance "
        f"(p = {p:.2g}), and by the features held-out bags are hardly more likely than by one share (by {gain:.3g} ± "
        f"{error:.2g} a bag, p = {race.chance:.2g}). {REMEDY}"
    )


def _same(counts: Ints, sizes: Ints) -> bool:
    """Whether counts of all bags are the same share of their sizes, up to one row."""
    return bool((np.abs(counts - sizes * (counts.sum() / sizes.sum())) <= 1.0).all())


def _chance_of_one_share(knowledge: Knowledge) -> float:
    """The p-value of a chi-squared test that one share of positives explains the numbers that are known of bags."""
    sizes, share = knowledge.sets.sizes, float(expit(likeliest_constant(knowledge).log_odds))
    off = np.clip(sizes * share, knowledge.low, knowledge.high) - sizes * share
    variance = np.maximum(sizes * share * (1.0 - share), np.finfo(np.float64).tiny)
    return float(chi2.sf((off * off / variance).sum(), len(sizes) - 1))


def interval_of(knowledge: Knowledge, scores: Values) -> Interval:
    """The constants c for which the log-odds ``scores + c`` are within 1.92 of the greatest log-likelihood: 95 %."""
    evaluator = CountLikelihood(knowledge.loss).on(knowledge.sets)

    def loss(c: float) -> float:
        return float(evaluator(scores + c).values.sum())

    def both(c: Values) -> tuple[float, Values]:
        found = evaluator(scores + c[0])
        return float(found.values.sum()), np.array([found.gradient.sum()])

    found = minimize(both, np.zeros(1), jac=True, method="L-BFGS-B", bounds=[(-FAR, FAR)])
    best, limit = float(found.x[0]), float(found.fun) + DROP
    low, high = _edge(loss, best, limit, -1.0), _edge(loss, best, limit, 1.0)
    return Interval(low, high, float(((scores + low > 0.0) != (scores + high > 0.0)).mean()))


def _edge(loss: Callable[[float], float], inside: float, limit: float, way: float) -> float:
    """Where the loss rises above the limit, on one side of a point inside; to a thousandth of the distance."""
    step = 0.125
    while loss(inside + way * step) <= limit:
        step *= 2.0
        if step > FAR:
            return way * np.inf
    near, far = (step / 2.0 if step > 0.125 else 0.0), step
    while far - near > 1e-3 * far:
        middle = (near + far) / 2.0
        near, far = (middle, far) if loss(inside + way * middle) <= limit else (near, middle)
    return inside + way * far
