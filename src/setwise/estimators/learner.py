"""The learner of an estimator."""

from math import sqrt
from typing import Any

from sklearn.utils import check_random_state

from setwise.core.learner import Learner
from setwise.core.surrogate import Surrogate
from setwise.learners import LEARNERS, NRBM, ConvexConcave, OneSlack
from setwise.surrogates import MarginRescaling, Ramp

RAMP, SCALED, OTHERS = 0.1, 300.0, 30.0
"""Values of C="auto": of the ramp as a factor of ``n^2 / d^1.5``, of margin rescaling by size, and of the others."""

LARGEST = 1e6
"""The largest default of the ramp; no data was tried on which a larger C is better."""


def default_c(surrogate: Surrogate, rows: int, features: int) -> float:
    """The weight of the mean risk that ``C="auto"`` stands for; the ramp may go the farther, the more rows there are.

    How far it is below the best of a grid, ``benchmarks/default_c.py`` measures.
    """
    if isinstance(surrogate, Ramp):
        return min(RAMP * rows**2 / (features * sqrt(features)), LARGEST)
    return SCALED if isinstance(surrogate, MarginRescaling) and surrogate.scale == "size" else OTHERS


def learner_for(
    model: Any, surrogate: Surrogate, convex: bool, usual: float, descent: type[Learner] = NRBM
) -> Learner | None:
    """The learner that the parameters of ``model`` name, for a risk that is convex or not; an object keeps its own.

    There is none with C = 0, where nothing is learned. ``"auto"`` is OneSlack for convex risks and ``descent`` for
    others. Where the ramp was not asked for, as under ``surrogate="auto"``, the learner that was named minimizes the
    majorants of ConvexConcave. ``usual`` is what ``C="auto"`` stands for.
    """
    if not isinstance(model.learner, str):
        found: Learner = model.learner
        return found
    C = usual if model.C == "auto" else model.C
    if C == 0:
        return None
    common: dict[str, Any] = {"C": C, "tol": model.tol, "max_iter": int(model.max_iter)}
    kind: Any = LEARNERS.get(model.learner, OneSlack if convex else descent)
    if not convex and kind.needs_convex and model.surrogate == "auto":
        common["inner"] = kind.name
        kind = ConvexConcave
    if "random_state" in kind.__dataclass_fields__ and model.random_state is not None:
        common["random_state"] = int(check_random_state(model.random_state).randint(2**31 - 1))
    learner: Learner = kind(**common)
    return learner
