"""Block-coordinate Frank-Wolfe: the dual is climbed for one part of the risk at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Ints, Values, as_count, as_number, as_random_state
from setwise.core.learner import Learner, Step
from setwise.core.risk import Risk
from setwise.learners.masters import BlockMaster, batch_size, batches

SHARE = 32
"""The number of batches of a pass; the planes of a batch are all made at one point."""

FULL = 3
"""One pass in this number visits all parts; the others draw parts by their gaps."""


@final
@dataclass(frozen=True)
class BlockFrankWolfe(Learner):
    """``min_w 0.5 |w|^2 + C sum_i R_i(w)`` by ascent on the dual, part by part (Lacoste-Julien et al. 2013).

    The update of a part is exact, over its new plane and all that it keeps (with ``planes=2``, between the new one and
    the mean of the earlier ones, as published). Two passes of three draw the parts by their shares of the duality gap,
    and each pass is followed by one over the planes that are kept, without inference (Osokin et al. 2016). A pass makes
    ``n_parts`` planes in 32 batches. The objective is evaluated after each pass that visits every part, and when the
    shares add up to less than the required gap; in between, the last point is reported again with a better lower bound.

    Parameters
    ----------
    C : weight of the risk, > 0
    tol : stop at this certified relative gap, >= 0
    max_iter : largest number of passes, >= 1
    planes : largest number of planes kept for a part, >= 2
    memory : bytes for planes; Refusal where two planes for each part, 16 n_parts (size + 4) bytes, need more
    random_state : seed of the order of the parts, int, numpy Generator or None

    Raises
    ------
    TypeError : for arguments that are no numbers
    ValueError : for a ``C`` that is not above 0, a ``tol`` below 0, a ``max_iter`` below 1, ``planes`` below 2, a
        ``memory`` below 0
    Refusal : from :meth:`minimize`, for a risk that is not convex, and where ``memory`` is too small

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.learners import BlockFrankWolfe
    >>> from setwise.models import RowModel
    >>> from setwise.risks import MeanRisk
    >>> from setwise.surrogates import LovaszHinge
    >>> risk = MeanRisk(RowModel([[1.0]], intercept=0.0), LovaszHinge("hamming").on(Sets.single([1])))
    >>> fit = BlockFrankWolfe(C=0.5, tol=1e-3, random_state=0).minimize(risk)
    >>> print(fit.w.round(2), round(fit.objective, 3), fit.status)  # 0.5 w^2 + 0.5 max(0, 1 - w)
    [0.5] 0.375 converged
    """

    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000
    planes: int = 8
    memory: float = 2e9
    random_state: int | np.random.Generator | None = None

    name: ClassVar[str] = "block_frank_wolfe"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_count(self.planes, "planes", low=2)
        as_number(self.memory, "memory", low=0.0)
        as_random_state(self.random_state)

    def steps(self, risk: Risk, w0: Values) -> Iterator[Step]:
        """Yields after each pass; the first planes are made at ``w0``."""
        rng = np.random.default_rng(self.random_state)
        blocks = BlockMaster("BlockFrankWolfe", risk, self.C, self.planes, self.memory)
        n, size = risk.n_parts, batch_size(risk, SHARE)
        step = None
        # Where the master starts at w0 itself, w may move while the first planes are made.
        if risk.floors is None or not np.array_equal(blocks.w, w0):
            for parts in batches(np.arange(n), batch_size(risk, 1)):
                blocks.take(parts, risk.cuts(w0, parts))
            step = self._evaluate(risk, blocks, w0, np.inf)
            yield step
        passes = 0
        while True:
            full = passes % FULL == 0
            for batch in batches(rng.permutation(n), size):
                # Parts without a gap need no new plane, so most passes draw the others.
                parts = batch if full else _draw(rng, blocks.gaps, len(batch))
                blocks.take(parts, risk.cuts(blocks.w, parts))
            blocks.climb(rng.permutation(n))
            passes += 1

            # The shares are of different points, so their sum is an estimate: it decides when to evaluate, no more.
            gap = float(blocks.gaps.sum())
            if step is None or full or gap <= self.close_to(blocks.lower + gap):
                blocks.recompute_weights()
                best = np.inf if step is None else self.objective(step.w, step.cut, step.known)
                step = self._evaluate(risk, blocks, blocks.w.copy(), best)
            # Only a pass that visits every part has renewed all gaps.
            stalled = full and gap <= 0.1 * self.close_to(self.objective(step.w, step.cut, step.known))
            yield Step(step.w, step.cut, step.known, blocks.lower, stalled, bundle=blocks.bundle)

    def _evaluate(self, risk: Risk, blocks: BlockMaster, w: Values, objective: float) -> Step:
        # The planes of the parts bound the value of the risk from below, where inference is not exact.
        known = float(blocks.plane_maxima(w, np.arange(risk.n_parts)).sum())
        return Step(w, risk.cut(w, self.tolerance(objective)), known, blocks.lower, bundle=blocks.bundle)


def _draw(rng: np.random.Generator, gaps: Values, size: int) -> Ints:
    """Returns distinct parts drawn with chances by their gaps; a part without a gap has a small chance too.

    The parts with the least ``Exp(1) / chance_i`` are such a draw without replacement (Efraimidis and Spirakis 2006).
    """
    # 1e-300 keeps chances above 0 where no part has a gap.
    chance = gaps + 1e-3 * gaps.mean() + 1e-300
    return np.argpartition(rng.standard_exponential(len(gaps)) / chance, size - 1)[:size]
