"""Supermodular losses: maximizing them against a modular score is submodular minimization."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.inference import Inference, Problem, Solutions
from setwise.core.sets import Orders
from setwise.core.traits import Trait
from setwise.inference.min_norm_point import minimize_submodular


@final
@dataclass(frozen=True)
class BySubmodularMinimum(Inference):
    """``max_A l(A) - m(A) = - min_A (m - l)(A)`` with ``m - l`` submodular, by the min-norm point. Exact to rounding.

    One set after another; polynomial, a few hundred decisions are practical. What rounding leaves shows in the bound.
    """

    max_iter: int = 10_000

    def refuses(self, problem: Problem) -> str | None:
        if problem.slack:
            return "BySubmodularMinimum refuses slack rescaling: the product is not supermodular. Use Greedy."
        rest = problem.bare().loss
        if Trait.SUPERMODULAR not in rest.traits:
            return f"BySubmodularMinimum refuses {rest!r}: it does not promise to be supermodular. Use Greedy."
        return None

    def maximize(self, problem: Problem) -> Solutions:
        bare, sets = problem.bare(), problem.sets
        mistakes = np.zeros(sets.total, dtype=bool)
        bounds = bare.loss.at_none(sets)
        for i in range(len(sets)):
            part, span = sets.part(i, i + 1), slice(sets.offsets[i], sets.offsets[i + 1])
            m = bare.margins[span]

            def gains(order: np.ndarray, part=part, m=m) -> np.ndarray:
                items = order.astype(np.int32)
                along = Orders(items, part.labels[items], part.offsets)
                return m[order] - bare.loss.gains(part, along)

            found, low = minimize_submodular(gains, len(m), self.max_iter)
            mistakes[span] = found
            bounds[i] -= low
        return problem.solved(mistakes, bounds)
