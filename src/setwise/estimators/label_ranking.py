"""The hinge of a structured SVM of single labels: each true label against the best false one."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.arrays import Floats, Ints, Values
from setwise.core.batch import Batch
from setwise.core.evaluator import Evaluation, Evaluator, Surrogate
from setwise.core.measure import Loss
from setwise.kernels.segments import segment_sums
from setwise.losses import as_loss


@final
@dataclass(frozen=True, eq=False)
class LabelRanking(Surrogate):
    """``sum_(y true) max(0, max_(y' false) loss(Y, y') + s_y' - s_y)`` of each set; 0 without a true or a false label.

    It is convex. It does not bound the loss of the set that scores above 0 are.

    Parameters
    ----------
    loss : a loss of labels; ``loss(Y, y')`` is the loss of predicting y' beside all true labels
    """

    loss: Loss

    name: ClassVar[str] = "label_ranking"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))

    def on(self, batch: Batch) -> Evaluator:
        """The hinge of a batch of binary decisions; the costs of false labels are computed here, once."""
        structure = self.loss.structure(batch)
        return _Ranked(batch, structure.marginals(structure.batch.labels))


@final
class _Ranked(Evaluator):
    """The hinge of each set, where a false label costs ``costs`` (total,)."""

    def __init__(self, batch: Batch, costs: Values) -> None:
        self.batch, self.costs, self.floor = batch, costs, 0.0

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        batch, true = self.batch, self.batch.truth
        begins, owners = batch.offsets[:-1], batch.owners
        false = np.where(true, -np.inf, self.costs + scores)
        best = np.maximum.reduceat(false, begins)[owners]
        over = np.where(true, best - scores, 0.0)
        violated = over > 0.0
        values = segment_sums(np.where(violated, over, 0.0), batch.offsets)
        # The first of the best false labels takes the whole slope of its set.
        at_best = np.where(~true & (false == best), np.arange(batch.total), batch.total)
        first = np.minimum.reduceat(at_best, begins)
        number = np.add.reduceat(violated, begins, dtype=np.int64)
        gradient = -violated.astype(scores.dtype)
        gradient[first[number > 0]] += number[number > 0]
        return Evaluation(values, gradient, values, np.ones(len(batch), dtype=bool))

    def take(self, parts: Ints) -> "_Ranked":
        return _Ranked(self.batch.take(parts), self.costs[self.batch.decisions(parts)])

    def __repr__(self) -> str:
        return "the hinge of true labels against false ones"
