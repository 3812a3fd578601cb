"""Small steps along subgradients of a few parts, averaged."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import final

import numpy as np

from setwise.core.learner import Floats, Learner, Step
from setwise.core.risk import Risk
from setwise.learners.blocks import batch_size, batches
from setwise.learners.planes import Planes

SHARE = 32
"""An epoch is cut into so many batches, one step each."""


@final
@dataclass(frozen=True)
class Subgradient(Learner):
    """``w <- w - 2/(t+1) (w + C g)``, g a subgradient seen through a batch of parts; averaged with weights t.

    Pegasos (Shalev-Shwartz et al. 2011) with the steps and the average of Lacoste-Julien, Schmidt and Bach (2012).
    After each epoch one full plane is made, and the master over these planes gives the lower bound: in turn at the
    average and halfway from the best point to the master's solution, for averages lie too close together to bound the
    minimum well. The objective is 1-strongly convex, so its minimum is within ``sqrt(2 gap)`` of the best point: steps
    that leave that ball are pulled back. Little memory, whatever the number of parts.

    Parameters
    ----------
    C : weight of the risk, > 0
    tol : stop at this certified relative gap, >= 0
    max_iter : largest number of epochs, >= 1
    random_state : seed of the order of the parts, int, numpy Generator or None
    """

    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000
    random_state: int | np.random.Generator | None = None

    def steps(self, risk: Risk, w0: Floats | None) -> Iterator[Step]:
        """One evaluation and one epoch at a time."""
        rng = np.random.default_rng(self.random_state)
        planes, size = Planes(risk.size, self.C), batch_size(risk, SHARE)
        w = mean = best = np.zeros(risk.size) if w0 is None else np.array(w0, dtype=np.float64)
        lowest, t = np.inf, 0
        for epoch in count():
            x = mean if epoch % 2 == 0 else 0.5 * (best + planes.w)
            cut, known = risk.cut(x), planes.at(x)
            half = 0.5 * float(x @ x)
            objective, upper = half + self.C * max(cut.value, known), half + self.C * max(cut.upper, known)
            if objective < lowest:
                best, lowest = x, objective
            grain = 0.01 * max(self.tol, 1e-12) * lowest
            planes.add(cut.offset, cut.slope)
            planes.solve(grain)
            yield Step(x, objective, upper, planes.lower, stalled=lowest - planes.lower <= grain)

            radius = np.sqrt(2 * max(lowest - planes.lower, 0.0))
            for parts in batches(rng.permutation(risk.n_parts), size):
                t += 1
                slope = risk.cuts(w, parts).slopes.sum(axis=0) * (risk.n_parts / len(parts))
                w = _into_ball(w - 2 / (t + 1) * (w + self.C * slope), best, radius)
                mean = mean + 2 / (t + 1) * (w - mean)


def _into_ball(w: Floats, center: Floats, radius: float) -> Floats:
    away = w - center
    length = float(np.sqrt(away @ away))
    return w if length <= radius else center + (radius / length) * away
