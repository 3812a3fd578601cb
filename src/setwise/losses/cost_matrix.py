"""The mean cost of decisions among several classes, by a matrix of costs."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.batch import Batch, Classes
from setwise.core.bound_loss import BoundLoss, LabelCosts
from setwise.core.checks import as_flag, as_reals
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import CLASS_LOSSES
from setwise.core.terms import SHAPES


@final
@dataclass(frozen=True, eq=False, repr=False)
class CostMatrix(Loss):
    """``mean_i costs[y_i, yhat_i]``, what a decision costs on average, for k classes in sorted order.

    The loss is counted from the cheapest decision of each class, so that it is at least 0; ``score`` of estimators is
    minus the mean cost itself. A negative cost is a gain. The loss is a sum of costs of single decisions.

    Source: Elkan (2001).

    Parameters
    ----------
    costs : (k, k), finite; a row for each true class, a column for each predicted class
    from_best : False leaves the cheapest decisions in, so that the loss is the mean cost itself

    Raises
    ------
    ValueError : for costs that are no square matrix of finite numbers, and for another number of classes
    TypeError : for costs that are no numbers

    Examples
    --------
    >>> from setwise.losses import CostMatrix
    >>> # To take class 0 for class 2 costs 5.
    >>> loss = CostMatrix([[0, 1, 5], [1, 0, 1], [1, 1, 0]])
    >>> loss([0, 0, 1, 2], [0, 2, 1, 1])  # (0 + 5 + 0 + 1) / 4
    1.5
    """

    costs: Any
    from_best: bool = True

    name: ClassVar[str] = "cost_matrix"
    listed: ClassVar[bool] = False
    reads: ClassVar = "classes"
    traits = frozenset(SHAPES)

    def __post_init__(self) -> None:
        costs = as_reals(self.costs, "costs")
        if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or len(costs) < 2:
            raise ValueError(f"costs must be a square matrix (k, k) with k of 2 or more; got shape {costs.shape}.")
        as_flag(self.from_best, "from_best")
        object.__setattr__(self, "costs", costs)

    @classmethod
    def examples(cls, p: int) -> "list[CostMatrix]":
        return [CostMatrix([[0, 1, 5], [2, 0, 1], [1, 1, 0]])]

    @property
    def k(self) -> int:
        """The number of classes."""
        return len(self.costs)

    @property
    def counted(self) -> Any:
        """The costs as they are counted, (k, k): with ``from_best`` less the cheapest one of each true class."""
        return self.costs - self.costs.min(axis=1, keepdims=True) if self.from_best else self.costs

    @property
    def reported(self) -> "CostMatrix":
        """The mean cost itself."""
        return replace(self, from_best=False)

    def as_score(self, loss: float, n: float) -> float:
        """Minus the mean cost, for the loss as it is ``reported``."""
        return -loss

    def check(self, batch: Batch) -> None:
        if not isinstance(batch, Classes):
            raise Refusal(f"{self!r} refuses {type(batch).__name__}: it is for {self.k} classes.", CLASS_LOSSES)
        if batch.k > self.k:
            raise ValueError(f"costs must have a row and a column for each class, {batch.k}; got {self.k}.")

    def _bind(self, batch: Classes) -> BoundLoss:
        counted = self.counted[:, : batch.k]
        known = batch.labels >= 0
        sizes = np.bincount(batch.owners[known], minlength=len(batch))
        share = np.where(known, 1.0 / np.maximum(sizes, 1)[batch.owners], 0.0)
        return BoundLoss(batch, (LabelCosts(counted[np.maximum(batch.labels, 0)] * share[:, None]),))

    def __repr__(self) -> str:
        return f"CostMatrix({self.costs.tolist()})"
