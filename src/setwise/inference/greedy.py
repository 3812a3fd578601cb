"""Greedy inference: add the best mistake while it pays (Nemhauser, Wolsey, Fisher 1978; LH 6.1 and 6.4)."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.inference import Inference, Problem, Solutions
from setwise.core.sets import Bools
from setwise.inference.upper_bounds import upper_bounds
from setwise.kernels.segments import segment_argmax, segment_sums


@final
@dataclass(frozen=True)
class Greedy(Inference):
    """Grows A by the decision that raises the objective most, until none does. Approximate, O(p^2), any loss.

    The bound comes from what the loss promises (:func:`setwise.inference.upper_bounds.upper_bounds`): it is finite for
    losses that are submodular or increasing and infinite for others. Where it meets the value the answer is exact.
    """

    def refuses(self, problem: Problem) -> str | None:
        if problem.loss.tied:
            return f"Greedy refuses {problem.loss!r}: it ties the number of predicted positives. Use CountSearch."
        return None

    def maximize(self, problem: Problem) -> Solutions:
        mistakes = grow(problem)
        return problem.solved(mistakes, upper_bounds(problem, mistakes))


def grow(problem: Problem) -> Bools:
    """The greedy set of mistakes of every set, (total,) bool; all sets take one step at a time."""
    sets, m = problem.sets, problem.margins
    mistakes = np.zeros(sets.total, dtype=bool)
    value, lost = problem.loss.at_none(sets), np.zeros(len(sets))
    while True:
        gains = problem.loss.marginals(sets, mistakes)
        if problem.slack:
            # (l + gain)(1 - lost - m) - l (1 - lost)
            rise = gains * (1.0 - lost[sets.owners] - m) - value[sets.owners] * m
        else:
            rise = gains - m
        best = segment_argmax(np.where(mistakes, -np.inf, rise), sets.offsets)
        best = best[rise[best] > 0]
        best = best[~mistakes[best]]
        if len(best) == 0:
            return mistakes
        mistakes[best] = True
        value = problem.loss.values(sets, mistakes)
        lost = segment_sums(np.where(mistakes, m, 0.0), sets.offsets)
