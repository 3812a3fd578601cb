"""Stochastic subgradient descent with averaging, and planes that certify its gap."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values, as_random_state
from setwise.core.learner import Learner, Step
from setwise.core.promises import padded
from setwise.core.risk import Risk
from setwise.learners.masters import PlaneMaster, batch_size, batches

SHARE = 32
"""The number of batches of an epoch; each batch gives one step."""


@final
@dataclass(frozen=True)
class Subgradient(Learner):
    """``w <- w - 2/(t+1) (w + C g)``, g a subgradient estimated from a batch of parts; averaged with weights t.

    This is Pegasos (Shalev-Shwartz et al. 2011) with the step lengths and the average of Lacoste-Julien, Schmidt and
    Bach (2012). After each epoch one plane of the whole risk is made, in turn at the average and halfway from the best
    point to the master's solution; the master over these planes gives the lower bound. (Averages alone lie too close
    together to bound the minimum well.) The objective is 1-strongly convex, so its minimum is within ``sqrt(2 gap)`` of
    the best point, and points that leave this ball are projected onto it. It needs little memory, whatever the number
    of parts.

    Parameters
    ----------
    C : weight of the risk, > 0
    tol : stop at this certified relative gap, >= 0
    max_iter : largest number of epochs, >= 1
    random_state : seed of the order of the parts, int, numpy Generator or None

    Raises
    ------
    TypeError : for arguments that are no numbers
    ValueError : for a ``C`` that is not above 0, a ``tol`` below 0, a ``max_iter`` below 1
    Refusal : from :meth:`minimize`, for a risk that is not convex

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.learners import Subgradient
    >>> from setwise.models import RowModel
    >>> from setwise.risks import MeanRisk
    >>> from setwise.surrogates import LovaszHinge
    >>> risk = MeanRisk(RowModel([[1.0]], intercept=0.0), LovaszHinge("hamming").on(Sets.single([1])))
    >>> fit = Subgradient(C=0.5, tol=1e-3, random_state=0).minimize(risk)
    >>> print(fit.w.round(2), round(fit.objective, 3), fit.status)  # 0.5 w^2 + 0.5 max(0, 1 - w)
    [0.5] 0.375 converged
    """

    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000
    random_state: int | np.random.Generator | None = None

    name: ClassVar[str] = "subgradient"
    attainable: ClassVar[float] = 1e-2

    def __post_init__(self) -> None:
        super().__post_init__()
        as_random_state(self.random_state)

    def steps(self, risk: Risk, w0: Values) -> Iterator[Step]:
        """Yields after each evaluation, then takes the steps of one epoch."""
        rng = np.random.default_rng(self.random_state)
        planes, size = PlaneMaster(risk, self.C, w0), batch_size(risk, SHARE)
        w = mean = best = w0
        # A fit that goes on takes steps as short as those before it.
        lowest, t = np.inf, risk.iterations * -(-risk.n_parts // size)
        for epoch in count():
            x = mean if epoch % 2 == 0 else 0.5 * (best + planes.w)
            cut, known = risk.cut(x, self.tolerance(lowest)), planes.at(x)
            objective = self.objective(x, cut, known)
            w, mean, best, x = (padded(point, risk.size) for point in (w, mean, best, x))
            if objective < lowest:
                best, lowest = x, objective
            # A hundredth of the gap asked for, so that the gap of the master hardly adds to that of the method.
            enough = 0.01 * self.close_to(lowest)
            planes.add(cut)
            planes.solve(enough)
            stalled = lowest - planes.lower <= enough
            yield Step(x, cut, known, planes.lower, stalled, bundle=planes.bundle)

            # Rounding may carry the lower bound above the lowest value.
            radius = np.sqrt(2 * max(lowest - planes.lower, 0.0))
            for parts in batches(rng.permutation(risk.n_parts), size):
                t += 1
                # The sum over the batch, scaled to all parts, is an unbiased estimate.
                slope = risk.cuts(w, parts).slopes.sum(axis=0) * (risk.n_parts / len(parts))
                w = _into_ball(w - 2 / (t + 1) * (w + self.C * slope), best, radius)
                w = w if risk.lower is None else np.maximum(w, risk.lower)
                # The running form of an average with weights 1, 2, ..., t.
                mean = mean + 2 / (t + 1) * (w - mean)


def _into_ball(w: Values, center: Values, radius: float) -> Values:
    """Returns the point of the ball around ``center`` that is nearest to w."""
    away = w - center
    length = float(np.sqrt(away @ away))
    return w if length <= radius else center + (radius / length) * away
