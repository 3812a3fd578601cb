"""The descent on the bound of a decomposition into several parts, with few multipliers or with all."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Values
from setwise.inference.decomposition.bundle import Bundle
from setwise.inference.decomposition.descents import CLOSE


class Seen(NamedTuple):
    """What the parts answer to multipliers m.

    Attributes
    ----------
    bound : an upper bound of the best value
    level, slope : ``level + <slope, m' - m>`` lies below the least upper bound at all m'
    labelings : candidates
    """

    bound: float
    level: float
    slope: Values
    labelings: Iterable[NDArray[Any]]


@final
class Lowering:
    """The labels and bounds of one set that a descent has seen so far.

    Parameters
    ----------
    at : what the parts answer to multipliers (n,), where value and bound are a gap apart, inf at first
    value : that of labels, -inf where they are forbidden
    labels : the first ones
    scale : the size of multipliers that reverse a label
    rounding : what it changes in values and bounds next to a value
    tol : value and bound that are so close are close enough
    left : how many bounds may still be computed
    hopeless : a descent ends where the bound can fall by no more than this share of the gap

    Attributes
    ----------
    labels, best : the best labels so far, and their value
    bound : the lowest bound so far
    """

    def __init__(
        self,
        at: Callable[[Values, float], Seen],
        value: Callable[[NDArray[Any]], float],
        labels: NDArray[Any],
        scale: float,
        rounding: Callable[[float], float],
        tol: float,
        left: int,
        hopeless: float = 0.0,
    ) -> None:
        self._at, self._value, self._scale, self._rounding, self._tol = at, value, scale, rounding, tol
        self._left, self._hopeless = left, hopeless
        self.labels, self.best, self.bound = labels, value(labels), np.inf

    @property
    def done(self) -> bool:
        """Whether value and bound are close enough, or no evaluations are left."""
        close = max(self._tol, self._rounding(self.best)) if self.best > -np.inf else 0.0
        return self._left <= 0 or self.bound - self.best <= close

    def offer(self, labelings: Iterable[NDArray[Any]]) -> None:
        """Take labels that are better than the best ones so far."""
        for labels in labelings:
            value = self._value(labels)
            if value > self.best:
                self.best, self.labels = value, labels

    def at(self, multipliers: Values) -> Seen:
        """What the parts answer; bounds and labelings count."""
        self._left -= 1
        seen = self._at(multipliers, self.bound - self.best)
        self.bound = min(self.bound, seen.bound)
        self.offer(seen.labelings)
        return seen

    def lower(self, start: Values, sides: Values | None = None) -> Values:
        """Lower the bound from ``start``, with the multipliers ``sides @ x``, or x itself; returns the best x."""

        def plane(x: Values) -> tuple[float, Values]:
            seen = self.at(x if sides is None else sides @ x)
            return seen.level, seen.slope if sides is None else seen.slope @ sides

        level, slope = plane(start)
        goal = self.best if self.best > -np.inf else level - self._scale * float(slope @ slope)
        bundle = Bundle(start, level, slope, goal)
        while not self.done and bundle.decrease > self._least:
            bundle.add(*plane(bundle.point))
        return bundle.centre

    @property
    def _least(self) -> float:
        """A descent ends where its planes promise no more than this."""
        gap = self.bound - self.best
        return max(CLOSE * self._scale, self._hopeless * gap if np.isfinite(gap) else 0.0)


def size_of(scores: Values, total: int) -> float:
    """The size of multipliers that reverse a label: that of the scores, or of the loss of one of ``total`` labels."""
    return 1e-3 / total + float(np.abs(scores).max())
