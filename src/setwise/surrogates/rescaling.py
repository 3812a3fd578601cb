"""Margin and slack rescaling: surrogates that maximise over all labelings (LH section 3)."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import as_number
from setwise.core.inference import Inference, Problem, Solutions
from setwise.core.loss import Loss
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.core.surrogate import Bounds, Surrogate
from setwise.inference.default import default_inference


@final
@dataclass(frozen=True, eq=False)
class MarginRescaling(Surrogate):
    """``max_yh loss(y, yh) + <s, yh - y>`` with 0/1 labels (LH Eq. 21); in a scale g: ``(1/g) max_yh g loss + <s, yh - y>``.

    Convex, never below the loss of the signs. An extension of the loss only for increasing losses and g at most
    :func:`setwise.surrogates.margin_scale` (LH Prop. 2). Exact for modular and cardinality losses, supermodular losses
    and any loss of up to 20 decisions; beyond that greedy, and then ``exact`` is False and ``upper`` honest.

    Parameters
    ----------
    loss : any loss
    inference : None chooses by the loss; an object forces one, e.g. ``Greedy()`` as in LH 6.1
    scale : g > 0. Scores of a large set add up while the loss stays bounded: a large g asks larger margins of them
    """

    loss: Loss
    inference: Inference | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        as_number(self.scale, "scale", low=0.0, open_low=True)

    def batch(self, sets: Sets, scores: NDArray[Any]) -> Bounds:
        """Value, gradient ``(yh - y) / g`` and bound of every set."""
        problem = Problem(self.loss, sets, scores / np.asarray(self.scale, dtype=scores.dtype))
        found = _solve(problem, self.inference)
        step = np.where(sets.labels, -1.0, 1.0) / self.scale
        gradient = np.where(found.mistakes, step, 0.0).astype(scores.dtype)
        return Bounds(found.values, gradient, found.bounds, found.exact)


@final
@dataclass(frozen=True, eq=False)
class SlackRescaling(Surrogate):
    """``max_yh loss(y, yh) (1 + <s, yh - y>)`` with 0/1 labels (LH Eq. 22).

    Convex, never below the loss of the signs, an extension exactly of increasing losses (LH Prop. 1). Exact for
    cardinality losses and any loss of up to 20 decisions; beyond that greedy, ``exact`` is False and ``upper`` honest.

    Parameters
    ----------
    loss : any loss
    inference : None chooses by the loss; an object forces one
    """

    loss: Loss
    inference: Inference | None = None

    def batch(self, sets: Sets, scores: NDArray[Any]) -> Bounds:
        """Value, gradient ``loss * (yh - y)`` and bound of every set."""
        found = _solve(Problem(self.loss, sets, scores, slack=True), self.inference)
        weight = self.loss.values(sets, found.mistakes)[sets.owners]
        gradient = np.where(found.mistakes, np.where(sets.labels, -weight, weight), 0.0).astype(scores.dtype)
        return Bounds(found.values, gradient, found.bounds, found.exact)


def _solve(problem: Problem, inference: Inference | None) -> Solutions:
    if not np.isfinite(problem.scores).all():
        raise ValueError("scores must be finite; got NaN or inf.")
    method = default_inference(problem) if inference is None else inference
    why = method.refuses(problem)
    if why is not None:
        raise Refusal(why)
    return method.maximize(problem)
