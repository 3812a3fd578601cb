"""One threshold for all scores, at which the loss is least."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.checks import Bools, Floats, as_count
from setwise.core.exceptions import Refusal
from setwise.decisions import bagged_threshold, best_threshold
from setwise.decisions.task import Task
from setwise.estimators.choosing.lever import Base, Evidence, Lever, Rule


@final
@dataclass(frozen=True)
class Threshold(Lever):
    """``[score >= t]`` with one t for all out-of-fold scores, where their mean loss is least, steadied by bagging.

    This is the reference: the other levers must gain over it. The best of all cut points is partly the luck of the
    rows, so t is the mean of the best cuts of resamples, see :func:`~setwise.decisions.bagged_threshold`. A label
    matrix holds more decisions, and a loss that is no function of counts has no resamples of a single set: there t is
    the best of all cut points.

    Source: own; measured in docs/guide/thresholds.md.

    Parameters
    ----------
    n_resamples : how many resamples are drawn; 0 takes the best of all cut points

    Raises
    ------
    ValueError : for a number below 0
    TypeError : for what is no whole number

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.levers import Threshold
    >>> X, y = make_classification(400, 4, weights=[0.8], class_sep=0.5, random_state=0)
    >>> for resamples in (0, 1000):
    ...     model = MeasureClassifier(LogisticRegression(), "f1", [Threshold(resamples)], cv=3, random_state=0)
    ...     print(round(model.fit(X, y).best_threshold_, 2))
    0.23
    0.25
    """

    n_resamples: int = 100

    name: ClassVar[str] = "threshold"

    def __post_init__(self) -> None:
        as_count(self.n_resamples, "n_resamples", low=0)

    def refuses(self, task: Task, base: Base) -> str | None:
        return None

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        return AtThreshold(steady_threshold(task, evidence.response().scores, self.n_resamples))


def steady_threshold(task: Task, scores: Floats, n_resamples: int) -> float:
    """The bagged threshold of one set of rows, or of groups of rows; otherwise the best one."""
    flat = task.flat(scores)
    if n_resamples and not task.is_matrix:
        try:
            return bagged_threshold(task.sets, flat, task.loss, n_resamples).threshold
        except Refusal:
            # Either there are no resamples, or no threshold fits the loss at all, which the next line says.
            pass
    return best_threshold(task.sets, flat, task.loss).threshold


@final
@dataclass(frozen=True)
class AtThreshold(Rule):
    """``[score >= at]`` for the scores of the base model.

    Parameters
    ----------
    at : the threshold; inf predicts no positive, -inf all
    weight : the weight of positive rows in the base model
    """

    at: float
    weight: float = 1.0

    @property
    def threshold(self) -> float:
        return self.at

    def labels(self, evidence: Evidence) -> Bools:
        return evidence.response(self.weight).scores >= self.at
