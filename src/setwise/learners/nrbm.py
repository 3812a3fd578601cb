"""The bundle method for risks that are not convex: planes that contradict the best point are changed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values
from setwise.core.learner import Learner, Step
from setwise.core.promises import padded
from setwise.core.risk import CuttingPlane, Risk
from setwise.learners.masters import PlaneMaster
from setwise.learners.one_slack import MASTER_SHARE, SHORTEST, OneSlack


@final
@dataclass(frozen=True)
class NRBM(Learner):
    """``min_w 0.5 |w|^2 + C risk(w)`` by planes that are lowered where they contradict the best point ``b`` so far.

    The non-convex regularized bundle method (Do and Artieres 2009, 2012), the learner of DD section 4.2. A plane
    ``<a, v> + c`` that was made at x must not be above ``risk(b) - |x - b|^2 / 2C`` at b, and at x it must keep the
    objective at or above that of b. If x is better than b, it becomes the best point, and all older planes are lowered.
    If it is not, and its plane contradicts b, the offset c is lowered; where no offset keeps both, the slope becomes
    ``-b / C``. Points are chosen as in :class:`setwise.learners.OneSlack`.

    When the changed planes leave a gap of at most ``tol``, the bundle begins afresh at b. The method ends when a bundle
    gains no more than ``tol`` times the objective. The objective of the best point never rises. On a convex risk no
    plane contradicts anything, and the method is OneSlack with its certificate. Otherwise the lower bound is C times
    the floor of the risk, and the status at the end is ``"local"``.

    Parameters
    ----------
    C : weight of the risk, > 0
    tol : end when a bundle descends by no more than this share of the objective, >= 0
    max_iter : largest number of iterations, >= 1

    Raises
    ------
    TypeError : for arguments that are no numbers
    ValueError : for a ``C`` that is not above 0, a ``tol`` below 0, a ``max_iter`` below 1

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.learners import NRBM
    >>> from setwise.models import RowModel
    >>> from setwise.risks import MeanRisk
    >>> from setwise.surrogates import Ramp
    >>> risk = MeanRisk(RowModel([[1.0]], intercept=0.0), Ramp("hamming").on(Sets.single([1])))
    >>> fit = NRBM(C=2.0, tol=1e-6).minimize(risk, w0=np.array([0.5]))
    >>> print(fit.w.round(3), round(fit.objective, 3), fit.status)  # the ramp is 1 - w from 0 to 1, and else flat
    [1.] 0.5 local
    >>> far = NRBM(C=2.0, tol=1e-6).minimize(risk, w0=np.array([-1.0]))
    >>> print(round(far.objective, 3), far.status)  # from -1 it comes to 0, and at 0 the gradient is that above it
    0.5 local
    """

    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000

    name: ClassVar[str] = "nrbm"
    needs_convex: ClassVar[bool] = False

    def steps(self, risk: Risk, w0: Values) -> Iterator[Step]:
        """Yields after each iteration: one plane, mended if need be, then the master over all planes."""
        if risk.convex:
            yield from OneSlack(self.C, self.tol, self.max_iter).steps(risk, w0)
            return
        planes, x, best = PlaneMaster(risk, self.C, w0), w0, w0
        lowest = begun = np.inf
        tangent: CuttingPlane | None = None
        share = 0.5
        while True:
            cut = risk.cut(x, self.tolerance(lowest))
            x, best = padded(x, risk.size), padded(best, risk.size)
            objective = self.objective(x, cut, risk.floor)
            descends = float((x + self.C * cut.slope) @ (padded(planes.w, risk.size) - best)) < 0
            share = min(2 * share, 1.0) if descends else max(share / 2, SHORTEST)
            if objective < lowest:
                planes.stay_below(x, max(cut.value, risk.floor), self._distance(x, best))
                best, lowest, tangent = x, objective, cut
                begun = objective if begun == np.inf else begun
                planes.add(cut)
            else:
                planes.add(self._mended(cut, x, best, lowest))
            planes.solve(MASTER_SHARE * self.close_to(lowest))
            closed = lowest - planes.lower <= self.close_to(lowest)
            yield Step(x, cut, risk.floor, -np.inf, local=closed and begun - lowest <= self.close_to(lowest))
            if closed and tangent is not None:
                # Changed planes may hide a way down, so only a bundle that is made afresh may end the method.
                planes, begun, share = PlaneMaster(risk, self.C, best), lowest, 0.5
                planes.add(tangent)
                planes.solve(MASTER_SHARE * self.close_to(lowest))
            x = planes.w if share == 1.0 else best + share * (padded(planes.w, risk.size) - best)

    def _distance(self, x: Values, best: Values) -> float:
        """``|x - best|^2 / 2C``, in units of the risk."""
        return 0.5 * float((x - best) @ (x - best)) / self.C

    def _mended(self, cut: CuttingPlane, x: Values, best: Values, lowest: float) -> CuttingPlane:
        """The plane made at ``x``, changed where it contradicts the objective ``lowest`` of the best point."""
        highest = (lowest - 0.5 * float(best @ best)) / self.C - self._distance(x, best)
        if cut.offset + float(cut.slope @ best) <= highest:
            return cut
        # At this height of the plane at x the objective there is the lowest one.
        least = (lowest - 0.5 * float(x @ x)) / self.C
        offset = least - float(cut.slope @ x)
        if offset + float(cut.slope @ best) <= highest:
            return replace(cut, offset=offset)
        slope = -best / self.C
        return replace(cut, offset=least - float(slope @ x), slope=slope)
