"""A lower bound of the expected losses of an interval of numbers predicted, for increasing functions of the counts."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.arrays import Ints, Values
from setwise.decisions.formula import Formula
from setwise.decisions.pmf import Pmf

BLOCK = 1 << 15
"""About so many values of the formula are computed at once, so that they stay in the cache of a processor."""


def bound_of_interval(
    formula: Formula, interval: tuple[int, int], top: Pmf, rest: Pmf, between: tuple[int, int]
) -> tuple[float, int]:
    """``E min_m f(fn_K, k - tp_k, tp_k + fn_K + m)`` from below, for k..K predicted, and the number of values it took.

    With k..K predicted there are no fewer false negatives than with K, and no fewer false positives than with k.
    ``top`` counts the positives among the first k, ``rest`` those after the first K, and m, ``between`` two numbers,
    those among the others. Counts are taken in blocks; in each the loss is at least that of its smallest counts.
    """
    low, high = interval
    # Blocks a quarter as wide as the interval lose about as much as the interval does.
    width = max(1, (high - low) // 4)
    t, f = (_Blocks.of(x, min(width, -(-len(x.pmf) // 8))) for x in (top, rest))
    fn, fp = f.low[None, :].astype(np.float64), (low - t.high[:, None]).astype(np.float64)
    first, last = t.low[:, None] + f.low[None, :] + between[0], t.high[:, None] + f.high[None, :] + between[1]
    total, steps = 0.0, int((last - first).max()) + 1
    rows = max(1, BLOCK // (steps * len(f.low)))
    shift = np.arange(steps)[:, None, None]
    for a in range(0, len(t.low), rows):
        part = slice(a, a + rows)
        positives = np.minimum(first[None, part] + shift, last[None, part]).astype(np.float64)
        values = formula.of(fn[None], fp[None, part], positives)
        total += float(t.mass[part] @ values.min(axis=0) @ f.mass)
    return total, steps * len(t.low) * len(f.low)


@final
@dataclass(frozen=True, eq=False)
class _Blocks:
    """Runs of neighboring values of a count, with the least and the largest value of each, and its probability."""

    low: Ints
    high: Ints
    mass: Values

    @classmethod
    def of(cls, count: Pmf, width: int) -> "_Blocks":
        """Blocks of ``width`` values, the last one maybe shorter."""
        starts = np.arange(0, len(count.pmf), width)
        ends = np.minimum(starts + width, len(count.pmf)) - 1
        return cls(count.low + starts, count.low + ends, np.add.reduceat(count.pmf, starts))
