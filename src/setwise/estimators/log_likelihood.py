"""Mean log-likelihoods in which sums over all labelings occur: estimates, and intervals that are certain."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from setwise.core.checks import Bools, Values
from setwise.kernels.threads import map_units
from setwise.probabilistic import LogSupermodular, l_field, logistic, mean_field, superdifferential, tree_reweighted
from setwise.probabilistic.variational_bounds import EPSILON

LEVEL, STEPS = 0.95, 15
"""The level of intervals, and the steps of the upper bound by trees, which gains little from more."""


class LogLikelihood(NamedTuple):
    """A mean log-likelihood per label, of the labels it was asked of.

    Attributes
    ----------
    value : an estimate, in which ``A_logistic``, the mean of perturbed maxima, stands for each sum over all labelings.
        One sum makes it an estimate of a lower bound of the log-likelihood; a difference of two sums bounds nothing
    interval : at 95 %, by Student's t: repeated with other noise, 95 of 100 such intervals hold what the value
        estimates. The labels are given, so it says nothing of others, nor how far ``A_logistic`` is from the sum
    error : the standard error of the value, by the same noise
    certain : the log-likelihood itself lies between these two, by mean field below and trees above each sum of cuts; by
        the superdifferential and L-Field where these do not apply
    """

    value: float
    interval: tuple[float, float]
    error: float
    certain: tuple[float, float]


class Sum(NamedTuple):
    """What is known of ``A(f) = log sum_y exp(-f(y))``.

    Attributes
    ----------
    value, error, freedom : an estimate of ``A_logistic``, its standard error, and the degrees of freedom of this
    low, high : certain bounds of A(f)
    """

    value: float
    error: float
    freedom: int
    low: float
    high: float


class Part(NamedTuple):
    """A number of the log-likelihood that needs no sum, and how far rounding may have moved it."""

    value: float
    slip: float


def sum_of(model: LogSupermodular, samples: int, seed: int) -> Sum:
    """The estimate by perturbed labelings, and the bounds by independent labels and by trees."""
    found, freedom = logistic(model, samples, level=LEVEL, random_state=seed), max((samples + 1) // 2 - 1, 1)
    width = max(found.interval[1] - found.value, found.value - found.interval[0])
    error = width / float(student.ppf(0.5 + 0.5 * LEVEL, freedom))
    low = superdifferential(model) if model.table is None else mean_field(model)
    high = l_field(model) if model.pairwise is None else tree_reweighted(model, STEPS)
    return Sum(found.value, error, freedom, low.value, high.value)


def part_of(model: LogSupermodular, labels: Bools) -> Part:
    """``-f(labels)``."""
    return Part(-float(model.values(labels)[0]), EPSILON * model.largest * (model.total + 4))


def given_labels(model: LogSupermodular, labels: Values) -> tuple[Part, LogSupermodular | None]:
    """``log sum exp(-f(y))`` over the labelings that agree with ``labels`` (p,), -1 for those that are free.

    It is the number and ``A`` of the distribution of the free labels, None where none is free.
    """
    if (labels >= 0).all():
        return part_of(model, labels > 0.5), None
    if (labels < 0).all():
        return Part(0.0, 0.0), model
    rest = model.condition(labels.astype(np.int8))
    return Part(-rest.constant, part_of(model, labels > 0.5).slip), rest


def estimated(
    parts: Sequence[Part], wanted: Sequence[tuple[float, LogSupermodular, int]], seed: int, total: int
) -> LogLikelihood:
    """The mean over labels of the parts and of sums: factors, distributions and numbers of samples, with new noise."""
    # Training and marginals draw from the seed itself and from the next one.
    seeds = np.random.default_rng([seed, 1]).integers(2**62, size=len(wanted)).tolist()
    sums = map_units(lambda k: sum_of(wanted[k][1], wanted[k][2], seeds[k]), range(len(wanted)))
    return mean_of(parts, [(one[0], found) for one, found in zip(wanted, sums, strict=True)], total)


def mean_of(parts: Sequence[Part], sums: Sequence[tuple[float, Sum]], total: int) -> LogLikelihood:
    """``(sum of the parts + sum_k factor_k A_k) / total``, where the noise of the sums is independent."""
    fixed, slip = sum(one.value for one in parts), sum(one.slip for one in parts)
    slip += (
        EPSILON
        * (len(parts) + len(sums))
        * (sum(abs(one.value) for one in parts) + sum(abs(k) * max(abs(a.low), abs(a.high)) for k, a in sums))
    )
    value = fixed + sum(k * a.value for k, a in sums)
    squares = [(k * a.error) ** 2 for k, a in sums]
    variance, width = sum(squares), 0.0
    if np.isinf(variance):
        width = np.inf
    elif variance > 0.0:
        # The degrees of freedom of a sum of independent estimates (Welch 1947).
        shares = sum((square / variance) ** 2 / a.freedom for square, (_, a) in zip(squares, sums, strict=True))
        freedom = 1.0 / shares
        width = float(np.sqrt(variance) * student.ppf(0.5 + 0.5 * LEVEL, freedom))
    low = float(fixed - slip + sum(k * (a.low if k > 0 else a.high) for k, a in sums))
    high = float(fixed + slip + sum(k * (a.high if k > 0 else a.low) for k, a in sums))
    interval, error = ((value - width) / total, (value + width) / total), float(np.sqrt(variance)) / total
    return LogLikelihood(value / total, interval, error, (low / total, high / total))
