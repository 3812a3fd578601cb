"""Decisions of large sets by a search over the number predicted, one set after another."""

from abc import abstractmethod

import numpy as np

from setwise.core.checks import Bools, Ints, Values
from setwise.decisions.by_window import expected
from setwise.decisions.formula import Formula
from setwise.decisions.pmf import count_of
from setwise.decisions.rule import Decided, Rule, falling, of_first


class BySizes(Rule):
    """``min_k`` of the expected loss of predicting the k most probable decisions, with a bound of the minimum.

    Attributes
    ----------
    formula : the loss
    """

    formula: Formula

    @abstractmethod
    def least(self, q: Values, cuts: Ints) -> tuple[int, float, float]:
        """The best number k among ``cuts`` (c,), rising, its expected loss, and a lower bound of the least one.

        The probabilities (p,) fall.
        """

    def decide(self, q: Values) -> Decided:
        order, ordered = falling(q)
        sizes, values, bounds = np.empty(len(q), dtype=np.int64), np.empty(len(q)), np.empty(len(q))
        every = np.arange(q.shape[1] + 1)
        for i, row in enumerate(ordered):
            sizes[i], values[i], bounds[i] = self.least(row, every)
        return Decided(of_first(order, sizes), values, bounds)

    def cut(self, q: Values, order: Ints, cuts: Ints) -> tuple[int, float]:
        return self.least(np.ascontiguousarray(q[order]), cuts)[:2]

    def expect(self, q: Values, labels: Bools) -> Values:
        self.formula.check_labels(labels)
        rows = zip(q, labels, strict=True)
        return np.array([expected(self.formula, count_of(x[y]), count_of(x[~y]), int(y.sum())) for x, y in rows])
