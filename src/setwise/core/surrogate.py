"""A surrogate: a function of scores that bounds the loss of their signs."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.checks import as_scores
from setwise.core.loss import Loss
from setwise.core.ranking import RankLoss
from setwise.core.sets import Sets


@final
@dataclass(frozen=True)
class Bound:
    """What a surrogate says of one set: ``value <= truth <= upper``, equal where ``exact``; ``gradient`` (p,)."""

    value: float
    gradient: NDArray[Any]
    upper: float
    exact: bool


@final
@dataclass(frozen=True, eq=False)
class Bounds:
    """The same for a ragged batch: ``values``, ``upper``, ``exact`` (n,); ``gradient`` (total,)."""

    values: NDArray[np.float64]
    gradient: NDArray[Any]
    upper: NDArray[np.float64]
    exact: NDArray[np.bool_]


class Surrogate(ABC):
    """An operator that turns a loss into a function of scores (LH Eq. 5); convex in the scores.

    The gradient is one of the surrogate's own subgradients where ``exact``. Where it is not, value and gradient still
    make a plane below the surrogate, and ``upper`` says how far the truth can be.
    """

    loss: Loss | RankLoss

    @property
    def convex(self) -> bool:
        """Whether the surrogate is convex in the scores; learners need it."""
        return True

    @abstractmethod
    def _batch(self, sets: Sets, scores: NDArray[Any]) -> Bounds:
        """The mathematics of :meth:`batch`, for sets and scores that were checked."""

    @final
    def batch(self, sets: Sets, scores: ArrayLike) -> Bounds:
        """Value, gradient and bound of every set; ``scores`` (total,) finite floats, gradients in their dtype."""
        self.loss.check(sets)
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._batch(sets, as_scores(scores, sets.total))
        if not np.isfinite(found.values).all():
            raise OverflowError(f"scores are too large: {self!r} overflows float64; scale them down.")
        return found

    @final
    def __call__(self, y: ArrayLike, scores: ArrayLike) -> Bound:
        """Value, gradient and bound for one set; ``y`` (p,) in 0/1, ``scores`` (p,) finite floats."""
        found = self.batch(Sets.single(y), scores)
        return Bound(float(found.values[0]), found.gradient, float(found.upper[0]), bool(found.exact[0]))


def check_loss(loss: object) -> None:
    """Raise TypeError where ``loss`` is no loss object, as a name or a class."""
    if not isinstance(loss, Loss | RankLoss):
        raise TypeError(f"loss must be a loss object, as setwise.losses.Jaccard(); got {loss!r}.")
