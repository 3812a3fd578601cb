"""The ways of training that ``compare`` sets side by side, each with one constant C for a decision to choose."""

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from setwise.compare.problem import Problem, Rows
from setwise.compare.until import Until, check_time
from setwise.core.count_loss import CountLoss
from setwise.core.evaluator import Surrogate
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.estimators import SetClassifier
from setwise.estimators.threads import blas_threads
from setwise.losses import Hamming
from setwise.surrogates import LovaszHinge, MarginRescaling, SlackRescaling

THRESHOLDS = 100
"""So many thresholds are tried, as in scikit-learn."""

ROUGH = (1e-2, 300)
"""Gap and number of steps of the fits that only serve to choose C."""

Weights = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Trained:
    """A linear rule: decisions are positive where ``X @ coef.T + intercept`` is above ``threshold``.

    ``gap`` is the certified relative gap of the training and ``history`` how it came there, None where the method
    certifies nothing.
    """

    coef: Weights
    intercept: Weights
    threshold: float
    seconds: float
    gap: float | None = None
    history: dict[str, NDArray[np.float64]] | None = field(default=None, repr=False)

    def scores(self, X: Any, many: bool) -> NDArray[np.float64]:
        """(n,), or (n, p) with ``many``."""
        found = np.asarray(X @ self.coef.T + self.intercept)
        return found if many else found[:, 0]

    def margins(self, problem: Problem) -> NDArray[np.float64]:
        """Scores minus the threshold for the rows of a problem, of the shape of its y."""
        return self.scores(problem.X, problem.many) - self.threshold


class Method(ABC):
    """One way of training."""

    name: str
    about: str
    ours: bool

    @abstractmethod
    def train(
        self, problem: Problem, loss: Loss, c: float, tol: float, max_iter: int = 1000, deadline: float = np.inf
    ) -> Trained:
        """Train for ``loss`` with the constant ``c`` for a decision, to the gap ``tol`` or ``max_iter`` steps.

        Raises
        ------
        Refusal : where the method does not suit the loss or the data
        OutOfTimeError : as soon as it is seen that ``time.perf_counter()`` is past ``deadline``
        """


@final
@dataclass(frozen=True)
class Logistic(Method):
    """Logistic regression; its C counts rows, so it is ``c`` itself. A label matrix gets one for each label."""

    tuned: bool
    name: str
    about: str
    ours: bool = False

    def train(
        self, problem: Problem, loss: Loss, c: float, tol: float, max_iter: int = 1000, deadline: float = np.inf
    ) -> Trained:
        """As :meth:`Method.train`."""
        begin = time.perf_counter()
        if not self.tuned:
            coef, intercept = _logistic(problem, c, deadline)
            return Trained(coef, intercept, 0.0, time.perf_counter() - begin)
        if only_order(loss):
            raise Refusal(f"{loss!r} judges the order of scores, in which no threshold occurs.")
        try:
            parts = problem.folds(3, 0)
        except ValueError:
            raise Refusal("a training part is too small to tune its threshold by 3 folds.") from None
        found = _tuned_by_scikit_learn(problem, loss, c) if problem.groups is None and not problem.many else None
        if found is None:
            coef, intercept = _logistic(problem, c, deadline)
            found = coef, intercept, _tune(problem, parts, loss, c, deadline)
        return Trained(*found, time.perf_counter() - begin)


@final
@dataclass(frozen=True)
class SetMethod(Method):
    """``SetClassifier`` with one surrogate.

    C multiplies the mean over sets, and surrogates have different heights, so ``c`` is scaled: with all decisions
    wrong by the same margin the risk weighs ``c`` for each decision, as in an SVM. For Hamming on one set C is ``c``.
    """

    name: str
    about: str
    surrogate: Callable[[Loss, float], Surrogate]
    hamming: bool = False
    ours: bool = True

    def train(
        self, problem: Problem, loss: Loss, c: float, tol: float, max_iter: int = 1000, deadline: float = np.inf
    ) -> Trained:
        """As :meth:`Method.train`, with C scaled."""
        begin = time.perf_counter()
        sets = problem.sets
        target = Hamming() if self.hamming else loss
        worst = np.where(sets.truth, -1.0, 1.0)
        height = float(np.mean(target.values(sets, worst if target.reads == "scores" else ~sets.truth)))
        per_set = sets.total / len(sets)
        surrogate = self.surrogate(target, per_set / max(height, 1e-12))
        learner = Until(c * sets.total / max(height, 1e-12), tol, max_iter, deadline)
        model = SetClassifier(target, surrogate, learner)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a fit did not reach is in its gap, which the tables show
            model.fit(problem.X, problem.y, groups=problem.groups)
        history = model.history_
        gap = model.duality_gap_
        return Trained(model.coef_, model.intercept_, 0.0, time.perf_counter() - begin, gap, history)


