"""Labelings of bags that agree with what is known, for losses that are defined where all labels are known."""

from typing import final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Values
from setwise.core.learner import plain_interrupts
from setwise.core.surrogate import Evaluator, Surrogate
from setwise.estimators.weak.knowledge import Knowledge
from setwise.estimators.weak.posterior import Posterior

ROUNDING = 1e-9
"""A surrogate is less where it is by more than this share."""


@final
class Completions:
    """A labeling of each bag, at first that of greatest score, and the surrogate against these labelings.

    Of the labelings with a given number of positives that of greatest score has the least surrogate, for a loss of
    counts. Where only a range of numbers is known it need not have, and a bag keeps its labeling where that costs less.

    Attributes
    ----------
    labels : (total,) whether rows are positive; None before the first call of :meth:`improve`
    evaluator : the surrogate, bound to them
    """

    evaluator: Evaluator

    def __init__(self, knowledge: Knowledge, surrogate: Surrogate) -> None:
        self.surrogate, self.sets = surrogate, knowledge.sets
        self.labels: Bools | None = None
        self._posterior = Posterior(knowledge)

    def improve(self, scores: Values) -> bool:
        """Give a bag the labeling of greatest score (total,) where its surrogate is less there; whether any has it."""
        with plain_interrupts():
            found: Bools = self._posterior(scores, np.inf) > 0.5
            evaluator = self._bound(found)
            if self.labels is None:
                self.labels, self.evaluator = found, evaluator
                return True
            before = self.evaluator(scores).values
            better = evaluator(scores).values < before - ROUNDING * np.abs(before)
            if not better.any():
                return False
            labels = np.where(better[self.sets.owners], found, self.labels)
            self.labels, self.evaluator = labels, self._bound(labels)
        return True

    def _bound(self, labels: Bools) -> Evaluator:
        return self.surrogate.on(Sets(labels, self.sets.offsets))
