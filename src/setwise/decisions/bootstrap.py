"""How sure the best threshold and its loss are, by the bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtrit

from setwise.core.batch import Sets
from setwise.core.checks import Values, as_count, as_random_state, as_reals
from setwise.core.loss import Loss
from setwise.decisions.floors import as_level
from setwise.decisions.resampling import resampling
from setwise.decisions.sweep import Threshold, as_sets, bound, sweep_all
from setwise.losses import as_loss


@final
@dataclass(frozen=True, eq=False)
class BootstrapThreshold:
    """The best threshold with intervals.

    Attributes
    ----------
    best : the best threshold of the sample
    interval : the threshold lies between these two, (low, high): quantiles of the best thresholds of resamples
    loss_interval : the loss at ``best.threshold`` on new data lies between these two: quantiles of its loss on
        resamples, plus the optimism
    optimism : by how much the loss of a best threshold reads too low on the scores on which it was chosen: the mean
        over resamples of the loss on the sample at the threshold of the resample, less that on the resample itself
    thresholds, losses : (n_resamples,) the best threshold of each resample, and its loss at ``best.threshold``

    Examples
    --------
    >>> from setwise.decisions import bootstrap_threshold
    >>> scores = np.linspace(0.0, 1.0, 50)
    >>> found = bootstrap_threshold(scores > 0.6, scores, "f1", n_resamples=100, random_state=0)
    >>> found.optimism >= 0.0, found.thresholds.shape
    (True, (100,))
    """

    best: Threshold
    interval: tuple[float, float]
    loss_interval: tuple[float, float]
    optimism: float
    thresholds: Values
    losses: Values


def bootstrap_threshold(
    y: ArrayLike | Sets,
    scores: ArrayLike,
    loss: Loss | str,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> BootstrapThreshold:
    """``best_threshold`` with percentile intervals of the threshold and of its loss (Efron 1979).

    The decisions of one set are resampled; of several sets, whole sets are. Of few units the quantiles
    lie further out, as those of Student's t do (Hesterberg 2015). The scores are sorted once: a resample is a
    weight for each decision or set, O(m). The loss on the scores on which a threshold was chosen reads too low, and
    ``optimism`` says by how much (Efron 1983). It does not hold what training on the same rows adds: give scores of
    rows that the model was not trained on.

    Parameters
    ----------
    y : (p,) labels 0 and 1 of one set, or a batch of :class:`~setwise.core.Sets`
    scores : (p,) or flat (total,), finite; the larger, the more likely positive
    loss : a loss of labels, or its name; for a single set a function of counts
    n_resamples : how many resamples are drawn
    confidence : the probability that the intervals are made for, in (0, 1)
    random_state : the seed of the resamples, an int, a numpy Generator or None

    Returns
    -------
    BootstrapThreshold
        The best threshold, the intervals of it and of its loss, and the optimism

    Raises
    ------
    Refusal : for a single set, if the loss is no function of counts; and as in ``best_threshold``
    ValueError : for labels and scores that do not fit, and numbers out of range
    TypeError : for a loss, a number or a seed of another kind

    Examples
    --------
    >>> from setwise.decisions import bootstrap_threshold
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 4 == 0
    >>> scores = y + rng.standard_normal(200)
    >>> found = bootstrap_threshold(y, scores, "f1", n_resamples=200, random_state=0)
    >>> low, high = found.loss_interval
    >>> print(f"loss {found.best.loss:.2f}; on new data from {low:.2f} to {high:.2f}")
    loss 0.45; on new data from 0.38 to 0.59
    """
    return bootstrap_curve(y, scores, loss, (), n_resamples, confidence, random_state).bootstrap


@final
@dataclass(frozen=True, eq=False)
class BootstrapCurve:
    """The loss at thresholds (c,), and the quantiles of what it is on resamples, (c,) each."""

    losses: Values
    low: Values
    high: Values
    bootstrap: BootstrapThreshold


def bootstrap_curve(
    y: ArrayLike | Sets,
    scores: ArrayLike,
    loss: Loss | str,
    thresholds: ArrayLike,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> BootstrapCurve:
    """The loss at some ``thresholds`` with its quantiles over resamples, and :func:`bootstrap_threshold`."""
    as_count(n_resamples, "n_resamples")
    tail = 0.5 * (1.0 - as_level(confidence))
    loss, sets, at = as_loss(loss), as_sets(y), as_reals(thresholds, "thresholds")
    rng = np.random.default_rng(as_random_state(random_state))
    structure = bound(loss, sets, "bootstrap_threshold")
    swept = sweep_all(structure, scores)
    best, order, here = swept.best()[0], swept.order, np.append(swept.start, swept.losses)
    # The last cut is that of the best threshold.
    cuts = order.cuts_at(np.append(at, best.threshold))
    found, gains, losses = np.empty(n_resamples), np.empty(n_resamples), np.empty((n_resamples, len(cuts)))
    for b, resample in enumerate(resampling(loss, structure, order).draw(n_resamples, rng)):
        found[b], least = resample.best()
        losses[b] = np.append(resample.sample.start, resample.sample.losses)[cuts]
        gains[b] = here[order.cuts_at(found[b : b + 1])[0]] - least
    tail = _expanded(tail, len(sets) if len(sets) > 1 else sets.total)
    optimism, levels = float(gains.mean()), (tail, 1.0 - tail)
    # Thresholds may be infinite: the quantiles are some of them, with nothing in between.
    first, last = np.quantile(found, levels, method="inverted_cdf")
    low, high = np.quantile(losses, levels, axis=0)
    around = float(low[-1]) + optimism, float(high[-1]) + optimism
    whole = BootstrapThreshold(best, (float(first), float(last)), around, optimism, found, losses[:, -1])
    return BootstrapCurve(here[cuts[:-1]], low[:-1], high[:-1], whole)


def _expanded(tail: float, count: int) -> float:
    """The level of a quantile over resamples of n units that lies as far out as Student's: ``Phi(t (n / (n-1))^.5)``.

    Resamples of few units are too much alike; for the mean of normal numbers these quantiles are the interval of
    Student (Hesterberg 2015). A single unit tells nothing, and its level stays.
    """
    if count < 2:
        return tail
    return float(ndtr(stdtrit(count - 1, tail) * np.sqrt(count / (count - 1))))
