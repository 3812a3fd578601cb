"""The n-slack cutting-plane method: every part of the risk has planes of its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values, as_number
from setwise.core.learner import Learner, Step
from setwise.core.promises import padded, refuse_planes_above
from setwise.core.risk import CuttingPlane, Risk
from setwise.learners.masters import BlockMaster, batch_size, batches

PLANES = 50
"""The largest number of planes of a part."""

SHARE, PROGRESS = 0.1, 0.9
"""The master is solved to a tenth of the gap at least, twice as well after each iteration that leaves more than nine
tenths of the gap, and half as well after others."""


@final
@dataclass(frozen=True)
class NSlack(Learner):
    """``min_w 0.5 |w|^2 + C sum_i max_t (b_it + <a_it, w>)``, a working set of planes for each part.

    Each iteration makes one plane for every part at the master's solution, keeps those that are violated, and solves
    the master by block-coordinate ascent on its dual, part by part, to a tenth of the remaining gap, or closer where
    that gap hardly falls any more. It needs few iterations, each with one inference for every part; the planes take
    much memory. A part that holds 50 planes, or as many as ``memory`` allows, replaces the two of least weight by their
    mean, which leaves the lower bound as it is. The parts of a mean over n sets hold the 1/n.

    Source: LH Algorithms 1 and 2, and MLSP 3.3.

    Parameters
    ----------
    C : weight of the risk, > 0
    tol : stop at this certified relative gap, >= 0
    max_iter : largest number of iterations, >= 1
    memory : bytes for planes; Refusal where two planes for each part, 16 n_parts (size + 4) bytes, need more

    Raises
    ------
    TypeError : for arguments that are no numbers
    ValueError : for a ``C`` that is not above 0, a ``tol`` below 0, a ``max_iter`` below 1, a ``memory`` below 0
    Refusal : from :meth:`minimize`, for a risk that is not convex, and where ``memory`` is too small

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.learners import NSlack
    >>> from setwise.models import RowModel
    >>> from setwise.risks import MeanRisk
    >>> from setwise.surrogates import LovaszHinge
    >>> risk = MeanRisk(RowModel([[1.0]], intercept=0.0), LovaszHinge("hamming").on(Sets.single([1])))
    >>> fit = NSlack(C=0.5, tol=1e-3).minimize(risk)
    >>> print(fit.w.round(2), round(fit.objective, 3), fit.status)  # 0.5 w^2 + 0.5 max(0, 1 - w)
    [0.5] 0.375 converged
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
        """Yields after each iteration: new planes for all parts, then the master over all planes."""
        blocks = BlockMaster("NSlack", risk, self.C, PLANES, self.memory)
        all_parts, size = np.arange(risk.n_parts), batch_size(risk, 1)
        w, lowest, last, share = w0, np.inf, np.inf, SHARE
        while True:
            value = upper = rounding = 0.0
            for parts in batches(all_parts, size):
                known, cuts = blocks.plane_maxima(w, parts), risk.cuts(w, parts, self.tolerance(lowest))
                rounding_each = 0.0 if cuts.roundings is None else float(cuts.roundings.max())
                # A plane above the upper bound of its part is no lower bound: the loss breaks a promise.
                worst = int(np.argmax(known - cuts.uppers))
                lost = rounding_each + 1e-12 * blocks.magnitude(w, int(parts[worst]))
                refuse_planes_above(float(known[worst]), float(cuts.uppers[worst]), lost)
                # Inexact inference may find less than older planes know, so the larger of both counts.
                value += float(np.maximum(cuts.values, known).sum())
                upper += float(np.maximum(cuts.uppers, known).sum())
                # Sums of many products lose digits in proportion to the numbers that are added.
                rounding += 1e-14 * float(np.abs(cuts.offsets).sum() + np.abs(cuts.values).sum())
                blocks.take(parts, cuts)
            cut, w = CuttingPlane(value, np.zeros(0), value, upper, rounding), padded(w, risk.size)
            # The planes are in the master already, so this cut carries values alone and no slope.
            objective = self.objective(w, cut, -np.inf)

            lowest = min(lowest, objective)
            # A master that is solved no better than to the gap asked for would keep the bound too low to end.
            enough, gap = 0.1 * self.close_to(lowest), lowest - blocks.lower
            # Where the risk is steep, the objective at a rough solution may stay above the lowest one for ever.
            share = min(2.0 * share, SHARE) if gap <= PROGRESS * last else 0.5 * share
            last = gap
            blocks.solve(max(enough, share * gap))
            yield Step(w, cut, -np.inf, blocks.lower, stalled=objective - blocks.lower <= enough, bundle=blocks.bundle)
            w = blocks.w.copy()
