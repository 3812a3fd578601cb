"""The hinge of a structured SVM of single labels: each true label against the best false one."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.batch import Batch
from setwise.core.checks import Floats, Ints, Values
from setwise.core.inference import Maximizer
from setwise.core.loss import Loss
from setwise.core.single_labels import FlipCosts, Flips
from setwise.core.surrogate import Evaluation, Evaluator, Surrogate
from setwise.inference.auto import Auto
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
        """The hinge of a batch of listed labels, or of labels of a large space.

        Where a large space is searched under slack rescaling alone, as windows, whose costs are 0 and 1, the hinge is
        ``loss(Y, y') (1 + s_y' - s_y)``: labels that cost nothing have no effect.
        """
        structure = self.loss.structure(batch)
        if isinstance(batch, Flips):
            # Windows are searched under slack rescaling alone, with costs of 0 and 1.
            slack = Auto().refuses(structure) is not None
            return _RankedLarge(batch, Auto().prepare(structure, slack=slack))
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


@final
class _RankedLarge(Evaluator):
    """The hinge of each input of a large space, by one search for the worst false label."""

    def __init__(self, batch: Flips, maximizer: Maximizer) -> None:
        self.batch, self.flips, self.maximizer, self.floor = batch, batch, maximizer, 0.0
        self.most = sum(term.factor * term.most for term in maximizer.structure.terms if isinstance(term, FlipCosts))

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        batch, ends = self.flips, self.flips.score_offsets
        own = scores.astype(np.float64)
        # A constant that is added to all labels makes right ones the worst choice of the search, whatever they cost.
        raised = own.copy()
        raised[ends[1:] - 1] += 1.0 + 2.0 * (self.most + batch.reach(own))
        found = self.maximizer.solve(raised, tol)
        costs, f = self.maximizer.structure.values(found.labels), batch.won(own, found.labels)
        rivals = batch.named(found.labels) & ~batch.right(found.labels)
        values, upper, gradient = np.zeros(len(batch)), np.zeros(len(batch)), np.zeros(batch.n_scores)
        for i in np.flatnonzero(rivals).tolist():
            span, right = slice(int(ends[i]), int(ends[i + 1])), batch.truths[i]
            won, slack = f[i] - batch.label_scores(i, own[span], right), self.maximizer.slack
            over = costs[i] * (1.0 + won) if slack else costs[i] + won
            values[i] = over[over > 0.0].sum()
            upper[i] = np.maximum(over + found.bounds[i] - found.values[i], 0.0).sum()
            one, rival = batch.take(np.array([i])), found.labels[batch.offsets[i] : batch.offsets[i + 1]]
            for label in right[over > 0.0]:
                gradient[span] += (costs[i] if slack else 1.0) * (one.indicators(rival) - one.indicators(label + 1))
        return Evaluation(values, gradient.astype(scores.dtype), upper, found.exact | ~rivals)

    def take(self, parts: Ints) -> "_RankedLarge":
        return _RankedLarge(self.flips.take(parts), self.maximizer.take(parts))

    def __repr__(self) -> str:
        return "the hinge of right labels against others of a large space"
