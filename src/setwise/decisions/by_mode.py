"""Decisions for losses of the number of mistakes: each decision takes its more probable label."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.checks import Bools, Ints, Values
from setwise.decisions.formula import Formula
from setwise.decisions.pmf import count_of
from setwise.decisions.rule import Decided, Rule


@final
@dataclass(frozen=True, eq=False)
class ByMode(Rule):
    """``E g(m)`` for an increasing function g of the number m of mistakes, which is least where each is least probable.

    The number of mistakes is a sum of independent mistakes; a mistake less never makes the loss larger. About
    O(p log p) for a set.
    """

    formula: Formula

    def decide(self, q: Values) -> Decided:
        labels = q > 0.5
        values = self.expect(q, labels)
        return Decided(labels, values, values)

    def cut(self, q: Values, order: Ints, cuts: Ints) -> tuple[int, float]:
        # Equal rows have equal probabilities, so the best labeling does not separate them.
        found = self.decide(q[None, :])
        return int(found.labels.sum()), float(found.values[0])

    def expect(self, q: Values, labels: Bools) -> Values:
        mistakes = [count_of(row) for row in np.where(labels, 1.0 - q, q)]
        # Without positives every mistake is a false positive.
        none = np.zeros(1, dtype=np.int64)
        return np.array([m.pmf @ self.formula.counts.of(np.zeros(1), m.numbers, none) for m in mistakes])
