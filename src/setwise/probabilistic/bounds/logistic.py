"""The upper bound by perturb-and-MAP with logistic noise (Hazan and Jaakkola 2012; LSM 3.2)."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from setwise.core.arrays import Bools, Ints, Values
from setwise.core.checks import as_count, as_flag, as_kind, as_number
from setwise.inference.wires import wirings
from setwise.kernels.cuts import cut_many
from setwise.kernels.noise import LOGISTIC
from setwise.kernels.perturbed import perturbed_cuts
from setwise.kernels.search_trees import new_forest
from setwise.kernels.threads import available, map_units
from setwise.probabilistic.bounds.l_field import EXAMPLE, base_point
from setwise.probabilistic.bounds.log_partition import LogPartition
from setwise.probabilistic.log_supermodular import LogSupermodular
from setwise.probabilistic.noise import kind_of, noise_of, seed_of

CHUNK = 16
"""Samples that a thread draws at a time."""


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


def logistic(
    model: LogSupermodular,
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
    level : the probability with which the interval holds the mean, by Student's t over pairs
    random_state : seed, int, numpy Generator or None; threads do not change the result
    """
    as_kind(model, "model", LogSupermodular, EXAMPLE)
    as_count(samples, "samples", low=2)
    level = as_number(level, "level", low=0.0, high=1.0, open_low=True, open_high=True)
    kind, seed = kind_of(noise), seed_of(random_state)
    use = as_flag(control, "control") and kind == LOGISTIC
    point = base_point(model).point if use else np.zeros(model.total)
    found = perturbed(model, samples + samples % 2, kind, seed, point)
    pairs, controls = (each.reshape(-1, 2).mean(axis=1) for each in (found.values, found.controls))
    if use:
        pairs = controlled(pairs, controls, float(np.logaddexp(0.0, -point).sum()))
    value = float(pairs.mean())
    error = float(pairs.std(ddof=1) / np.sqrt(len(pairs))) if len(pairs) > 1 else np.inf
    width = error * float(student.ppf(0.5 + 0.5 * level, max(len(pairs) - 1, 1)))
    return LogPartition(value, "estimate", found.ones / len(found.values), (value - width, value + width), level)


def controlled(values: Values, controls: Values, mean: float) -> Values:
    """The values less their regression on controls whose mean is known; values that do not vary stay as they are."""
    spread = controls - controls.mean()
    square, rounding = float(spread @ spread), (1e-12 * (1.0 + float(np.abs(controls).max()))) ** 2
    # Two pairs lie on a line in any case, and rounding has no slope.
    slope = float(spread @ values) / square if square > rounding and len(values) > 2 else 1.0
    return values - slope * (controls - mean)


def perturbed(model: LogSupermodular, samples: int, kind: int, seed: np.uint64, point: Values, unit: int = 0) -> Draws:
    """Samples in pairs of opposite noise, which depend on (seed, unit, sample) alone; threads share them."""
    edges = [*range(0, samples, CHUNK), samples]
    if model.pairwise is None or available() == 1:
        edges = [0, samples]
    runs = list(pairwise(edges))
    draw = _by_minimizer if model.pairwise is None else _by_cuts
    found = map_units(lambda run: draw(model, run, kind, seed, point, unit), runs)
    return Draws(
        np.concatenate([one.values for one in found]),
        np.concatenate([one.controls for one in found]),
        np.sum([one.ones for one in found], axis=0),
    )


def perturbed_labelings(model: LogSupermodular, samples: int, seed: np.uint64, unit: int = 0) -> Bools:
    """``argmax_y <z, y> - f(y)`` for the noise z that :func:`perturbed` has, (samples, p), for cuts.

    They are labelings of the perturb-and-MAP model, and no samples of ``exp(-f) / Z``.
    """
    pairs = model.pairwise
    assert pairs is not None
    (wires,) = wirings(pairs.graphs, model.total)
    forest, labels = new_forest(wires.network, model.total), np.zeros((samples, model.total), dtype=bool)
    capacities = np.zeros(len(forest.capacities))
    wires.place(pairs.weights, capacities)
    noise = noise_of(LOGISTIC, seed, unit, 0, samples, model.total, True)
    cut_many(wires.network, forest, capacities, model.unary + noise, False, labels)
    return labels


def _by_cuts(
    model: LogSupermodular, run: tuple[int, int], kind: int, seed: np.uint64, point: Values, unit: int
) -> Draws:
    pairs = model.pairwise
    assert pairs is not None
    (wires,) = wirings(pairs.graphs, model.total)
    forest = new_forest(wires.network, model.total)
    capacities, count = np.zeros(len(forest.capacities)), run[1] - run[0]
    wires.place(pairs.weights, capacities)
    values, controls, ones = np.empty(count), np.empty(count), np.zeros(model.total, np.int64)
    perturbed_cuts(
        wires.network, forest, capacities, model.unary, kind, seed, unit, run[0], True, point, values, controls, ones,
        np.zeros(0, np.int64),
    )  # fmt: skip
    return Draws(values, controls, ones)


def _by_minimizer(
    model: LogSupermodular, run: tuple[int, int], kind: int, seed: np.uint64, point: Values, unit: int
) -> Draws:
    noise = noise_of(kind, seed, unit, run[0], run[1] - run[0], model.total, True)
    found = [model.minimizer(model.unary + z) for z in noise]
    ones = np.sum([one.labels for one in found], axis=0)
    controls = np.maximum(noise - point, 0.0).sum(axis=1)
    return Draws(np.array([-one.value for one in found]), controls, ones)
