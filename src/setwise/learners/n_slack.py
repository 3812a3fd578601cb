"""Planes for every part of the risk: the n-slack cutting-plane method."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.arrays import Values
from setwise.core.checks import as_number
from setwise.core.cut import Cut
from setwise.core.learner import Learner, Step
from setwise.core.risk import Risk
from setwise.core.watched import padded, refuse_planes_above
from setwise.learners.blocks import Blocks, batch_size, batches

PLANES = 50
"""A part keeps at most so many planes."""


@final
@dataclass(frozen=True)
class NSlack(Learner):
    """``min_w 0.5 |w|^2 + C sum_i max_t (b_it + <a_it, w>)``, a working set of planes for each part (LH Algorithm 1).

    Each iteration makes one plane for every part at the master's solution, keeps those that are violated, and solves
    the master by block-coordinate ascent on its dual, part by part, to a tenth of the gap that is left. It needs few
    iterations, each one inference for every part; the planes take much memory. A part that holds 50 planes, or as many
    as ``memory`` allows, replaces its two lightest ones by their mean, which costs no bound.

    Parameters
    ----------
    C : weight of the risk, > 0
    tol : stop at this certified relative gap, >= 0
    max_iter : largest number of iterations, >= 1
    memory : bytes for planes; Refusal where two planes for each part, 16 n_parts (size + 4) bytes, need more
    """

    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000
    memory: float = 2e9

    name: ClassVar[str] = "n_slack"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_number(self.memory, "memory", low=0.0)

    def steps(self, risk: Risk, w0: Values) -> Iterator[Step]:
        """New planes for all parts, then the master over all planes."""
        blocks = Blocks("NSlack", risk, self.C, PLANES, self.memory)
        everyone, size = np.arange(risk.n_parts), batch_size(risk, 1)
        w, lowest = w0, np.inf
        while True:
            value = upper = rounding = 0.0
            for parts in batches(everyone, size):
                known, cuts = blocks.plane_maxima(w, parts), risk.cuts(w, parts, self.tolerance(lowest))
                slack = 0.0 if cuts.roundings is None else float(cuts.roundings.max())
                worst = int(np.argmax(known - cuts.uppers))
                refuse_planes_above(float(known[worst]), float(cuts.uppers[worst]), slack)
                value += float(np.maximum(cuts.values, known).sum())
                upper += float(np.maximum(cuts.uppers, known).sum())
                rounding += 1e-14 * float(np.abs(cuts.offsets).sum() + np.abs(cuts.values).sum())
                blocks.take(parts, cuts)
            cut, w = Cut(value, np.zeros(0), value, upper, rounding), padded(w, risk.size)
            objective = self.objective(w, cut, -np.inf)

            lowest = min(lowest, objective)
            enough = 0.1 * self.close_to(lowest)
            blocks.solve(max(enough, 0.1 * (lowest - blocks.lower)))
            yield Step(w, cut, -np.inf, blocks.lower, stalled=objective - blocks.lower <= enough)
            w = blocks.w.copy()
