"""Strategies that decide: least expected loss by calibrated probabilities, and greatest expected F of a row (GFM)."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from setwise.core import pages
from setwise.core.checks import Bools, Ints, Values, as_choice, as_factor, as_number
from setwise.core.loss import Loss
from setwise.core.terms import Trait
from setwise.decisions import Floor, best_threshold, expected_loss, gfm, least_expected_loss
from setwise.decisions.formula import formula_of
from setwise.decisions.gfm import is_affine
from setwise.decisions.operating_point import lowest_threshold
from setwise.decisions.task import Task
from setwise.estimators.base import base_threads
from setwise.estimators.selection.base_models import CALIBRATIONS, Calibration, MeanCalibration, Response, as_is
from setwise.estimators.selection.out_of_fold import ColumnScaling
from setwise.estimators.selection.strategies import Base, Evidence, Rule, Strategy, ThresholdRule
from setwise.losses import FBeta
from setwise.losses.row_costs import RowCosts


@final
@dataclass(frozen=True)
class BayesDecision(Strategy):
    """``argmin over labelings h of E[loss(y, h)]`` for independent y with calibrated out-of-fold probabilities.

    The rows of a label matrix, and groups that are known when predicting, are decided as sets, each by itself. Where a
    set spans all rows, the best labeling of the training rows predicts the k most probable of them; their probability
    is then a threshold, which is fixed, so that the label of a row depends on this row alone. Unlike the tuned
    threshold it is not chosen by the labels but by the probabilities, and so less noisy where these are right.

    With costs of each row, :class:`~setwise.losses.RowCosts`, a row is positive where that is expected to cost less
    by its own costs. Its probability is then the mean of the base model's and of both calibrations, in log-odds,
    without those whose decisions clearly cost more than the best on rows that they were not fitted to; of more than
    200,000 rows so many are drawn for this comparison. With a limit of ``alarms`` only rows with the greatest
    expected savings are positive, down to the lowest one that keeps the limit out of fold.

    Source: own; the labelings are those of :func:`setwise.decisions.least_expected_loss`.

    Parameters
    ----------
    calibration : ``"sigmoid"`` or ``"isotonic"``, fitted to the out-of-fold log-odds or scores of all labels together.
        None takes the sigmoid, and with costs of each row the mean of all
    alarms : the greatest share of rows that may be called positive, in (0, 1], for costs of each row; None is no limit.
        Beside it name ``FlooredThreshold(alarms=...)``, the reference with the same limit
    confidence : a number in (0, 1) with which the limit is to hold on new rows, see :class:`~setwise.decisions.Floor`;
        None compares the share itself

    Raises
    ------
    ValueError : for another calibration, numbers out of range, and a confidence without a limit
    TypeError : where a number is of another kind

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.selection import BayesDecision
    >>> X, y = make_classification(200, 4, weights=[0.8], class_sep=0.5, random_state=0)
    >>> model = MeasureClassifier(LogisticRegression(), "f1", [BayesDecision("isotonic")], cv=3, random_state=0)
    >>> model = model.fit(X, y)
    >>> [candidate.strategy for candidate in model.candidates_]
    ['threshold', 'decision']
    """

    calibration: str | None = None
    alarms: float | None = None
    confidence: float | None = None

    name: ClassVar[str] = "decision"
    title = "least expected loss"
    phrase = "decided by the least expected loss"
    explanation = "the labels that lose the least on average, if the calibrated probabilities are right"
    page = pages.DECISIONS

    def __post_init__(self) -> None:
        if self.calibration is not None:
            as_choice(self.calibration, "calibration", CALIBRATIONS)
        if self.alarms is not None:
            Floor(
                "unflagged", 1.0 - as_number(self.alarms, "alarms", low=0.0, high=1.0, open_low=True), self.confidence
            )
        elif self.confidence is not None:
            raise ValueError("confidence is for a limit of alarms; give alarms too.")

    def refuses_data(self, task: Task) -> str | None:
        by_row = isinstance(task.loss, RowCosts) and task.loss.by_class is None
        if self.alarms is None or by_row:
            return None
        return (
            f"decision refuses {task.loss!r}: a limit of alarms needs costs that differ between rows, as RowCosts has."
        )

    def refuses(self, task: Task, base: Base) -> str | None:
        if isinstance(task.loss, RowCosts) and task.loss.by_class is None:
            try:
                task.loss.saved_by_positive()
            except ValueError as error:
                return f"decision refuses these costs: {error}"
        return self.refuses_data(task)

    def refuses_weights(self, task: Task) -> str | None:
        """Weights of rows are for losses that decide about single rows; a confidence is one of equally likely rows."""
        if task.weights is not None and self.confidence is not None:
            return "decision refuses weights of rows: a confidence is one of rows that are equally likely."
        return None if Trait.MODULAR in task.loss.traits else super().refuses_weights(task)

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        # Probabilities closer to 0 or 1 than half a row out of all cannot be known.
        least = 0.5 / len(task.truth)
        if isinstance(task.loss, RowCosts) and task.loss.by_class is None:
            rule = self._by_costs(evidence.response(), task, task.loss)
            if self.alarms is None:
                return rule
            saved = task.flat(rule.saved(evidence.response().log_odds(least)))
            limit, weights = Floor("unflagged", 1.0 - self.alarms, self.confidence), task.weights
            cut = lowest_threshold(task.sets, saved, limit, None if weights is None else task.flat(weights))
            return replace(rule, at=max(cut / task.loss.factor, 0.0))
        scores = evidence.response().log_odds(least)
        calibrate = CALIBRATIONS[self.calibration or "sigmoid"](scores.ravel(), task.truth.ravel(), task.weights)
        q = calibrate(scores)
        if task.layout == "macro":
            pairs = zip(q.T, evidence.response().scores.T, strict=True)
            return ThresholdRule(np.array([_cut(*pair, task.loss) for pair in pairs]))
        if task.spans_rows:
            return ThresholdRule(_cut(q.ravel(), evidence.response().scores.ravel(), task.loss))
        alone = None if task.is_matrix else best_threshold(task.sets, task.flat(q), task.loss).threshold
        return ExpectedLossRule(task.loss, calibrate, least, alone)

    def _by_costs(self, response: Response, task: Task, costs: RowCosts) -> "RowCostRule":
        """The rule of the mean calibration, without those that clearly cost more than the best.

        Costs are those of rows that a calibration was not fitted to. Which one is best is mostly noise, so the mean
        of the others costs less than the choice.
        """
        truth, weights = task.truth, task.weights
        least = 0.5 / len(truth)
        scores = response.log_odds(least)
        ways = [CALIBRATIONS[self.calibration]] if self.calibration else [*CALIBRATIONS.values()]
        if response.probability and not self.calibration:
            ways.insert(0, as_is)
        places = np.random.default_rng(0).permutation(len(truth))
        halves = [np.flatnonzero((places % 2 == k) & (places < COMPARED)) for k in (0, 1)]
        lost: list[Values] = []
        for fitted, held in (halves, halves[::-1]) if len(ways) > 1 else ():
            zero, one = costs.of_rows(held).of_labels(truth[held])
            w, counted = (None, 1.0) if weights is None else (weights[fitted], weights[held])
            rules = [RowCostRule(costs.of_rows(held), way(scores[fitted], truth[fitted], w), least) for way in ways]
            lost.append(np.array([counted * np.where(rule.of_scores(scores[held]), one, zero) for rule in rules]))
        each = np.hstack(lost) if lost else np.zeros((1, 1))
        more = each - each[np.argmin(each.sum(axis=1))]
        clearly = more.sum(axis=1) > CLEARLY * more.std(axis=1) * np.sqrt(more.shape[1])
        kept = [way(scores, truth, weights) for way, worse in zip(ways, clearly, strict=True) if not worse]
        return RowCostRule(costs, kept[0] if len(kept) == 1 else MeanCalibration(tuple(kept), least), least)


COMPARED = 200_000
"""Calibrations are compared on so many rows at most, drawn at random: what costs as much there costs as much on all,
but for a share that is small beside what one calibration or the other costs on new rows."""

CLEARLY = 2.0
"""A calibration is left out if its decisions cost so many standard errors more than those of the best one."""


@final
@dataclass(frozen=True, eq=False)
class RowCostRule(Rule):
    """Positive is a row with ``q (fn - tp) - (1 - q) (fp - tn) > at``, by its own costs and its probability q.

    Parameters
    ----------
    costs : the costs of the rows that are decided
    calibration : turns log-odds, or other scores, into probabilities
    least : probabilities of the base model are clipped to [least, 1 - least] before their log-odds are taken
    at : what it must be expected to save to call a row positive, in the money of costs as they were given
    """

    costs: RowCosts
    calibration: Calibration
    least: float
    at: float = 0.0

    def for_rows(self, loss: Loss) -> "RowCostRule":
        assert isinstance(loss, RowCosts)
        return replace(self, costs=loss)

    def labels(self, evidence: Evidence) -> Bools:
        return self.of_scores(evidence.response().log_odds(self.least))

    def of_scores(self, scores: Values) -> Bools:
        """The labels of rows with these log-odds, or other scores."""
        return np.asarray(self.saved(scores) > self.at * self.costs.factor)

    def saved(self, scores: Values) -> Values:
        """What it is expected to save to call rows with these log-odds, or other scores, positive."""
        q, (right, alarm) = self.calibration(scores), self.costs.saved_by_positive()
        return np.asarray(q * right + (1.0 - q) * alarm)


@final
@dataclass(frozen=True, eq=False)
class ExpectedLossRule(Rule):
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


MOST_LABELS = 64
"""With more labels there are too many models, and too many numbers of positives for each."""

ABSENT = -1e9
"""The score of a number of positives that did not occur."""

CELLS = 1 << 22
"""About so many probabilities are held at once."""


@final
@dataclass(frozen=True)
class GFM(Strategy):
    """``argmin over h of E[loss(y, h)]`` from ``Pr(y_i = 1, number of positives = s)`` of each row (gfm).

    A multinomial logistic regression of the log-odds of all labels models, for each label i, the number of positives of
    the rows in which it is positive, and 0 elsewhere (Dembczynski et al. 2011). No label need be independent of the
    others. This is the best labeling for losses that are affine in the true positives at each number predicted, as F
    and MCC are. For all others it is that of F1: rows with a large F1 have a large Jaccard, F1 / (2 - F1), too.

    Parameters
    ----------
    C : the inverse strength of the regularizer of these models, above 0

    Raises
    ------
    ValueError : for C that is not above 0
    TypeError : for C that is no number

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.selection import GFM
    >>> X, Y = make_multilabel_classification(100, n_features=5, n_classes=3, random_state=0)
    >>> model = MeasureClassifier(LogisticRegression(), "f1", [GFM()], cv=3, random_state=0).fit(X, Y)
    >>> [candidate.strategy for candidate in model.candidates_]
    ['threshold', 'gfm']
    """

    C: float = 1.0

    name: ClassVar[str] = "gfm"
    title = "F-maximizer"
    phrase = "decided by the general F-maximizer"
    explanation = "the labels of the greatest expected measure, by models of how many labels a row has"
    page = pages.LABELS_TOGETHER
    many_numbers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_factor(self.C, "C")

    def refuses_data(self, task: Task) -> str | None:
        if task.layout != "samples":
            return "gfm refuses all but the rows of label matrices: it decides the labels of a row together."
        return None

    def refuses(self, task: Task, base: Base) -> str | None:
        why, p = self.refuses_data(task), task.truth.shape[-1]
        if why is None and p > MOST_LABELS:
            return f"gfm refuses {p} labels: it takes {MOST_LABELS} at most."
        return why

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        least = 0.5 / len(task.truth)
        odds = evidence.response().log_odds(least)
        scaling = ColumnScaling.of(odds)
        features, number = scaling(odds), task.truth.sum(axis=1)
        size = task.truth.shape[1] + 1
        targets = np.where(task.truth, number[:, None], 0)
        weights = np.stack([self._model(features, target, size) for target in targets.T])
        formula = formula_of(task.loss, size - 1)
        return MultinomialRule(
            task.loss if formula is not None and is_affine(formula) else FBeta(),
            weights,
            self._model(features, (number == 0).astype(np.int64), 2),
            scaling,
            least,
        )

    def _model(self, features: Values, target: Ints, size: int) -> Values:
        """The weights (m + 1, size) of the scores of 0..size-1, the last row for a constant feature."""
        weights = np.zeros((features.shape[1] + 1, size))
        seen = np.unique(target)
        weights[-1] = ABSENT
        weights[-1, seen] = 0.0
        if len(seen) == 1:
            return weights
        with base_threads(features):
            model = LogisticRegression(C=self.C, max_iter=500).fit(features, target)
        if len(seen) == 2:
            # Two classes share one vector, which speaks for the second of them.
            weights[:-1, seen[1]], weights[-1, seen[1]] = model.coef_[0], model.intercept_[0]
        else:
            weights[:-1, seen], weights[-1, seen] = model.coef_.T, model.intercept_
        return weights


@final
@dataclass(frozen=True, eq=False)
class MultinomialRule(Rule):
    """The labeling of least expected loss for multinomial models of each label and the number of positives.

    Parameters
    ----------
    loss : the loss of a row, or F1 in its place
    weights : (p, m + 1, p + 1) the models of the labels
    none : (m + 1, 2) the model of rows without a positive
    scaling : the means and deviations of the log-odds
    least : probabilities are clipped to [least, 1 - least] before their log-odds are taken
    """

    loss: Loss
    weights: Values
    none: Values
    scaling: ColumnScaling
    least: float

    def labels(self, evidence: Evidence) -> Bools:
        features = self.scaling(evidence.response().log_odds(self.least))
        rows = np.column_stack([features, np.ones(len(features))])
        step = max(1, CELLS // self.weights[:, 0].size)
        parts = [self._of(rows[start : start + step]) for start in range(0, len(rows), step)]
        return np.concatenate(parts) if parts else np.zeros(features.shape, dtype=np.bool_)

    def _of(self, rows: NDArray[np.float64]) -> Bools:
        joint = softmax(np.einsum("nm,pms->nps", rows, self.weights, optimize=True), axis=2)[:, :, 1:]
        none = softmax(rows @ self.none, axis=1)[:, 1]
        # Where all labels are surely absent, nothing but that is left.
        none = np.where(joint.sum(axis=(1, 2)) > 0, none, 1.0)
        return np.asarray(gfm(joint, self.loss, none=none).labels)
