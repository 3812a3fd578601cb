"""Evaluators: functions of the scores of a batch, with a value, a gradient and an upper bound for each set."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.arrays import Bools, Floats, Ints, Values
from setwise.core.batch import Batch
from setwise.core.checks import as_kind, as_scores, as_tolerances
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets


@final
@dataclass(frozen=True, eq=False)
class Evaluation:
    """``values <= truth <= upper`` of all sets, (n,), equal where ``exact``; ``gradient`` (n_scores,) of the values."""

    values: Values
    gradient: Floats
    upper: Values
    exact: Bools


@final
@dataclass(frozen=True)
class SetEvaluation:
    """The same for one set: ``value <= truth <= upper``, equal where ``exact``; ``gradient`` (p,)."""

    value: float
    gradient: Floats
    upper: float
    exact: bool


class Evaluator(ABC):
    """A function of the flat scores of a batch, one value for each set.

    The gradient is a subgradient of the function where ``exact``. Elsewhere value and gradient still make a plane
    below a convex function, and ``upper`` says how far above the truth can be.

    Attributes
    ----------
    batch : what the scores mean
    convex : whether the function is convex in the scores
    floor : a number below all its values
    """

    batch: Batch
    convex: bool = True
    floor: float = -np.inf

    @abstractmethod
    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        """The mathematics of :meth:`__call__`, for scores that were checked and ``tol`` (n,)."""

    @abstractmethod
    def take(self, parts: Ints) -> "Evaluator":
        """The evaluator of the chosen sets; what it keeps between calls, it shares with this one."""

    @final
    def __call__(self, scores: ArrayLike, tol: ArrayLike = 0.0) -> Evaluation:
        """Value, gradient (in the dtype of the scores) and bound; ``scores`` (n_scores,) finite floats.

        Inference may stop for a set once it knows the value to ``tol``, one number or one for each set.
        """
        checked = as_scores(scores, self.batch.n_scores)
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.evaluate(checked, as_tolerances(tol, len(self.batch)))
        if not np.isfinite(found.values).all():
            raise OverflowError(f"scores are too large: {self!r} overflows float64; scale them down.")
        return found

    def majorant(self, scores: ArrayLike) -> "Evaluator":
        """A convex evaluator that is nowhere below this one and equals it at ``scores``; itself where it is convex."""
        if self.convex:
            return self
        raise Refusal(f"{self!r} has no convex majorant.")

    def redrawn(self, seed: int) -> "Evaluator":
        """The same with other noise, a function of (seed, set, sample); itself where there is none."""
        return self


class Surrogate(ABC):
    """An operator that turns a loss into an evaluator (LH Eq. 5). Likelihoods have no loss, only an evaluator.

    ``name`` is its short name, for lists.
    """

    name: ClassVar[str]

    @abstractmethod
    def on(self, batch: Any) -> Evaluator:
        """The surrogate bound to a batch: all that depends on the truth alone is computed here, once.

        Raises ValueError where its loss does not fit the batch, and Refusal where the combination makes no sense.
        """

    @final
    def batch(self, batch: Batch, scores: ArrayLike) -> Evaluation:
        """Value, gradient and bound of every set; ``scores`` (n_scores,) finite floats, gradients in their dtype."""
        return self._bound(batch)(scores)

    def _bound(self, batch: Batch) -> Evaluator:
        """The evaluator made for a batch, kept with it: the truth of a batch never changes."""
        kept = as_kind(batch, "batch", Batch, "Sets.single(y)").kept
        if self not in kept:
            kept[self] = self.on(batch)
        found: Evaluator = kept[self]
        return found

    @final
    def __call__(self, y: ArrayLike, scores: ArrayLike) -> SetEvaluation:
        """Value, gradient and bound for one set; ``y`` (p,) in 0/1, ``scores`` (p,) finite floats."""
        found = self.batch(Sets.single(y, "y"), scores)
        return SetEvaluation(float(found.values[0]), found.gradient, float(found.upper[0]), bool(found.exact[0]))
