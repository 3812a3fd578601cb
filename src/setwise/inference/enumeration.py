"""Every labeling of a small set, one by one."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.enumerate import table
from setwise.core.inference import Inference, Problem, Solutions
from setwise.core.traits import Trait
from setwise.kernels.enumeration import best_subsets


@final
@dataclass(frozen=True)
class Enumeration(Inference):
    """The maximum over all ``2^p`` sets of mistakes, for p up to ``limit``. Exact for any loss.

    The loss is tabled once for each length where it does not depend on the labels (``Trait.LABEL_FREE``), else once for
    each distinct ground truth: O(2^p) evaluations each, then two floating point operations for each set and labeling.
    """

    limit: int = 20

    def refuses(self, problem: Problem) -> str | None:
        if problem.loss.tied:
            return f"Enumeration refuses {problem.loss!r}: it ties the number of predicted positives. Use CountSearch."
        largest = int(problem.sets.sizes.max())
        if largest > self.limit:
            return f"Enumeration refuses a set of {largest} decisions: 2^{largest} labelings are too many. Use Greedy."
        return None

    def maximize(self, problem: Problem) -> Solutions:
        sets, margins = problem.sets, problem.margins
        free = Trait.LABEL_FREE in problem.loss.traits
        groups: dict[bytes, list[int]] = {}
        for i, (a, b) in enumerate(zip(sets.offsets[:-1].tolist(), sets.offsets[1:].tolist(), strict=True)):
            key = (b - a).to_bytes(2, "little") if free else sets.labels[a:b].tobytes()
            groups.setdefault(key, []).append(i)
        mistakes = np.zeros(sets.total, dtype=bool)
        for members in groups.values():
            first = sets.offsets[members[0]]
            values = table(problem.loss, sets.labels[first : sets.offsets[members[0] + 1]])
            best_subsets(values, margins, sets.offsets, np.array(members), problem.slack, mistakes)
        return problem.solved(mistakes)
