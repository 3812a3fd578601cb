"""Decisions for sums of costs of single mistakes: each decision is made alone."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.checks import Bools, Ints, Values
from setwise.decisions.rule import Decided, Rule


@final
@dataclass(frozen=True, eq=False)
class ByCosts(Rule):
    """``sum_i c_i min(q_i, 1 - q_i)``: a decision is positive where its probability is above 1/2; O(p) for a set.

    Parameters
    ----------
    costs : (p,) the cost of a mistake in each decision, whatever its label; negative costs turn a decision around
    """

    costs: Values

    def decide(self, q: Values) -> Decided:
        labels = np.where(self.costs >= 0, q > 0.5, q < 0.5)
        values = self.expect(q, labels)
        return Decided(labels, values, values)

    def expect(self, q: Values, labels: Bools) -> Values:
        return np.asarray(np.where(labels, 1.0 - q, q) @ self.costs)

    def cut(self, q: Values, order: Ints, cuts: Ints) -> tuple[int, float]:
        steps = (self.costs * (1.0 - 2.0 * q))[order]
        values = float(self.costs @ q) + np.concatenate(([0.0], np.cumsum(steps)))[cuts]
        best = int(values.argmin())
        return int(cuts[best]), float(values[best])