LOGISTIC = Logistic(
    False,
    "logistic regression at 0.5",
    "maximum likelihood, positive where the probability is above 1/2",
)
TUNED = Logistic(
    True,
    "logistic regression (tuned threshold)",
    "the same, with the threshold that does best in the measure on held-out parts of the training data",
)
SVM = SetMethod(
    "Hamming SVM", "a support vector machine, which counts mistakes", lambda loss, scale: LovaszHinge(loss), True, False
)
LOVASZ = SetMethod(
    "Lovász hinge", "the tight convex surrogate of submodular losses", lambda loss, scale: LovaszHinge(loss)
)
MARGIN = SetMethod(
    "margin rescaling",
    "maximizes loss plus score over labelings, in the scale where all wrong costs one for each decision",
    lambda loss, scale: MarginRescaling(loss, scale="size" if ranks(loss) else scale),
)
SLACK = SetMethod(
    "slack rescaling", "maximizes loss times one plus score over labelings", lambda loss, scale: SlackRescaling(loss)
)

METHODS: tuple[Method, ...] = (LOGISTIC, TUNED, SVM, LOVASZ, MARGIN, SLACK)


def standardized(train: Problem, test: Problem) -> tuple[Problem, Problem]:
    """Both with features of mean 0 and variance 1 on the training rows; sparse ones in [-1, 1], so that they stay
    sparse.
    """
    largest = max(float(abs(part.X).max()) for part in (train, test))
    if largest > 1e100:
        raise ValueError(f"{train.name} has a feature of size {largest:.3g}, too large to standardize; scale it down.")
    scaler = make_pipeline(MaxAbsScaler() if issparse(train.X) else StandardScaler()).fit(train.X)
    return replace(train, X=scaler.transform(train.X)), replace(test, X=scaler.transform(test.X))


def only_order(loss: Loss) -> bool:
    """Whether only the order of scores counts: a loss of a ranking, or of its first few as :class:`BreakEven`."""
    return loss.reads == "scores"


def ranks(loss: Loss) -> bool:
    """Whether a loss judges a whole ranking, whose score is a mean over pairs already."""
    return loss.reads == "scores" and not isinstance(loss, CountLoss)


def _gain(y_true: Any, y_pred: Any, loss: Loss) -> float:
    return -loss(np.asarray(y_true), np.asarray(y_pred))


def _logit(probability: float) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log(probability) - np.log1p(-probability))


def _tuned_by_scikit_learn(problem: Problem, loss: Loss, c: float) -> tuple[Weights, Weights, float] | None:
    """Weights, intercept and threshold; None where the scores of a fold are all alike, which scikit-learn refuses."""
    # 3 folds, as each method here has its C chosen by folds already
    model = LogisticRegression(C=c, max_iter=1000)
    tuner = TunedThresholdClassifierCV(model, scoring=make_scorer(_gain, loss=loss), thresholds=THRESHOLDS, cv=3)
    try:
        with blas_threads(problem.X.shape[0] * problem.X.shape[1], None):
            tuner.fit(problem.X, problem.y)
    except ValueError:
        return None
    return tuner.estimator_.coef_, tuner.estimator_.intercept_, _logit(tuner.best_threshold_)


def _logistic(problem: Problem, c: float, deadline: float) -> tuple[Weights, Weights]:
    """One logistic regression for each label; a label with one value in training gets a constant score."""
    Y = problem.y if problem.many else problem.y[:, None]
    coef, intercept = np.zeros((Y.shape[1], problem.X.shape[1])), np.zeros(Y.shape[1])
    for j in range(Y.shape[1]):
        check_time(deadline)
        if np.ptp(Y[:, j]) == 0:
            intercept[j] = 30.0 if Y[0, j] else -30.0
            continue
        with blas_threads(problem.X.shape[0] * problem.X.shape[1], None):
            model = LogisticRegression(C=c, max_iter=1000).fit(problem.X, Y[:, j])
        coef[j], intercept[j] = model.coef_[0], model.intercept_[0]
    return coef, intercept


def _tune(problem: Problem, parts: Sequence[tuple[Rows, Rows]], loss: Loss, c: float, deadline: float) -> float:
    """One threshold for all decisions: the best in the mean set loss of scores made out of fold, whole sets in a
    fold.
    """
    scores = np.empty(problem.y.shape)
    for train, test in parts:
        coef, intercept = _logistic(problem.take(train), c, deadline)
        found = np.asarray(problem.X[test] @ coef.T + intercept)
        scores[test] = found if problem.many else found[:, 0]
    tried = [_logit(t) for t in np.linspace(0.0, 1.0, THRESHOLDS + 2)[1:-1]]
    return tried[int(np.argmin([problem.loss(loss, scores - t) for t in tried]))]
