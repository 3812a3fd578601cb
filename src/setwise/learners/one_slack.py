"""One plane for the whole risk in each iteration: the one-slack cutting-plane method, stabilized."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.learner import Floats, Learner, Step
from setwise.core.risk import Risk
from setwise.learners.planes import Planes

SHORTEST = 0.05
"""The next plane is made at least so far on the way from the best point to the master's solution."""

GRAIN = 0.01
"""The master is solved to this part of the gap that is asked for."""


@final
@dataclass(frozen=True)
class OneSlack(Learner):
    """``min_w 0.5 |w|^2 + C risk(w)`` by planes below the whole risk (Joachims, Finley and Yu 2009; LH Algorithm 2).

    Each iteration makes one plane and solves the master over all planes so far; its solution ``v`` gives the lower
    bound. The next plane is made on the way to ``v``, at ``x = best + reach (v - best)``. If the objective still falls
    at ``x`` in the direction of ``v``, ``reach`` doubles (to at most 1, the plain method), else it halves. Franc and
    Sonnenburg (2009) search that line exactly, which only some risks allow; the slope at ``x`` is known for all.

    One ``risk.cut`` an iteration, and O(t d) for the t planes kept. The method to begin with.

    Parameters
    ----------
    C : weight of the risk, > 0
    tol : stop at this certified relative gap, >= 0
    max_iter : largest number of iterations, >= 1
    """

    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000

    def steps(self, risk: Risk, w0: Floats | None) -> Iterator[Step]:
        """One plane and one master at a time."""
        planes = Planes(risk.size, self.C)
        x = best = np.zeros(risk.size) if w0 is None else np.array(w0, dtype=np.float64)
        lowest, reach, stalled = np.inf, 0.5, False
        while True:
            cut, known = risk.cut(x), planes.at(x)
            half = 0.5 * float(x @ x)
            objective, upper = half + self.C * max(cut.value, known), half + self.C * max(cut.upper, known)

            v, way = planes.w, planes.w - best
            news = self.C * (cut.offset + float(cut.slope @ v) - planes.at(v))
            falls = float((x + self.C * cut.slope) @ way) < 0
            if objective < lowest:
                best, lowest = x, objective
            grain = GRAIN * max(self.tol, 1e-12) * lowest
            if news <= grain:
                # inexact inference may see less than the planes know: ask at v itself, and if that is no news, give up
                stalled, reach = x is v, 1.0
            else:
                reach = min(2 * reach, 1.0) if falls else max(reach / 2, SHORTEST)

            planes.add(cut.offset, cut.slope)
            planes.solve(grain)
            yield Step(x, objective, upper, planes.lower, stalled)
            x = planes.w if reach == 1.0 else best + reach * (planes.w - best)
