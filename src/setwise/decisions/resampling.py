"""The bootstrap of thresholds: the losses of resampled decisions or sets at all cut points; nothing is sorted again.

It tells how sure the best threshold and its loss are. The mean of the best cuts of resamples follows the luck of a
sample less than the best threshold does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtrit

from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Ints, Values, as_count, as_random_state, as_reals
from setwise.core.counts import Counts
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import HOW_SURE
from setwise.core.terms import Constant, Mistakes
from setwise.decisions.floors import as_level
from setwise.decisions.row_weights import RowWeighted
from setwise.decisions.thresholds import SortedDecisions, Sweep, Threshold, as_sets, losses_by_set, sweep_all, weighted
from setwise.kernels.thresholds import drawn_only, falling_counts, falling_quotient, falling_sums, mean_along


@final
@dataclass(frozen=True, eq=False)
class Resample:
    """Resampled decisions.

    Parameters
    ----------
    sample : the losses of the resample at the cut points of the sample
    drawn : (m,) the decisions of the sample that were drawn
    """

    sample: Sweep
    drawn: Bools

    def best(self) -> tuple[float, float]:
        """The best threshold, between scores that were drawn, and its loss."""
        scores, losses = drawn_only(self.sample.order.scores, self.sample.losses, self.drawn)
        order, start = self.sample.order, self.sample.start
        chosen = SortedDecisions(order.items, order.labels, scores, np.array([0, len(scores)]))
        cut = chosen.best(losses, start)
        return float(chosen.between(cut)[0]), float(chosen.at(losses, start, cut)[0])


def resamples(
    loss: Loss, bound_loss: BoundLoss, order: SortedDecisions, n: int, rng: np.random.Generator
) -> Iterator[Resample]:
    """So many resamples, O(m) each: of whole sets where there are several, and of the decisions of a single one."""
    sets = bound_loss.batch
    assert isinstance(sets, Sets)
    if len(sets) > 1:
        return _of_sets(bound_loss, order, n, rng)
    if not len(order.items):
        raise ValueError("y must hold a known label; got none.")
    kinds = Mistakes | Constant | Counts if isinstance(loss, RowWeighted) else Mistakes | Constant
    if loss.of_one_batch(sets) and all(isinstance(term, kinds) for term in bound_loss.terms):
        return _of_rows(bound_loss, order, n, rng)
    if bound_loss.counts is None or bound_loss.counts.areas is not None or sets.totals is not None:
        raise Refusal(
            f"the bootstrap refuses {bound_loss!r} for a single set: it is not a function of counts, and resampled "
            "decisions have no places. Give several sets, which are resampled as a whole.",
            HOW_SURE,
        )
    return _of_decisions(loss, order, n, rng)


def _of_decisions(loss: Loss, order: SortedDecisions, n: int, rng: np.random.Generator) -> Iterator[Resample]:
    """Resamples of the decisions of one set, drawn with replacement, for a loss of counts."""
    m, classes = len(order.items), (np.flatnonzero(order.labels), np.flatnonzero(~order.labels))
    # First how many positives are drawn, then which: the loss is bound to all resamples at once.
    P = rng.binomial(m, len(classes[0]) / m, n)
    counts, weights = counts_of(loss, P, m - P), np.zeros(m, dtype=np.int64)
    for b in range(n):
        for places, many in zip(classes, (P[b], m - P[b]), strict=True):
            drawn = rng.integers(len(places), size=many) if many else np.zeros(0, np.int64)
            weights[places] = np.bincount(drawn, minlength=len(places))
        yield Resample(reweighted(order, counts, b, weights), weights > 0)


def _of_rows(bound_loss: BoundLoss, order: SortedDecisions, n: int, rng: np.random.Generator) -> Iterator[Resample]:
    """Resamples of the rows of one set, each with its own cost or weight, for a loss of sums over rows."""
    (costs, rest), m = bound_loss.split(), len(order.items)
    # Where none is predicted all positives are missed; each decision then adds its cost, or takes it away.
    step = np.zeros(m) if costs is None else costs[order.items]
    missed, step = np.where(order.labels, step, 0.0), np.where(order.labels, -step, step)
    counts = [term for term in rest.terms if isinstance(term, Counts)]
    for term in rest.terms:
        if isinstance(term, Constant):
            missed = missed + term.costs[order.items]
    for _ in range(n):
        drawn = np.bincount(rng.integers(m, size=m), minlength=m)
        start, losses = falling_sums(step, missed, drawn)
        for term in counts:
            assert term.areas is not None
            first, along = _of_sums(term, order, drawn * term.areas[order.items])
            start, losses = start + first, losses + along
        yield Resample(Sweep(order, losses, np.array([start])), drawn > 0)


def _of_sums(counts: Counts, order: SortedDecisions, weights: Values) -> tuple[float, Values]:
    """A function of sums of weights (m,) where none is predicted, and along the only segment of an order, (m,)."""
    found = np.append(0.0, np.cumsum(np.where(order.labels, weights, 0.0)))
    alarms = np.append(0.0, np.cumsum(np.where(order.labels, 0.0, weights)))
    P, N = found[-1:], alarms[-1:]
    along = np.asarray(sum(c * f(P - found, alarms, P, N) for c, f in counts.formulas))
    return float(along[0]), along[1:]


def reweighted(order: SortedDecisions, counts: Counts, b: int, weights: Ints) -> Sweep:
    """The losses at all cut points if each decision counts so often, where ``counts`` has the loss at place b."""
    at = slice(b, b + 1)
    drawn = order.labels, order.offsets, counts.P[at], weights
    start = counts.of(counts.P[at], np.zeros(1), at)
    if counts.quotient is None:
        return Sweep(order, counts.of(*falling_counts(*drawn), at), start)
    top, bottom = counts.quotient
    return Sweep(order, falling_quotient(*drawn, top[at], bottom[at], counts.origin[at]), start)


def _of_sets(bound_loss: BoundLoss, order: SortedDecisions, n: int, rng: np.random.Generator) -> Iterator[Resample]:
    """Resamples of whole sets, drawn with replacement."""
    losses, start, owners, places = losses_by_set(bound_loss, order)
    size = len(start)
    for _ in range(n):
        weights = np.bincount(rng.integers(size, size=size), minlength=size) / size
        along = mean_along(losses, start, owners, places, weights)
        yield Resample(Sweep(order, along, np.array([weights @ start])), weights[owners] > 0)


def counts_of(loss: Loss, P: Ints | Values, N: Ints | Values) -> Counts:
    """The loss as a function of counts of sets with P positives and N negatives, (n,) each, without their decisions."""
    try:
        counts = loss.bind(Sets.pieces(P, N)).counts
    except ValueError:
        counts = None
    if counts is None:
        raise Refusal(
            f"the bootstrap refuses {loss!r} for a single set: it has parameters of single decisions. Give "
            "several sets, which are resampled as a whole.",
            HOW_SURE,
        )
    return counts


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
    optimism : by how much the loss of a best threshold is underestimated on the scores on which it was chosen: the mean
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
    *,
    sample_weight: ArrayLike | None = None,
) -> BootstrapThreshold:
    """``best_threshold`` with percentile intervals of the threshold and of its loss (Efron 1979).

    The decisions of one set are resampled; of several sets, whole sets are. Of few units the quantiles
    lie further out, as those of Student's t do (Hesterberg 2015). The scores are sorted once: a resample is a
    weight for each decision or set, O(m). The scores on which a threshold was chosen underestimate its loss, and
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
    sample_weight : (p,) or flat (total,) the weight of each row in the loss, which counts there as so many equal ones.
        Rows above 0, or sets, are drawn with the same chance and bring their weights, so intervals are those of rows
        and not of copies. It is for losses as in ``best_threshold``

    Returns
    -------
    BootstrapThreshold
        The best threshold, the intervals of it and of its loss, and the optimism

    Raises
    ------
    Refusal : for a single set, if the loss is no function of counts; and as in ``best_threshold``
    ValueError : for labels, scores and weights that do not fit, and numbers out of range
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
    return bootstrap_curve(y, scores, loss, (), n_resamples, confidence, random_state, sample_weight).bootstrap


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
    sample_weight: ArrayLike | None = None,
) -> BootstrapCurve:
    """The loss at some ``thresholds`` with its quantiles over resamples, and :func:`bootstrap_threshold`."""
    as_count(n_resamples, "n_resamples")
    tail = 0.5 * (1.0 - as_level(confidence))
    sets, at = as_sets(y), as_reals(thresholds, "thresholds")
    rng = np.random.default_rng(as_random_state(random_state))
    loss, sets = weighted(loss, sets, "bootstrap_threshold", sample_weight)
    bound_loss = loss.bind(sets)
    swept = sweep_all(bound_loss, scores)
    best, order, here = swept.best()[0], swept.order, np.append(swept.start, swept.losses)
    # The last cut is that of the best threshold.
    cuts = order.cuts_at(np.append(at, best.threshold))
    found, gains, losses = np.empty(n_resamples), np.empty(n_resamples), np.empty((n_resamples, len(cuts)))
    for b, resample in enumerate(resamples(loss, bound_loss, order, n_resamples, rng)):
        found[b], least = resample.best()
        losses[b] = np.append(resample.sample.start, resample.sample.losses)[cuts]
        gains[b] = here[order.cuts_at(found[b : b + 1])[0]] - least
    tail = _expanded(tail, len(sets) if len(sets) > 1 else len(order.items))
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


