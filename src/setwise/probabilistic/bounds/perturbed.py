"""Maxima of scores plus noise less f: the samples of perturb-and-MAP, shared by threads."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.checks import LARGEST, Bools, Ints, Values, as_kind, as_reals
from setwise.kernels.cuts import cut_many
from setwise.kernels.max_flow import new_forest
from setwise.kernels.sampling import LOGISTIC, perturbed_cuts
from setwise.kernels.threads import available, share_units
from setwise.probabilistic.bounds.l_field import EXAMPLE
from setwise.probabilistic.log_supermodular import LogSupermodular
from setwise.probabilistic.noise import noise_of

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
    >>> from setwise.probabilistic import Cut, LogSupermodular, perturbed_maxima
    >>> found = perturbed_maxima(LogSupermodular([Cut(2, [[0, 1]])]), [[3.0, 0.5], [3.0, -2.0]])
    >>> print(found.values, found.marginals)  # labels (1, 1), and (1, 0), which cuts the edge
    [3.5 2. ] [1.  0.5]
    """

    values: Values
    marginals: Values


def perturbed_maxima(model: LogSupermodular, noise: ArrayLike) -> Maxima:
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
    >>> from setwise.probabilistic import Cut, LogSupermodular, perturbed_maxima
    >>> model = LogSupermodular([Cut(2, [[0, 1]])], unary=[1.0, 0.0])
    >>> found = perturbed_maxima(model, [[0.0, 0.0], [-2.0, -2.0], [1.0, 1.0]])
    >>> print(found.values, found.marginals.round(2))  # labels (1, 1), (0, 0) and (1, 1)
    [1. 0. 3.] [0.67 0.67]
    """
    as_kind(model, "model", LogSupermodular, EXAMPLE)
    rows = np.ascontiguousarray(as_reals(noise, "noise"))
    if rows.size and not np.abs(rows).max() <= LARGEST / model.total:
        raise OverflowError(f"noise is too large, up to {np.abs(rows).max():.3g}: sums of it leave float64.")
    if rows.ndim != 2 or not len(rows) or rows.shape[1] != model.total:
        raise ValueError(f"noise must have shape (samples, {model.total}), one or more samples; got {rows.shape}.")
    zero = np.zeros(model.total)
    found = _shared(model, len(rows), zero, rows, LOGISTIC, np.uint64(0), 0)
    return Maxima(found.values, found.ones / len(rows))


def perturbed(model: LogSupermodular, samples: int, kind: int, seed: np.uint64, point: Values, unit: int = 0) -> Draws:
    """Samples in pairs of opposite noise, which depend on (seed, unit, sample) alone; threads share them."""
    return _shared(model, samples, point, np.zeros((0, model.total)), kind, seed, unit)


def perturbed_labelings(model: LogSupermodular, samples: int, seed: np.uint64, unit: int = 0) -> Bools:
    """``argmax_y <z, y> - f(y)`` for the noise z that :func:`perturbed` has, (samples, p), for cuts.

    They are labelings of the perturb-and-MAP model, and no samples of ``exp(-f) / Z``.
    """
    network, capacities = model.wired
    forest, labels = new_forest(network, model.total), np.zeros((samples, model.total), dtype=bool)
    noise = noise_of(LOGISTIC, seed, unit, 0, samples, model.total, True)
    cut_many(network, forest, capacities, model.scores + noise, False, labels)
    return labels


def _shared(
    model: LogSupermodular, samples: int, point: Values, given: Values, kind: int, seed: np.uint64, unit: int
) -> Draws:
    """The samples, whose noise is given or else drawn."""
    values, controls = np.empty(samples), np.empty(samples)
    if model.pairwise is None:
        noise = given if len(given) else noise_of(kind, seed, unit, 0, samples, model.total, True)
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
                network, forest, capacities, model.scores, given[first:last], kind, seed, unit, first, True,
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
