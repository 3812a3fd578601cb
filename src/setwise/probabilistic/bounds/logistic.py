"""The upper bound by perturb-and-MAP with logistic noise (Hazan and Jaakkola 2012; LSM 3.2)."""

import numpy as np
from scipy.stats import t as student

from setwise.core.arrays import Values
from setwise.core.checks import as_count, as_flag, as_kind, as_number
from setwise.kernels.noise import LOGISTIC
from setwise.probabilistic.bounds.l_field import EXAMPLE, base_point
from setwise.probabilistic.bounds.log_partition import LogPartition
from setwise.probabilistic.bounds.perturbed import perturbed
from setwise.probabilistic.log_supermodular import LogSupermodular
from setwise.probabilistic.noise import kind_of, seed_of


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
