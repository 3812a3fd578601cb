"""A lower bound of the expected losses of an interval of numbers predicted, for increasing functions of the counts."""

import numpy as np

from setwise.core.checks import Values
from setwise.decisions.blocks import Blocks
from setwise.decisions.formula import Formula
from setwise.decisions.pmf import tail_of
from setwise.kernels.poisson_binomial import count

BLOCK = 1 << 14
"""About so many values of the formula are computed at once, so that they stay in the cache of a processor."""

COUNTED = 256
"""The positives among at most so many decisions are counted to tell how few they may be."""


def bound_of_interval(formula: Formula, number: int, most: int, top: Blocks, rest: Blocks) -> tuple[float, int]:
    """``E f(max(fn - most, 0), max(number - tp, 0), tp + fn)`` from below, and the number of values it took.

    With k..K predicted there are no fewer false negatives than with K, and no fewer false positives than with k. Let m
    of the decisions k+1..K be positive. With the counts of K, ``tp_k = tp_K - m``, so there are at least fn_K false
    negatives and ``k + m - tp_K`` false positives: the bound holds for ``most = 0`` wherever ``m >= number - k``. With
    those of k, ``fn_K = fn_k - m``: it holds for ``number = k`` wherever ``m <= most``. The sum of tp and fn is the
    number of positives either way, and they are independent. ``top`` counts tp and ``rest`` fn, in blocks.

    In a block tp is at most ``high`` and fn at least ``low``. So there are at least ``max(low - most, 0)`` false
    negatives and ``max(number - high, 0)`` false positives, and at most ``high + most`` true positives and ``p - number
    - low`` true negatives. A ``diluted`` loss is least at these four counts. Otherwise it is at least its least value
    at these mistakes over all P that the block allows.
    """
    low, high = rest.low[None, :], top.high[:, None]
    fn, fp = np.maximum(low - most, 0.0), np.maximum(number - high, 0.0)
    steps = 1
    if not formula.diluted:
        first, last = top.low[:, None] + low, high + rest.high[None, :]
        steps = int((last - first).max()) + 1
    total, rows = 0.0, max(1, BLOCK // (steps * len(rest.mass)))
    for a in range(0, len(top.mass), rows):
        part = slice(a, a + rows)
        if formula.diluted:
            values = formula.of_rights(high[part] + most, fn, fp[part], formula.size - number - low)
        else:
            positives = np.minimum(first[None, part] + np.arange(steps)[:, None, None], last[None, part])
            values = formula.of(fn[None], fp[None, part], positives).min(axis=0)
        total += float(top.mass[part] @ values @ rest.mass)
    return total, steps * len(top.mass) * len(rest.mass)


def fewest(q: Values, mean: float, variance: float, spare: float) -> int:
    """A number that the positives among these decisions are below with a probability of at most ``spare``."""
    if len(q) > COUNTED:
        return max(0, int(np.floor(mean - tail_of(variance, spare) - 1e-9 * len(q))))
    low, pmf, _ = count(q, 0.0)
    return int(low) + int(np.searchsorted(np.cumsum(pmf), 0.999 * spare, side="right"))
