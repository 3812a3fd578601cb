"""The labeling of least expected loss, by calibrated probabilities of independent decisions."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Bools, Values, as_choice
from setwise.core.loss import Loss
from setwise.decisions import best_threshold, expected_loss, least_expected_loss
from setwise.decisions.task import Task
from setwise.estimators.choosing.calibration import METHODS, Calibration
from setwise.estimators.choosing.lever import Base, Evidence, Lever, Rule
from setwise.estimators.levers.label_thresholds import AtLabelThresholds
from setwise.estimators.levers.threshold import AtThreshold


@final
@dataclass(frozen=True)
class Decision(Lever):
    """``argmin over labelings h of E[loss(y, h)]`` for independent y with calibrated out-of-fold probabilities.

    The rows of a label matrix, and groups that are known when predicting, are decided as sets, each by itself. Where a
    set spans all rows, the best labeling of the training rows predicts the k most probable of them; their probability
    is then a threshold, which is fixed, so that the label of a row depends on this row alone. Unlike the tuned
    threshold it is not chosen by the labels but by the probabilities, and so less noisy where these are right.

    Source: own; the labelings are those of :func:`setwise.decisions.least_expected_loss`.

    Parameters
    ----------
    calibration : ``"sigmoid"`` or ``"isotonic"``, fitted to the out-of-fold log-odds or scores of all labels together

    Raises
    ------
    ValueError : for another calibration

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.levers import Decision
    >>> X, y = make_classification(200, 4, weights=[0.8], class_sep=0.5, random_state=0)
    >>> model = MeasureClassifier(LogisticRegression(), "f1", [Decision("isotonic")], cv=3, random_state=0).fit(X, y)
    >>> [candidate.lever for candidate in model.candidates_]
    ['threshold', 'decision']
    """

    calibration: str = "sigmoid"

    name: ClassVar[str] = "decision"

    def __post_init__(self) -> None:
        as_choice(self.calibration, "calibration", METHODS)

    def refuses(self, task: Task, base: Base) -> str | None:
        return None

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        scores = evidence.response().log_odds(_least(task))
        calibrate = METHODS[self.calibration](scores.ravel(), task.truth.ravel())
        q = calibrate(scores)
        if task.layout == "macro":
            pairs = zip(q.T, evidence.response().scores.T, strict=True)
            return AtLabelThresholds(np.array([_cut(*pair, task.loss) for pair in pairs]))
        if task.spans_rows:
            return AtThreshold(_cut(q.ravel(), evidence.response().scores.ravel(), task.loss))
        alone = None if task.is_matrix else best_threshold(task.sets, task.flat(q), task.loss).threshold
        return LeastExpectedLoss(task.loss, calibrate, _least(task), alone)


@final
@dataclass(frozen=True, eq=False)
class LeastExpectedLoss(Rule):
    """The labeling of least expected loss of each row of a label matrix, or of each group.

    Parameters
    ----------
    loss : the loss of a set
    calibration : turns log-odds, or other scores, into probabilities
    least : probabilities of the base model are clipped to [least, 1 - least] before their log-odds are taken
    alone : the threshold of calibrated probabilities for rows without a group; None for label matrices
    """

    loss: Loss
    calibration: Calibration
    least: float
    alone: float | None

    joint: ClassVar[bool] = True

    def labels(self, evidence: Evidence) -> Bools:
        q = self.calibration(evidence.response().log_odds(self.least))
        if self.alone is None:
            return least_expected_loss(q, self.loss).labels
        if evidence.groups is None:
            return q >= self.alone
        task = Task(np.zeros(len(q), dtype=np.bool_), self.loss, evidence.groups)
        return task.by_rows(least_expected_loss(task.flat(q), self.loss, task.sets.offsets).labels)


def _cut(q: Values, scores: Values, loss: Loss) -> float:
    """The threshold of scores that predicts what is best for one set with probabilities q, which rise with them."""
    k = int(least_expected_loss(q, loss).labels.sum())
    falling = np.sort(scores)[::-1]
    if k in (0, len(q)):
        return float("inf") if k == 0 else -float("inf")
    upper, lower = falling[k - 1], falling[k]
    if upper == lower:
        # Equal scores are not separated: all of them are predicted, or none, whichever is expected to lose less.
        above, below = scores > upper, scores >= upper
        if expected_loss(q, above, loss)[0] <= expected_loss(q, below, loss)[0]:
            return float("inf") if not above.any() else float(scores[above].min())
        return float(upper)
    middle = lower + (upper - lower) / 2
    return float(middle if middle > lower else upper)


def _least(task: Task) -> float:
    """Probabilities closer to 0 or 1 than half a row out of all cannot be known."""
    return 0.5 / len(task.truth)
