"""Strategies for more than two classes: offsets of the scores, and the class of least expected cost."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from setwise.core import pages
from setwise.core.checks import Ints, Values, as_count, as_number
from setwise.core.exceptions import Refusal
from setwise.decisions.class_offsets import class_offsets
from setwise.decisions.confusion import MeanCost
from setwise.decisions.task import Task
from setwise.estimators.base import base_threads
from setwise.estimators.selection.base_models import Response
from setwise.estimators.selection.strategies import Evidence, OwnPrediction, Rule, Strategy

LEAST = 1e-12
"""The least probability of a class, before its logarithm is taken."""

LEAST_CALIBRATED = 1e-6
"""The same where a calibration is fitted: the logarithm of a 0 must not outweigh all others."""

CALIBRATION_ROWS = 50_000
"""Of more rows so many, drawn at random, calibrate: they suffice for k (k + 1) numbers."""


@final
@dataclass(frozen=True, eq=False)
class ClassCalibration:
    """``softmax(s M + a)`` of the centered logarithms s of the probabilities of k classes.

    Source: Kull et al. (2019), shrunk toward no change.

    Parameters
    ----------
    matrix : M, (k, k)
    constants : a, (k,)
    """

    matrix: Values
    constants: Values

    def logs(self, q: Values) -> Values:
        """The logarithms of the calibrated probabilities, (n, k)."""
        return np.asarray(log_softmax(centered_logs(q) @ self.matrix + self.constants, axis=1))

    @classmethod
    def of(cls, q: Values, truth: Ints, weights: Values | None, shrinkage: float) -> "ClassCalibration":
        """That of least ``sum_i w_i (log loss of row i) + shrinkage / 2 |M - I|^2`` for weights w of the mean 1."""
        if len(truth) > CALIBRATION_ROWS:
            drawn = np.random.default_rng(0).choice(len(truth), CALIBRATION_ROWS, replace=False)
            q, truth, weights = q[drawn], truth[drawn], None if weights is None else weights[drawn]
        n, k = q.shape
        w = np.ones(n) if weights is None else weights / max(float(weights.mean()), 1e-300)
        table, rows, none = np.column_stack([centered_logs(q), np.ones(n)]), np.arange(n), np.eye(k + 1, k)

        def objective(flat: Values) -> tuple[float, Values]:
            both = flat.reshape(k + 1, k)
            logs, apart = log_softmax(table @ both, axis=1), both - none
            apart[k] = 0.0
            excess = np.exp(logs)
            excess[rows, truth] -= 1.0
            slope = table.T @ (w[:, None] * excess) + shrinkage * apart
            return float(0.5 * shrinkage * (apart**2).sum() - w @ logs[rows, truth]), slope.ravel()

        with base_threads(q):
            found = minimize(objective, none.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 100}).x
        both = found.reshape(k + 1, k)
        return cls(both[:k], both[k])


def centered_logs(q: Values) -> Values:
    """The logarithms of probabilities (n, k) with the mean 0 in each row."""
    logs = np.log(np.maximum(q, LEAST_CALIBRATED))
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


def log_scores(response: Response, calibration: ClassCalibration | None) -> Values:
    """The logarithms of probabilities (n, k), calibrated or not, or scores that are none as they are."""
    if calibration is not None:
        return calibration.logs(response.scores)
    return np.log(np.maximum(response.scores, LEAST)) if response.probability else response.scores


class ClassStrategy(Strategy):
    """A strategy for more than two classes."""

    listed: ClassVar[bool] = False
    several_classes: ClassVar[bool] = True
    page: ClassVar[pages.Page] = pages.CLASS_LOSSES

    def refuses_data(self, task: Task) -> str | None:
        return None if task.classes else f"{self.name} refuses two classes; use 'threshold'."

    def refuses_weights(self, task: Task) -> str | None:
        """None: weights of rows count."""
        return None

    def calibration(self, response: Response, task: Task) -> ClassCalibration | None:
        """The calibration of the probabilities of these rows; None leaves them as they are."""
        return None


@dataclass(frozen=True)
class ClassMultipliers(ClassStrategy):
    """``argmax_c w_c q_c`` with multipliers w of the probabilities, of least out-of-fold loss, steadied by bagging.

    Scores that are no probabilities get offsets. See :func:`~setwise.decisions.class_offsets`.

    Source: own; measured in docs/guide/several_classes.md.

    Parameters
    ----------
    n_resamples : the multipliers are the mean of those of so many resamples, in logarithms; 0 takes the best ones. Of
        more than 10,000 rows there are fewer in proportion

    Raises
    ------
    ValueError : for a number below 0
    TypeError : for what is no whole number

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.selection import ClassMultipliers
    >>> X, y = make_classification(600, 6, n_informative=4, n_classes=3, weights=[0.8, 0.15], random_state=0)
    >>> model = MeasureClassifier(LogisticRegression(), "f1", [ClassMultipliers()], cv=3, random_state=0).fit(X, y)
    >>> [candidate.strategy for candidate in model.candidates_]
    ['as_it_is', 'class_multipliers']
    """

    n_resamples: int = 20

    name: ClassVar[str] = "class_multipliers"
    title = "class multipliers"
    phrase = "with a tuned multiplier for each class"
    explanation = "the most probable class after each probability is multiplied by a tuned number"
    linear = True

    def __post_init__(self) -> None:
        as_count(self.n_resamples, "n_resamples", low=0)

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        response = evidence.response()
        if task.groups is not None:
            raise Refusal(f"{self.name} refuses groups: the loss of one set of rows tunes them.", self.page)
        drawn = min(self.n_resamples, self.n_resamples * MANY_ROWS // len(task.truth))
        calibration = self.calibration(response, task)
        scores = log_scores(response, calibration)
        found = class_offsets(task.truth, scores, task.loss, sample_weight=task.weights, n_resamples=drawn)
        return OffsetRule(found.offsets, calibration)


MANY_ROWS = 10_000
"""Resamples of more rows are fewer."""


@final
@dataclass(frozen=True, eq=False)
class OffsetRule(Rule):
    """``argmax_c scores[i, c] + offsets[c]``, of the logarithms of probabilities; ``offsets`` (k,)."""

    offsets: Values
    calibration: ClassCalibration | None = None
    short: float = 0.0

    def labels(self, evidence: Evidence) -> Ints:
        return np.asarray((log_scores(evidence.response(), self.calibration) + self.offsets).argmax(axis=1))


@dataclass(frozen=True)
class LeastExpectedCost(ClassStrategy):
    """``argmin_d sum_c q_c costs[c, d]``: the class of least expected cost, for a matrix of costs.

    It is the best decision if the probabilities q are right. Accuracy is a cost too.

    Source: Elkan (2001).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.selection import LeastExpectedCost
    >>> from setwise.losses import CostMatrix
    >>> costs = CostMatrix([[0, 1, 5], [1, 0, 1], [1, 1, 0]])
    >>> model = MeasureClassifier(None, costs, [LeastExpectedCost()], cv=3, random_state=0)
    >>> model = model.fit(*load_wine(return_X_y=True))
    >>> [candidate.strategy for candidate in model.candidates_]
    ['as_it_is', 'least_cost']
    """

    name: ClassVar[str] = "least_cost"
    title = "least expected cost"
    phrase = "by least expected cost"
    explanation = "the class whose expected cost is least by the probabilities"

    def refuses_data(self, task: Task) -> str | None:
        why = super().refuses_data(task)
        if why is None and not isinstance(task.loss, MeanCost):
            why = f"{self.name} refuses this loss: it is for CostMatrix and for accuracy."
        return why

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        response = evidence.response()
        if not response.probability:
            raise Refusal(f"{self.name} needs probabilities: use a classifier with predict_proba.", self.page)
        assert isinstance(task.loss, MeanCost)
        return CostRule(task.loss.costs, self.calibration(response, task))


@final
@dataclass(frozen=True, eq=False)
class CostRule(Rule):
    """``argmin_d sum_c q_c costs[c, d]`` with ``costs`` (k, k)."""

    costs: Values
    calibration: ClassCalibration | None = None

    def labels(self, evidence: Evidence) -> Ints:
        q = evidence.response().scores
        q = q if self.calibration is None else np.exp(self.calibration.logs(q))
        return np.asarray((q @ self.costs).argmin(axis=1))


@final
@dataclass(frozen=True)
class CalibratedMultipliers(ClassMultipliers):
    """:class:`ClassMultipliers` of probabilities that are calibrated on the same rows before.

    The logarithms of the probabilities of all classes tell of each, in a multinomial logistic regression that is shrunk
    toward the probabilities as they are. It needs no more fits of the base model. A better log loss need not be a
    better measure, so that both are tried.

    Source: calibration as Kull et al. (2019), shrunk; with multipliers own; measured in docs/guide/several_classes.md.

    Parameters
    ----------
    n_resamples : as in :class:`ClassMultipliers`
    shrinkage : the weight of the squared distance from no change, above 0. Of more than 50,000 rows so many calibrate

    Raises
    ------
    ValueError, TypeError : for other numbers

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.selection import CalibratedMultipliers
    >>> X, y = make_classification(600, 6, n_informative=4, n_classes=3, weights=[0.8, 0.15], random_state=0)
    >>> strategies = [CalibratedMultipliers(shrinkage=5.0)]
    >>> model = MeasureClassifier(LogisticRegression(), "f1", strategies, cv=3, random_state=0).fit(X, y)
    >>> [candidate.strategy for candidate in model.candidates_]
    ['as_it_is', 'calibrated_multipliers']
    """

    shrinkage: float = 10.0

    name: ClassVar[str] = "calibrated_multipliers"
    title = "class multipliers, calibrated"
    phrase = "calibrated, with a tuned multiplier for each class"
    explanation = "class multipliers of probabilities that were calibrated on held-out training rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_number(self.shrinkage, "shrinkage", low=0.0, open_low=True)

    def calibration(self, response: Response, task: Task) -> ClassCalibration:
        return calibrated(self, response, task, self.shrinkage)


@final
@dataclass(frozen=True)
class CalibratedCost(LeastExpectedCost):
    """:class:`LeastExpectedCost` of probabilities that are calibrated as in :class:`CalibratedMultipliers`.

    Source: Elkan (2001); calibration as Kull et al. (2019), shrunk.

    Parameters
    ----------
    shrinkage : as in :class:`CalibratedMultipliers`

    Raises
    ------
    ValueError, TypeError : for another number

    Examples
    --------
    >>> from setwise.estimators.selection import CalibratedCost
    >>> CalibratedCost().name
    'calibrated_cost'
    """

    shrinkage: float = 10.0

    name: ClassVar[str] = "calibrated_cost"
    title = "least expected cost, calibrated"
    phrase = "calibrated, by least expected cost"
    explanation = "the class whose expected cost is least by probabilities calibrated on held-out training rows"

    def __post_init__(self) -> None:
        as_number(self.shrinkage, "shrinkage", low=0.0, open_low=True)

    def calibration(self, response: Response, task: Task) -> ClassCalibration:
        return calibrated(self, response, task, self.shrinkage)


def calibrated(strategy: Strategy, response: Response, task: Task, shrinkage: float) -> ClassCalibration:
    """The calibration of a strategy on these rows; Refusal for scores that are no probabilities."""
    if not response.probability:
        raise Refusal(f"{strategy.name} needs probabilities: use a classifier with predict_proba.", strategy.page)
    return ClassCalibration.of(response.scores, task.truth, task.weights, shrinkage)


CLASS_STRATEGIES: dict[str, type[Strategy]] = {
    kind.name: kind
    for kind in (OwnPrediction, ClassMultipliers, CalibratedMultipliers, LeastExpectedCost, CalibratedCost)
}
"""The strategies for more than two classes by their names; the first one is the reference.

>>> from setwise.estimators.selection import CLASS_STRATEGIES
>>> list(CLASS_STRATEGIES)
['as_it_is', 'class_multipliers', 'calibrated_multipliers', 'least_cost', 'calibrated_cost']
"""
