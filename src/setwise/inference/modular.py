"""Modular losses: every decision is judged on its own."""

from dataclasses import dataclass
from typing import final

from setwise.core.inference import Inference, Problem, Solutions


@final
@dataclass(frozen=True)
class Modular(Inference):
    """``max_A sum_(i in A) (costs_i - m_i)``: decision i is wrong where ``costs_i > m_i``. Exact, O(p)."""

    def refuses(self, problem: Problem) -> str | None:
        if problem.slack:
            return "Modular refuses slack rescaling: the product does not split. Use ByCardinality or Enumeration."
        if problem.loss.curved is not None:
            return f"Modular refuses {problem.loss!r}: the loss is not a sum of one cost per mistake. Use Greedy."
        return None

    def maximize(self, problem: Problem) -> Solutions:
        return problem.solved(problem.loss.costs(problem.sets) > problem.margins)
