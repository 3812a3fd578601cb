"""The upper bound by perturb-and-MAP with logistic noise (Hazan and Jaakkola 2012; LSM 3.2)."""

import numpy as np
from scipy.special import stdtrit

from setwise.core.checks import Values, as_count, as_flag, as_kind, as_number
from setwise.kernels.sampling import GAUSSIAN, LOGISTIC
from setwise.probabilistic.bounds.l_field import EXAMPLE, base_point
from setwise.probabilistic.bounds.log_partition import LogPartition
from setwise.probabilistic.bounds.perturbed import perturbed
from setwise.probabilistic.log_supermodular import LogSupermodular
from setwise.probabilistic.noise import kind_of, noise_of, seed_of

FEW, ENOUGH = 10, 25
"""Student's t is right for n numbers, 10 or more, if n is 25 times their squared skewness or more (Cochran 1977)."""

POSITIVE = {LOGISTIC: float(np.log(2.0)), GAUSSIAN: float(1.0 / np.sqrt(2.0 * np.pi))}
"""The mean of the positive part of a number of each kind of noise."""


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
    >>> from setwise.probabilistic import Cut, LogSupermodular, exact, logistic
    >>> model = LogSupermodular([Cut.grid(3, 3)], unary=np.linspace(-1, 1, 9))
    >>> found = logistic(model, 1000, random_state=0)
    >>> print(found.kind, bool(exact(model).value < found.interval[0]))
    estimate True
    >>> alone = LogSupermodular([Cut(2, [])], unary=[1.0, 0.0])  # without edges the control variate tells all
    >>> print(round(logistic(alone, random_state=0).value, 3), round(exact(alone).value, 3))
    2.006 2.006
    """
    as_kind(model, "model", LogSupermodular, EXAMPLE)
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
