"""One threshold for each label of a label matrix."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.checks import Bools, Values
from setwise.decisions import label_thresholds
from setwise.decisions.task import Task
from setwise.estimators.choosing.lever import Base, Evidence, Lever, Rule


@final
@dataclass(frozen=True)
class LabelThresholds(Lever):
    """``[score_j >= t_j]`` with a threshold for each label j of a label matrix, by out-of-fold scores.

    Labels that are rare or that the base model ranks badly get thresholds of their own. For means over rows they are
    lowered one after another, which need not reach the least loss.

    Source: own; the thresholds are those of :func:`setwise.decisions.label_thresholds`.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.levers import LabelThresholds
    >>> X, Y = make_multilabel_classification(100, n_features=5, n_classes=3, random_state=0)
    >>> model = MeasureClassifier(LogisticRegression(), "jaccard", [LabelThresholds()], cv=3, random_state=0).fit(X, Y)
    >>> [candidate.lever for candidate in model.candidates_]
    ['threshold', 'label_thresholds']
    """

    name: ClassVar[str] = "label_thresholds"

    def refuses(self, task: Task, base: Base) -> str | None:
        return None if task.is_matrix else "label_thresholds refuses y of shape (n,): there is one label only."

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        scores = evidence.response().scores
        return AtLabelThresholds(label_thresholds(task.truth, scores, task.loss, task.average).thresholds)


@final
@dataclass(frozen=True, eq=False)
class AtLabelThresholds(Rule):
    """``[score_j >= at_j]`` for the scores of the base model.

    Parameters
    ----------
    at : (p,) the thresholds; inf predicts none of a label, -inf all
    """

    at: Values

    @property
    def threshold(self) -> Values:
        return self.at

    def labels(self, evidence: Evidence) -> Bools:
        return evidence.response().scores >= self.at
