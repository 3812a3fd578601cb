"""The one-slack cutting-plane method, stabilized: one plane below the whole risk in each iteration."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values
from setwise.core.learner import Learner, Step
from setwise.core.promises import padded
from setwise.core.risk import Risk
from setwise.learners.masters import PlaneMaster

SHORTEST = 0.05
"""The least share of the way from the best point to the master's solution at which the next plane is made."""

MASTER_SHARE = 0.01
"""The master is solved to this share of the required gap."""


@final
@dataclass(frozen=True)
class OneSlack(Learner):
    """``min_w 0.5 |w|^2 + C risk(w)`` by planes below the whole risk (Joachims, Finley and Yu 2009).

    Each iteration makes one plane and solves the master over all planes so far; its solution ``v`` gives the lower
    bound. The next plane is made on the way to ``v``, at ``x = best + share (v - best)``. If the objective still falls
    at ``x`` in the direction of ``v``, the share doubles (to at most 1, the plain method), else it halves. Franc and
    Sonnenburg (2009) search that line exactly, which only some risks allow; the slope at ``x`` is known for all.

    An iteration costs one ``risk.cut`` and O(t d) for the t planes that are kept. It is the default learner.

    Source: LH 4.3 and HOL Eq. 3.

    Parameters
    ----------
    C : weight of the risk, > 0
    tol : stop at this certified relative gap, >= 0
    max_iter : largest number of iterations, >= 1

    Raises
    ------
    TypeError : for arguments that are no numbers
    ValueError : for a ``C`` that is not above 0, a ``tol`` below 0, a ``max_iter`` below 1
    Refusal : from :meth:`minimize`, for a risk that is not convex

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.learners import OneSlack
    >>> from setwise.models import RowModel
    >>> from setwise.risks import MeanRisk
    >>> from setwise.surrogates import LovaszHinge
    >>> risk = MeanRisk(RowModel([[1.0]], intercept=0.0), LovaszHinge("hamming").on(Sets.single([1])))
    >>> fit = OneSlack(C=0.5, tol=1e-3).minimize(risk)
    >>> print(fit.w.round(2), round(fit.objective, 3), fit.status)  # 0.5 w^2 + 0.5 max(0, 1 - w)
    [0.5] 0.375 converged
    """

    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000

    name: ClassVar[str] = "one_slack"

    def steps(self, risk: Risk, w0: Values) -> Iterator[Step]:
        """Yields after each iteration: one plane, then the master over all planes."""
        planes = PlaneMaster(risk, self.C, w0)
        x = best = w0
        lowest, share, stalled = np.inf, 0.5, False
        while True:
            cut, known = risk.cut(x, self.tolerance(lowest)), planes.at(x)
            objective = self.objective(x, cut, known)
            x, best = padded(x, risk.size), padded(best, risk.size)

            # What the new plane adds at the master's solution, and whether the objective descends on the way there.
            v = padded(planes.w, risk.size)
            gain = self.C * (cut.offset + float(cut.slope @ v) - planes.at(v))
            descends = float((x + self.C * cut.slope) @ (v - best)) < 0
            if objective < lowest:
                best, lowest = x, objective
            enough = MASTER_SHARE * self.close_to(lowest)
            if gain <= enough:
                # Inexact inference may find less than the planes know: try v itself, and stop if that adds nothing.
                stalled, share = x is planes.w, 1.0
            else:
                share = min(2 * share, 1.0) if descends else max(share / 2, SHORTEST)

            planes.add(cut)
            planes.solve(enough)
            yield Step(x, cut, known, planes.lower, stalled, bundle=planes.bundle)
            x = planes.w if share == 1.0 else best + share * (planes.w - best)
