"""Losses of the number of mistakes: the cheapest k mistakes are the best k mistakes."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.inference import Inference, Problem, Solutions
from setwise.core.traits import Trait
from setwise.kernels.cardinality import best_prefix
from setwise.kernels.sorting import sort_falling


@final
@dataclass(frozen=True)
class ByCardinality(Inference):
    """``max_k g(k) - sum of the k smallest margins``, or with slack ``g(k) (1 - that sum)``. Exact, O(p log p)."""

    def refuses(self, problem: Problem) -> str | None:
        rest = problem.bare().loss
        if Trait.CARDINALITY not in rest.traits:
            why = "it depends on more than the number of mistakes"
            return f"ByCardinality refuses {rest!r}: {why}. Use Enumeration or Greedy."
        return None

    def maximize(self, problem: Problem) -> Solutions:
        bare = problem.bare()
        sets = problem.sets
        items, _, falling, starts = sort_falling(-bare.margins, sets.labels, sets.offsets)
        # The loss depends on the number of mistakes alone, so any order of them traces g(0), g(1), ..., g(p).
        fn = np.minimum(sets.places + 1, np.repeat(sets.positives, sets.sizes)).astype(np.float64)
        fp = sets.places + 1 - fn
        P, N = (np.repeat(c, sets.sizes).astype(np.float64) for c in (sets.positives, sets.negatives))
        g = bare.loss.of_counts(fn, fp, P, N)
        mistakes = np.zeros(sets.total, dtype=bool)
        best_prefix(g, bare.loss.at_none(sets), falling, items, starts, problem.slack, mistakes)
        return problem.solved(mistakes)
