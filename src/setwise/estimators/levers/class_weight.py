"""The base model fitted with weighted positives, and its best threshold for each weight."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.checks import as_reals, shown
from setwise.decisions import best_threshold
from setwise.decisions.task import Task
from setwise.estimators.choosing.lever import Base, Evidence, Lever, Rule
from setwise.estimators.levers.threshold import AtThreshold


@final
@dataclass(frozen=True)
class ClassWeight(Lever):
    """``argmin over w, t of the loss of [score_w >= t]``, score_w being fitted with weight w on each positive row.

    By default the weights are ``(N / P)^a`` for a = 0, 1/4, 1/2, 3/4, 1, from equal to balanced classes. They do not
    depend on the loss, so that several measures share the fits.

    A quotient of counts, as F1 or Jaccard, is least where a cost-sensitive error is least, with costs that depend on
    the least value (Parambath et al. 2014). So if the base model minimizes that error exactly, the loss over a grid of
    weights is as near to the least one as the grid is fine. For a model that does not, and for other losses, the path
    is a heuristic.

    Parameters
    ----------
    weights : the weights w above 0, each of which needs a fit of the base model for each fold; None takes the default
    """

    weights: tuple[float, ...] | None = None

    name: ClassVar[str] = "class_weight"

    def __post_init__(self) -> None:
        if self.weights is None:
            return
        given = as_reals(self.weights, "weights")
        if given.ndim != 1 or not given.size or (given <= 0).any():
            raise ValueError(f"weights must be a list of one number or more above 0; got {shown(self.weights)}.")
        object.__setattr__(self, "weights", tuple(given.tolist()))

    def refuses(self, task: Task, base: Base) -> str | None:
        if task.is_matrix:
            return "class_weight refuses label matrices: the weight of a row would weigh all its labels alike."
        if not base.weighable:
            return f"class_weight refuses {base.name}: it cannot be fitted with weighted rows here."
        return None

    def bound(self, task: Task) -> "ClassWeight":
        if self.weights is not None:
            return self
        P = int(task.truth.sum())
        return ClassWeight(tuple(dict.fromkeys(((len(task.truth) - P) / P) ** (a / 4) for a in range(5))))

    @property
    def fits(self) -> tuple[float, ...]:
        assert self.weights is not None
        return self.weights

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        found = []
        for weight in self.fits:
            best = best_threshold(task.sets, task.flat(evidence.response(weight).scores), task.loss)
            found.append((best.loss, AtThreshold(best.threshold, weight)))
        return min(found, key=lambda pair: pair[0])[1]
