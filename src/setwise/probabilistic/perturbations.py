"""Perturb-and-MAP: maxima of scores plus noise less f, and the upper bound with logistic noise.

The bound is that of Hazan and Jaakkola 2012 (LSM 3.2). Noise is a function of seed, set, sample and node alone.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from setwise.core.checks import (
    LARGEST,
    Bools,
    Ints,
    Values,
    as_choice,
    as_count,
    as_flag,
    as_kind,
    as_number,
    as_random_state,
    as_reals,
)
from setwise.kernels.cuts import cut_many
from setwise.kernels.max_flow import new_forest
from setwise.kernels.sampling import GAUSSIAN, LOGISTIC, draws, perturbed_cuts
from setwise.kernels.threads import available, share_units
from setwise.probabilistic.log_supermodular_distribution import LogSupermodularDistribution
from setwise.probabilistic.variational_bounds import EXAMPLE, LogPartition, base_point

Noise = Literal["logistic", "gaussian"]

KINDS = {"logistic": LOGISTIC, "gaussian": GAUSSIAN}


def kind_of(noise: str) -> int:
    """The number of a kind of noise, checked."""
    return KINDS[as_choice(noise, "noise", KINDS)]


def seed_of(random_state: int | np.random.Generator | None, name: str = "random_state") -> np.uint64:
    """The number that all noise is a function of, from an int, a generator or None."""
    given = as_random_state(random_state, name)
    if isinstance(given, int) and given < 2**64:
        return np.uint64(given)
    return np.uint64(np.random.default_rng(given).integers(2**63))


def noise_of(kind: int, seed: np.uint64, unit: int, first: int, count: int, p: int, paired: bool) -> Values:
    """The noise of samples ``first``, ``first + 1``, .. of a set, (count, p); odd ones of pairs have the other sign."""
    if not paired:
        out = np.empty((count, p))
        draws(kind, seed, unit, first, out)
        return out
    start = first // 2
    base = np.empty(((first + count + 1) // 2 - start, p))
    draws(kind, seed, unit, start, base)
    both = np.stack([base, -base], axis=1).reshape(-1, p)
    return both[first - 2 * start :][:count]


RUN = 64
"""The most samples of one call of the kernel; an even number, since pairs share their noise."""

Run = tuple[int, int]
"""The first sample, and one more than the last."""


class Draws(NamedTuple):
    """Samples of ``max_y <z, y> - f(y)``.

    Attributes
    ----------
    values, controls : (samples,) the maxima, and ``sum_d max(z_d - s_d, 0)``, which are not below them
    ones : (p,) how often each label is 1 in the maxima
    """

    values: Values
    controls: Values
    ones: Ints


class Maxima(NamedTuple):
    """The maxima for given noise.

    Attributes
    ----------
    values : (samples,)
    marginals : (p,) the share of samples in which each label is 1

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodularDistribution, perturbed_maxima
    >>> found = perturbed_maxima(LogSupermodularDistribution([Cut(2, [[0, 1]])]), [[3.0, 0.5], [3.0, -2.0]])
    >>> print(found.values, found.marginals)  # labels (1, 1), and (1, 0), which cuts the edge
    [3.5 2. ] [1.  0.5]
    """

    values: Values
    marginals: Values


def perturbed_maxima(model: LogSupermodularDistribution, noise: ArrayLike) -> Maxima:
    """``max_y <z, y> - f(y)`` for each row z of ``noise``, and the mean of the labels y that attain it.

    The mean of the values has the mean of the labels as its gradient by the unary terms, so that both are value and
    gradient of a perturbed Fenchel-Young loss, up to the labels that are to be learned (Berthet et al. 2020).

    Parameters
    ----------
    model : the function f
    noise : (samples, p) finite, of any distribution; one row or more

    Returns
    -------
    maxima : the values (samples,) and the marginals (p,)

    Raises
    ------
    ValueError, TypeError : for anything but a model, another shape, and noise that is not finite
    OverflowError : for noise whose sums leave float64

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodularDistribution, perturbed_maxima
    >>> model = LogSupermodularDistribution([Cut(2, [[0, 1]])], unary=[1.0, 0.0])
    >>> found = perturbed_maxima(model, [[0.0, 0.0], [-2.0, -2.0], [1.0, 1.0]])
    >>> print(found.values, found.marginals.round(2))  # labels (1, 1), (0, 0) and (1, 1)
    [1. 0. 3.] [0.67 0.67]
    """
    as_kind(model, "model", LogSupermodularDistribution, EXAMPLE)
    rows = np.ascontiguousarray(as_reals(noise, "noise"))
    if rows.size and not np.abs(rows).max() <= LARGEST / model.total:
        raise OverflowError(f"noise is too large, up to {np.abs(rows).max():.3g}: sums of it overflow float64.")
    if rows.ndim != 2 or not len(rows) or rows.shape[1] != model.total:
        raise ValueError(f"noise must have shape (samples, {model.total}), one or more samples; got {rows.shape}.")
    zero = np.zeros(model.total)
    found = perturbed(model, len(rows), LOGISTIC, np.uint64(0), zero, given=rows)
    return Maxima(found.values, found.ones / len(rows))


def perturbed_labelings(model: LogSupermodularDistribution, samples: int, seed: np.uint64, unit: int = 0) -> Bools:
    """``argmax_y <z, y> - f(y)`` for the noise z that :func:`perturbed` has, (samples, p), for cuts.

    They are labelings of the perturb-and-MAP model, and no samples of ``exp(-f) / Z``.
    """
    network, capacities = model.wired
    forest, labels = new_forest(network, model.total), np.zeros((samples, model.total), dtype=bool)
    noise = noise_of(LOGISTIC, seed, unit, 0, samples, model.total, True)
    cut_many(network, forest, capacities, model.scores + noise, False, labels)
    return labels


def perturbed(
    model: LogSupermodularDistribution,
    samples: int,
    kind: int,
    seed: np.uint64,
    point: Values,
    unit: int = 0,
    given: Values | None = None,
) -> Draws:
    """Samples in pairs of opposite noise, which depend on (seed, unit, sample) alone, or of given noise.

    Threads share them.
    """
    values, controls = np.empty(samples), np.empty(samples)
    own = np.zeros((0, model.total)) if given is None else given
    if model.pairwise is None:
        noise = noise_of(kind, seed, unit, 0, samples, model.total, True) if given is None else given
        found = [model.minimizer(model.scores + z) for z in noise]
        values[:] = [-one.value for one in found]
        controls[:] = np.maximum(noise - point, 0.0).sum(axis=1)
        return Draws(values, controls, np.sum([one.labels for one in found], axis=0))
    (network, capacities), none = model.wired, np.zeros(0, np.int64)
    # Threads that are new would take long to get memory.
    states = [(new_forest(network, model.total), np.zeros(model.total, np.int64)) for _ in range(available())]

    def draw(runs: Iterator[Run]) -> Ints:
        forest, ones = states.pop()
        for first, last in runs:
            perturbed_cuts(
                network, forest, capacities, model.scores, own[first:last], kind, seed, unit, first, True,
                point, values[first:last], controls[first:last], ones, none,
            )  # fmt: skip
        return ones

    return Draws(values, controls, np.sum(share_units(draw, _runs(samples)), axis=0))


def _runs(samples: int) -> list[Run]:
    """Runs of samples, long ones first, so that threads are done at about the same time; pairs stay together."""
    threads, first, runs = available(), 0, []
    if threads == 1:
        # Ctrl-C is heard between two runs.
        return list(pairwise([*range(0, samples, RUN), samples]))
    while first < samples:
        left = samples - first
        # The last ones part a pair, whose noise is then drawn twice.
        size = 1 if left <= threads else min(max(2, left // (4 * threads) * 2), RUN)
        runs.append((first, min(first + size, samples)))
        first += size
    return runs


FEW, ENOUGH = 10, 25
"""Student's t is right for n numbers, 10 or more, if n is 25 times their squared skewness or more (Cochran 1977)."""

