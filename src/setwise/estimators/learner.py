"""The learner of an estimator."""

from typing import Any

from sklearn.utils import check_random_state

from setwise.core.evaluator import Surrogate
from setwise.core.learner import Learner
from setwise.learners import LEARNERS, NRBM, ConvexConcave, OneSlack
from setwise.surrogates import MarginRescaling, Ramp

RAMP, SCALED, OTHERS = (1e4, 1e3), 300.0, 30.0
"""Values of C="auto": of the ramp for one set and for several, of margin rescaling by size, and of other surrogates."""


def default_c(surrogate: Surrogate, sets: int) -> float:
    """The weight of the mean risk that ``C="auto"`` stands for.

    On ten imbalanced tables and four label matrices it was near the best of a grid of powers of ten.
    """
    if isinstance(surrogate, Ramp):
        return RAMP[0] if sets == 1 else RAMP[1]
    return SCALED if isinstance(surrogate, MarginRescaling) and surrogate.scale == "size" else OTHERS


def learner_for(model: Any, surrogate: Surrogate, convex: bool, sets: int) -> Learner:
    """The learner that the parameters of ``model`` name, for a risk that is convex or not; an object keeps its own.

    ``"auto"`` is OneSlack for convex risks and NRBM for others. Where the ramp was not asked for, as under
    ``surrogate="auto"``, the learner that was named minimizes the majorants of ConvexConcave.
    """
    if not isinstance(model.learner, str):
        found: Learner = model.learner
        return found
    C = default_c(surrogate, sets) if model.C == "auto" else model.C
    common: dict[str, Any] = {"C": C, "tol": model.tol, "max_iter": int(model.max_iter)}
    kind: Any = LEARNERS.get(model.learner, OneSlack if convex else NRBM)
    if not convex and kind.needs_convex and model.surrogate == "auto":
        common["inner"] = kind.name
        kind = ConvexConcave
    if "random_state" in kind.__dataclass_fields__ and model.random_state is not None:
        common["random_state"] = int(check_random_state(model.random_state).randint(2**31 - 1))
    learner: Learner = kind(**common)
    return learner
