"""What the knowledge can decide, and what it cannot: bags without signal, and the interval of the intercept."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.optimize import minimize
from scipy.stats import chi2

from setwise.core.arrays import Values
from setwise.estimators.weak.knowledge import Knowledge
from setwise.estimators.weak.racing import Race
from setwise.probabilistic import CountLikelihood

CHANCE = 0.01
"""What a test finds is chance where its p-value is above this."""

DROP = 1.92
"""So much may the log-likelihood drop in an interval of 95 %."""

FAR = 50.0
"""Log-odds farther away are infinite."""


@final
@dataclass(frozen=True)
class Interval:
    """How far what is known decides the intercept.

    Attributes
    ----------
    low, high : constants that may be added to all log-odds
    undecided : the share of the training rows whose predicted label depends on which of them is added
    """

    low: float
    high: float
    undecided: float


def words_on_signal(knowledge: Knowledge, race: Race | None) -> str | None:
    """A sentence where the bags tell rows apart no better than chance, or None (naive bags).

    The shares of all bags are alike up to chance, and held-out bags are more likely than under their mean share only
    by chance; without a race all shares must be equal up to one row. A known label lifts it.
    """
    if (knowledge.sets.labels >= 0).any() or (knowledge.high - knowledge.low > 1).any():
        return None
    sizes, counts = knowledge.sets.sizes, (knowledge.low + knowledge.high) / 2.0
    share = counts.sum() / sizes.sum()
    off = counts - sizes * share
    remedy = "Know the labels y of some rows, or form bags whose shares differ."
    if len(sizes) == 1:
        return f"one bag carries no signal of which of its rows are positive. {remedy}"
    if race is None:
        if (np.abs(off) > 1.0).any():
            return None
        return f"the bags carry hardly any signal: all {len(sizes)} have the share {share:.3g} of positives. {remedy}"
    variance = np.maximum(sizes * share * (1.0 - share), np.finfo(np.float64).tiny)
    p = float(chi2.sf(float((off * off / variance).sum()), len(sizes) - 1)) if 0.0 < share < 1.0 else 1.0
    if p <= CHANCE or race.chance <= CHANCE:
        return None
    gain, error = race.signal
    return (
        f"the bags show no signal: the shares of positives of {len(sizes)} bags differ no more than by chance "
        f"(p = {p:.2g}), and by the features held-out bags are no more likely than by the mean share, but for "
        f"chance (by {gain:.3g} ± {error:.2g}, p = {race.chance:.2g}). {remedy}"
    )


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
