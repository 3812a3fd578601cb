"""The convex-concave procedure: descent by tangent majorants, each minimized by a learner for convex risks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.checks import Values, as_random_state, shown
from setwise.core.learner import Learner, Step
from setwise.core.promises import CheckedRisk
from setwise.core.risk import Risk

SHARE = 0.1
"""A majorant is minimized until its gap is this share of the descent that it has given."""


@final
@dataclass(frozen=True)
class ConvexConcaveProcedure(Learner):
    """``w <- argmin 0.5 |v|^2 + C majorant_w(v)``, with ``majorant_w >= risk`` and equal at w.

    This is the procedure of Yuille and Rangarajan (2003). The risk is a difference of convex functions, and the
    majorant replaces the second by its tangent at w. So the objective never rises. A round goes on until the gap of its
    majorant is a tenth of what the round has gained, or at most ``tol``. The method ends when a round gains no more
    than ``tol`` times the objective; no point of the majorant can then gain more than about twice that. Each round
    begins with the risk itself. The other points of the round count as iterations too, and their objective is that of
    the majorant, an upper bound.

    On a convex risk, which is its own majorant, this is the inner learner with its certificate. Otherwise the lower
    bound is C times the floor of the risk, and the status at the end is ``"local"``.

    Parameters
    ----------
    C : weight of the risk, > 0
    tol : end when a round descends by no more than this share of the objective, >= 0
    max_iter : largest number of iterations of all rounds together, >= 1
    inner : the short name of a learner for convex risks
    random_state : seed of an inner learner that is random, int, numpy Generator or None

    Raises
    ------
    TypeError : for arguments that are no numbers
    ValueError : for a ``C`` that is not above 0, a ``tol`` below 0, a ``max_iter`` below 1, and an ``inner`` that names
        no learner for convex risks
    Refusal : from :meth:`minimize`, for a risk without a convex majorant

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.learners import ConvexConcaveProcedure
    >>> from setwise.models import RowModel
    >>> from setwise.risks import MeanRisk
    >>> from setwise.surrogates import Ramp
    >>> risk = MeanRisk(RowModel([[1.0]], intercept=0.0), Ramp("hamming").on(Sets.single([1])))
    >>> fit = ConvexConcaveProcedure(C=2.0, tol=1e-6).minimize(risk, w0=np.array([0.5]))
    >>> print(fit.w.round(3), round(fit.objective, 3), fit.status)  # the ramp is 1 - w from 0 to 1, and else flat
    [1.] 0.5 local
    >>> worse = ConvexConcaveProcedure(C=2.0, tol=1e-6).minimize(risk, w0=np.array([-1.0]))
    >>> print(round(worse.objective, 3), worse.status)
    2.0 local
    """

    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000
    inner: str = "one_slack"
    random_state: int | np.random.Generator | None = None

    name: ClassVar[str] = "convex_concave"
    needs_convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        as_random_state(self.random_state)
        known = _convex_learners()
        if not isinstance(self.inner, str) or self.inner not in known:
            names = ", ".join(repr(name) for name in known)
            raise ValueError(f"inner must be the name of a learner for convex risks, {names}; got {shown(self.inner)}.")

    def steps(self, risk: Risk, w0: Values) -> Iterator[Step]:
        """Yields before each round, and after each iteration of the inner learner."""
        kind = _convex_learners()[self.inner]
        more: dict[str, Any] = {"C": self.C, "tol": self.tol, "max_iter": self.max_iter}
        if "random_state" in kind.__dataclass_fields__:
            more["random_state"] = self.random_state
        inner = kind(**more)
        if risk.convex:
            yield from inner.steps(risk, w0)
            return
        best, before = w0, np.inf
        while True:
            cut = risk.cut(best, self.tolerance(before))
            here = self.objective(best, cut, risk.floor)
            ended = before - here <= self.close_to(here)
            yield Step(best, cut, risk.floor, -np.inf, local=ended)
            before = lowest = here
            lower = -np.inf
            for step in inner.steps(CheckedRisk(risk.majorant(best), self.C), best):
                objective = self.objective(step.w, step.cut, step.known)
                lower = max(lower, step.lower)
                if objective < lowest:
                    best, lowest = step.w, objective
                yield Step(step.w, step.cut, step.known, -np.inf)
                if step.stalled or lowest - lower <= max(self.close_to(lowest), SHARE * (before - lowest)):
                    break


def _convex_learners() -> Mapping[str, Any]:
    """The learners for convex risks by their short names."""
    # The registry holds this class too, so it is read when it is complete.
    found: Mapping[str, Any] = import_module("setwise.learners").LEARNERS
    return {name: kind for name, kind in found.items() if kind.needs_convex}
