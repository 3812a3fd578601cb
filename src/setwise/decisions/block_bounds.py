"""Bounds of expected losses of counts where sums of probabilities are known at some numbers predicted alone."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.checks import Ints, Values
from setwise.decisions.blocks import Blocks
from setwise.decisions.formula import Formula
from setwise.decisions.intervals import bound_of_interval
from setwise.decisions.levels import Levels
from setwise.decisions.pmf import tail_of

SPARE = 1e-9
"""The mass that is left out of a count."""

PARTS = 64
"""A count is divided into about so many blocks."""

ROUNDING = 1e-11
"""A bound on the rounding of expected losses, relative to the largest loss."""


@final
@dataclass(frozen=True, eq=False)
class BlockBounds:
    """Bounds of ``E f(k, tp, fn)`` at the ends of levels and inside, for increasing losses that are ``diluted``.

    A count of n decisions with mean m and variance v is below x with a probability between ``Phi((x - m) / sqrt(v))``
    less and more ``0.56 / sqrt(v)``, see :class:`Blocks`. So there is a variable that is stochastically larger and
    known, and one that is smaller. f is never larger with more true positives among k predicted ones, and never smaller
    with more false negatives. With the larger variable for tp and the smaller one for fn its mean is below the expected
    loss, and with the others above it, up to a mass of ``SPARE``, in which f is between 0 and the largest loss.

    Let b > a, and m of the decisions between be positive. For all k between there are at least fn_b false negatives and
    a - tp_b false positives, or, since m <= b - a, at least fn_a - (b - a) and a - tp_a, see
    :func:`bound_of_interval`. The first is taken where most of the decisions between are negative, else the second.
    Costs that are the same for all truths are least at fn_b and a - tp_a, whose means are known.

    Parameters
    ----------
    formula : the loss
    """

    formula: Formula

    def inside(self, levels: Levels) -> Values:
        """Lower bounds for all numbers between the two ends of each level, (k,)."""
        (k, hit, spread), (miss, rest) = levels.ends, levels.rests
        out, (missed, alarm), p = np.full(len(levels.counts), np.inf), self._costs, self.formula.size
        for i in np.flatnonzero(levels.counts > 1).tolist():
            a, n = int(k[i]), int(levels.counts[i])
            few = 2.0 * levels.means[i] <= n
            at, number, most = (i + 1, a, 0) if few else (i, a, n)
            top = _larger(int(k[at]), hit[at], spread[at])
            after = _smaller(p - int(k[at]), miss[at], rest[at])
            out[i] = self._least(number, most, top, after) + missed * miss[i + 1] + alarm * (a - hit[i])
        return out

    def at(self, k: Ints, hit: Values, spread: Values, miss: Values, rest: Values) -> tuple[Values, Values]:
        """Lower and upper bounds where k are predicted, see :meth:`LevelBounds.at`."""
        lower, upper, p = np.empty(len(k)), np.empty(len(k)), self.formula.size
        for i, size in enumerate(k.tolist()):
            tp, fn = (size, hit[i], spread[i]), (p - size, miss[i], rest[i])
            lower[i] = self._least(size, 0, _larger(*tp), _smaller(*fn))
            upper[i] = self._most(size, _smaller(*tp), _larger(*fn))
        missed, alarm = self._costs
        costs = missed * miss + alarm * (k - hit)
        return lower + costs, upper + costs

    def _least(self, number: int, most: int, top: Blocks, rest: Blocks) -> float:
        """The mean of the least losses of the blocks."""
        return max(bound_of_interval(self._curved, number, most, top, rest)[0] - self._rounding, 0.0)

    def _most(self, size: int, top: Blocks, rest: Blocks) -> float:
        """The mean of the largest losses of the blocks."""
        tp, fn = top.low[:, None], rest.high[None, :]
        values = self._curved.of_rights(tp, fn, size - tp, self.formula.size - size - fn)
        found = float(top.mass @ values @ rest.mass)
        return found + (1.0 - float(top.mass.sum() * rest.mass.sum())) * self._largest + self._rounding

    @cached_property
    def _curved(self) -> Formula:
        return self.formula.without_costs

    @cached_property
    def _largest(self) -> float:
        return self._curved.largest

    @property
    def _rounding(self) -> float:
        return ROUNDING * self._largest

    @cached_property
    def _costs(self) -> tuple[float, float]:
        return self.formula.costs or (0.0, 0.0)


def _larger(n: int, mean: float, variance: float) -> Blocks:
    """A count that is stochastically larger than that of the positives among n decisions."""
    mean, variance = min(max(mean, 0.0), float(n)), max(variance, 0.0)
    if 2.0 * variance <= SPARE:
        # A decision takes its less probable label with a chance of min(q, 1 - q) <= 2 q (1 - q): none does.
        at = np.array([np.rint(mean)])
        return Blocks(at, at, np.array([1.0 - SPARE]))
    if variance < 1.0:
        at = np.array([min(np.ceil(mean + tail_of(variance, SPARE) + 1e-9 * n), float(n))])
        return Blocks(at, at, np.array([1.0 - SPARE]))
    width = max(1, int(np.ceil(12.0 * np.sqrt(variance) / PARTS)))
    found = Blocks.above(n, mean, variance, width, SPARE)
    # Below 0 there is no mass, and the loss need not be defined.
    return Blocks(np.maximum(found.low, 0.0), np.maximum(found.high, 0.0), found.mass)


def _smaller(n: int, mean: float, variance: float) -> Blocks:
    """A count that is stochastically smaller."""
    return _larger(n, n - mean, variance).exchanged(n)