HILL = 3.0
"""How many times the optimism of the best threshold a bagged one may lose more than that on the scores themselves."""


def bagged_threshold(
    y: ArrayLike | Sets,
    scores: ArrayLike,
    loss: Loss | str,
    n_resamples: int = 100,
    random_state: int | np.random.Generator | None = 0,
    *,
    sample_weight: ArrayLike | None = None,
) -> Threshold:
    """The cut nearest to ``mean_b argmin over k of the loss of resample b``, k decisions being predicted; O(b m).

    The loss of a few hundred positives is a jagged curve of the threshold, and its least point is partly luck. The mean
    over bootstrap resamples (bagging, Breiman 1996) is steadier, so that the loss on *new* scores is less on average,
    though not on these. Where the curve has two valleys their mean may lie on the hill between them: if the loss there
    is above the least one by more than luck explains, ``HILL`` times the optimism of
    :func:`~setwise.decisions.bootstrap_threshold`, the best threshold of these scores is taken.

    Decisions of unknown label have no loss; without any known one there is nothing to resample, and the best threshold
    is returned.

    Parameters
    ----------
    y : (p,) labels 0 and 1 of one set, or a batch of :class:`~setwise.core.Sets`
    scores : (p,) or flat (total,), finite; the larger, the more likely positive
    loss : a loss of labels, or its name; for a single set a function of counts
    n_resamples : how many resamples are drawn: of decisions for a single set, of whole sets where there are several
    random_state : the seed of the resamples, an int, a numpy Generator or None
    sample_weight : (p,) or flat (total,) the weight of each row in the loss, which counts there as so many equal ones.
        Rows above 0, or sets, are drawn with the same chance and bring their weights, so intervals are those of rows
        and not of copies. It is for losses as in ``best_threshold``

    Returns
    -------
    Threshold
        The threshold with its loss on these scores, which is at least that of the best one; ``exact`` is then False

    Raises
    ------
    Refusal : for a single set, if the loss is no function of counts; and as in ``best_threshold``
    ValueError : for labels, scores and weights that do not fit, and ``n_resamples`` below 1
    TypeError : for a loss, a number or a seed of another kind

    Examples
    --------
    >>> from setwise.decisions import bagged_threshold, best_threshold
    >>> y = np.arange(200) % 4 == 0
    >>> scores = y + np.random.default_rng(1).standard_normal(200)
    >>> best, bagged = best_threshold(y, scores, "f1"), bagged_threshold(y, scores, "f1")
    >>> print(f"best {best.threshold:.2f} ({best.loss:.2f}), bagged {bagged.threshold:.2f} ({bagged.loss:.2f})")
    best 0.90 (0.36), bagged 0.76 (0.40)
    """
    as_count(n_resamples, "n_resamples")
    rng = np.random.default_rng(as_random_state(random_state))
    loss, sets = weighted(loss, as_sets(y), "bagged_threshold", sample_weight)
    bound_loss = loss.bind(sets)
    swept = sweep_all(bound_loss, scores)
    order, losses = swept.order, np.append(swept.start, swept.losses)
    if not len(order.items):
        return swept.best()[0]
    drawn = resamples(loss, bound_loss, order, n_resamples, rng)
    thresholds, least = np.array([resample.best() for resample in drawn]).T
    cuts, allowed, best = order.cuts_at(thresholds), np.flatnonzero(order.apart), swept.best()[0]
    bagged = int(allowed[np.abs(allowed - cuts.mean()).argmin()])
    optimism = float((losses[cuts] - least).mean())
    return swept.threshold(bagged) if losses[bagged] <= best.loss + HILL * optimism else best