POSITIVE = {LOGISTIC: float(np.log(2.0)), GAUSSIAN: float(1.0 / np.sqrt(2.0 * np.pi))}
"""The mean of the positive part of a number of each kind of noise."""


def logistic(
    model: LogSupermodularDistribution,
    samples: int = 100,
    *,
    noise: str = "logistic",
    control: bool = True,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> LogPartition:
    """``A_logistic(f) = E_z max_y <z, y> - f(y)``, not below A(f) and not above L-Field (LSM Eq. 2 and Prop. 1).

    It is a mean over samples, so it is an estimate with an interval, and certain of nothing. The marginals are the
    shares of samples in which a label is 1. Samples come in pairs of opposite noise. ``sum_d max(z_d - s_d, 0)``, s
    being the point of L-Field, is a control variate: its mean is the L-Field bound, and it explains most of the
    variance where labels are nearly independent.

    Parameters
    ----------
    model : the distribution
    samples : the number of minimizations, 2 or more; an odd one is raised by one
    noise : ``"logistic"``; or ``"gaussian"`` for standard normal noise, which bounds nothing
    control : whether the control variate is used; it needs the point of L-Field, and logistic noise
    level : the probability with which the interval holds the mean, by Student's t over pairs, and by other numbers
        of the same mean where the pairs are too few or too skewed for it; nearly so where samples are few
    random_state : seed, int, numpy Generator or None; threads do not change the result

    Returns
    -------
    found : an estimate of the bound, with an interval

    Raises
    ------
    ValueError, TypeError : for anything but a model, and arguments other than these

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodularDistribution, exact, logistic
    >>> model = LogSupermodularDistribution([Cut.grid(3, 3)], unary=np.linspace(-1, 1, 9))
    >>> found = logistic(model, 1000, random_state=0)
    >>> print(found.kind, bool(exact(model).value < found.interval[0]))
    estimate True
    >>> alone = LogSupermodularDistribution([Cut(2, [])], unary=[1.0, 0.0])  # no edges: the control variate tells all
    >>> print(round(logistic(alone, random_state=0).value, 3), round(exact(alone).value, 3))
    2.006 2.006
    """
    as_kind(model, "model", LogSupermodularDistribution, EXAMPLE)
    as_count(samples, "samples", low=2)
    level = as_number(level, "level", low=0.0, high=1.0, open_low=True, open_high=True)
    kind, seed = kind_of(noise), seed_of(random_state)
    use = as_flag(control, "control") and kind == LOGISTIC
    point = base_point(model).point if use else np.zeros(model.total)
    found = perturbed(model, samples + samples % 2, kind, seed, point)
    pairs, controls = (each.reshape(-1, 2).mean(axis=1) for each in (found.values, found.controls))
    means = controlled(pairs, controls, float(np.logaddexp(0.0, -point).sum())) if use else pairs
    value, interval = float(means.mean()), _around(means, level)
    if _skewed(means, pairs):
        # Maxima that seldom differ from one labeling are the same but for a few pairs, or but for none, and t is too
        # short then. Less the positive parts of the noise they have the same mean too, and vary.
        drawn = noise_of(kind, seed, 0, 0, len(found.values), model.total, True)
        others = pairs - np.maximum(drawn, 0.0).sum(axis=1).reshape(-1, 2).mean(axis=1) + model.total * POSITIVE[kind]
        low, high = _around(others, level)
        interval = min(interval[0], low), max(interval[1], high)
    return LogPartition(value, "estimate", found.ones / len(found.values), interval, level)


def _skewed(means: Values, pairs: Values) -> bool:
    """Whether numbers are too few, or too skewed, for Student's t; where the controls explain all, they are right."""
    centred = means - means.mean()
    square, rounding = float(np.square(centred).mean()), (1e-12 * (1.0 + float(np.abs(pairs).max()))) ** 2
    if len(means) < FEW:
        return True
    if square <= rounding:
        return float(pairs.var()) <= rounding
    return len(means) < ENOUGH * float((centred**3).mean()) ** 2 / square**3


def _around(values: Values, level: float) -> tuple[float, float]:
    value = float(values.mean())
    if len(values) < 2:
        return -np.inf, np.inf
    error = float(values.std(ddof=1) / np.sqrt(len(values)))
    width = error * float(stdtrit(len(values) - 1, 0.5 + 0.5 * level))
    return value - width, value + width


def controlled(values: Values, controls: Values, mean: float) -> Values:
    """The values less their regression on controls whose mean is known; values that do not vary stay as they are."""
    spread = controls - controls.mean()
    square, rounding = float(spread @ spread), (1e-12 * (1.0 + float(np.abs(controls).max()))) ** 2
    # Two pairs lie on a line in any case, and rounding has no slope.
    slope = float(spread @ values) / square if square > rounding and len(values) > 2 else 1.0
    return values - slope * (controls - mean)
