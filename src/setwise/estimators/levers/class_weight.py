"""The base model fitted with weighted positives, with a threshold."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

from setwise.core.checks import as_count, as_reals, shown
from setwise.decisions import best_threshold
from setwise.decisions.task import Task
from setwise.estimators.choosing.lever import Base, Evidence, Lever, Rule
from setwise.estimators.levers.threshold import AtThreshold, steady_threshold


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
    n_resamples : once w is chosen, t is steadied by so many resamples, as in
        :class:`~setwise.estimators.levers.Threshold`

    Raises
    ------
    ValueError : for weights that are not above 0, and a number of resamples below 0
    TypeError : for what is no number

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.levers import ClassWeight
    >>> X, y = make_classification(200, 4, weights=[0.8], class_sep=0.5, random_state=0)
    >>> model = MeasureClassifier(LogisticRegression(), "f1", [ClassWeight((1.0, 4.0))], cv=3, random_state=0).fit(X, y)
    >>> [candidate.lever for candidate in model.candidates_]
    ['threshold', 'class_weight']
    """

    weights: tuple[float, ...] | None = None
    n_resamples: int = 100

    name: ClassVar[str] = "class_weight"

    def __post_init__(self) -> None:
        as_count(self.n_resamples, "n_resamples", low=0)
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
        return replace(self, weights=tuple(dict.fromkeys(((len(task.truth) - P) / P) ** (a / 4) for a in range(5))))

    @property
    def fits(self) -> tuple[float, ...]:
        assert self.weights is not None
        return self.weights

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        flat = {weight: task.flat(evidence.response(weight).scores) for weight in self.fits}
        weight = min(flat, key=lambda w: best_threshold(task.sets, flat[w], task.loss).loss)
        return AtThreshold(steady_threshold(task, evidence.response(weight).scores, self.n_resamples), weight)
