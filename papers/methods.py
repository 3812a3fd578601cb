"""The methods of training that experiments compare; each has one constant C, counted for each decision."""

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

from papers.deadline import DeadlineOneSlack, check_time
from papers.problems import folds_of, mean_loss_of
from setwise.compare.problem import Problem
from setwise.core.checks import Ints
from setwise.core.exceptions import Refusal
from setwise.core.loss import CountLoss, Loss
from setwise.core.pages import RANKINGS
from setwise.core.surrogate import Surrogate
from setwise.estimators import SetClassifier, TableEncoder
from setwise.estimators.base import blas_threads
from setwise.losses import Hamming
from setwise.surrogates import LovaszHinge, MarginRescaling, SlackRescaling

THRESHOLDS = 100
"""The number of thresholds that are tried, which is the default of scikit-learn."""

ROUGH = (1e-2, 300)
"""The gap and the number of iterations at which fits end that only serve to choose C."""

Weights = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class LinearDecisionRule:
    """A linear rule: a decision is positive if ``X @ coef.T + intercept`` is above ``threshold``.

    ``gap`` is the certified relative gap of the training, and ``history`` holds the gaps of its iterations; both are
    None if the method certifies nothing.
    """

    coef: Weights
    intercept: Weights
    threshold: float
    seconds: float
    gap: float | None = None
    history: dict[str, NDArray[np.float64]] | None = field(default=None, repr=False)

    def scores(self, X: Any, many: bool) -> NDArray[np.float64]:
        """The scores of the rows of X, (n,), or (n, p) if there are ``many`` labels."""
        found = np.asarray(X @ self.coef.T + self.intercept)
        return found if many else found[:, 0]

    def margins(self, problem: Problem) -> NDArray[np.float64]:
        """The scores minus the threshold for the rows of a problem, in the shape of its y."""
        return self.scores(problem.X, problem.many) - self.threshold


class Method(ABC):
    """A method of training a linear rule.

    Attributes
    ----------
    name : the name in tables
    about : how it works, in a few words
    ours : whether it trains for a set loss with setwise, and is not one of the usual methods
    """

    name: str
    about: str
    ours: bool

    @abstractmethod
    def train(
        self, problem: Problem, loss: Loss, c: float, tol: float, max_iter: int = 1000, deadline: float = np.inf
    ) -> LinearDecisionRule:
        """Train for ``loss`` with the constant ``c`` for each decision, to the gap ``tol`` or ``max_iter`` iterations.

        Raises
        ------
        Refusal : if the method does not suit the loss or the data
        OutOfTimeError : at the first check at which ``time.perf_counter()`` is past ``deadline``
        """


@final
@dataclass(frozen=True)
class LogisticMethod(Method):
    """Logistic regression, one for each label of a label matrix; its C counts rows, so it is ``c`` itself."""

    tuned: bool
    name: str
    about: str
    ours: bool = False

    def train(
        self, problem: Problem, loss: Loss, c: float, tol: float, max_iter: int = 1000, deadline: float = np.inf
    ) -> LinearDecisionRule:
        """Train as :meth:`Method.train` says; ``tol`` and ``max_iter`` have no effect."""
        begin = time.perf_counter()
        if not self.tuned:
            coef, intercept = _logistic(problem, c, deadline)
            return LinearDecisionRule(coef, intercept, 0.0, time.perf_counter() - begin)
        if only_order(loss):
            raise Refusal(f"{loss!r} evaluates the order of scores, in which no threshold occurs.", RANKINGS)
        # The folds are made first, so that too small a part is refused alike by both ways of tuning.
        try:
            parts = folds_of(problem, 3, 0)
        except ValueError:
            raise Refusal("a training part is too small to tune its threshold by 3 folds.") from None
        rule = _tuned_by_scikit_learn(problem, loss, c) if problem.groups is None and not problem.many else None
        # Groups and label matrices are tuned here, with whole sets in a fold, and so is what scikit-learn refuses.
        if rule is None:
            coef, intercept = _logistic(problem, c, deadline)
            rule = coef, intercept, _tune(problem, parts, loss, c, deadline)
        return LinearDecisionRule(*rule, time.perf_counter() - begin)


@final
@dataclass(frozen=True)
class SetMethod(Method):
    """``SetClassifier`` with one surrogate.

    C multiplies the mean over sets, and losses have different largest values, so ``c`` is scaled: if all decisions are
    wrong by the same margin, the risk weighs ``c`` for each decision, as in an SVM. For Hamming on one set C is ``c``.

    Attributes
    ----------
    surrogate : a function of the loss and of the scale (decisions of a set over the loss of all wrong)
    hamming : whether it trains for the Hamming loss, whatever the measure is
    """

    name: str
    about: str
    surrogate: Callable[[Loss, float], Surrogate]
    hamming: bool = False
    ours: bool = True

    def train(
        self, problem: Problem, loss: Loss, c: float, tol: float, max_iter: int = 1000, deadline: float = np.inf
    ) -> LinearDecisionRule:
        """Train as :meth:`Method.train` says, with the scaled C."""
        begin = time.perf_counter()
        sets = problem.sets
        target = Hamming() if self.hamming else loss
        # The mean loss if all decisions are wrong: the true labels negated, or scores that rank positives last.
        wrong_scores = np.where(sets.truth, -1.0, 1.0)
        all_wrong = float(np.mean(target.values(sets, wrong_scores if target.reads == "scores" else ~sets.truth)))
        per_set = sets.total / len(sets)
        surrogate = self.surrogate(target, per_set / max(all_wrong, 1e-12))
        learner = DeadlineOneSlack(c * sets.total / max(all_wrong, 1e-12), tol, max_iter, deadline)
        model = SetClassifier(target, surrogate, learner)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit that did not converge shows by its gap in the tables
            model.fit(problem.X, problem.y, groups=problem.groups)
        history = model.history_
        gap = model.duality_gap_
        return LinearDecisionRule(model.coef_, model.intercept_, 0.0, time.perf_counter() - begin, gap, history)


LOGISTIC = LogisticMethod(
    False,
    "logistic regression at 0.5",
    "maximum likelihood, positive where the probability is above 1/2",
)
TUNED = LogisticMethod(
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
    # The score of a ranking is already a mean over pairs, for which "size" stands for the scale 1.
    lambda loss, scale: MarginRescaling(loss, scale="size" if ranks(loss) else scale),
)
SLACK = SetMethod(
    "slack rescaling", "maximizes loss times one plus score over labelings", lambda loss, scale: SlackRescaling(loss)
)

METHODS: tuple[Method, ...] = (LOGISTIC, TUNED, SVM, LOVASZ, MARGIN, SLACK)


def standardized(train: Problem, test: Problem) -> tuple[Problem, Problem]:
    """Both parts with features that have mean 0 and variance 1 on the training rows.

    The columns of a raw table are encoded first, see :class:`setwise.estimators.TableEncoder`. Sparse features are
    divided by their largest absolute value instead, so that they stay sparse.
    """
    # Squares of larger features would leave float64 in the variance.
    largest = max(
        float(np.nanmax(abs(part.X.data if issparse(part.X) else part.X), initial=0.0)) for part in (train, test)
    )
    if largest > 1e100:
        raise ValueError(f"{train.name} has a feature of size {largest:.3g}, too large to standardize; scale it down.")
    # Encoder and scaler see the training rows alone, so that nothing of the test rows leaks into training.
    if train.columns:
        encoder = TableEncoder(train.columns).fit(train.X)
        train, test = (replace(part, X=encoder.transform(part.X), columns=()) for part in (train, test))
    scaler = make_pipeline(MaxAbsScaler() if issparse(train.X) else StandardScaler()).fit(train.X)
    return replace(train, X=scaler.transform(train.X)), replace(test, X=scaler.transform(test.X))


def only_order(loss: Loss) -> bool:
    """Whether a loss depends on the order of the scores alone, as losses of rankings and :class:`BreakEven` do."""
    return loss.reads == "scores"


def ranks(loss: Loss) -> bool:
    """Whether a loss evaluates a whole ranking, whose score is already a mean over pairs."""
    return loss.reads == "scores" and not isinstance(loss, CountLoss)


def _gain(y_true: Any, y_pred: Any, loss: Loss) -> float:
    """Minus the loss, since scikit-learn maximizes."""
    return -loss(np.asarray(y_true), np.asarray(y_pred))


def _logit(probability: float) -> float:
    """The score at which logistic regression predicts the probability; -inf at 0 and inf at 1."""
    with np.errstate(divide="ignore"):
        return float(np.log(probability) - np.log1p(-probability))


def _tuned_by_scikit_learn(problem: Problem, loss: Loss, c: float) -> tuple[Weights, Weights, float] | None:
    """Weights, intercept and threshold; None if all scores of a fold are equal, which scikit-learn refuses."""
    # Three folds instead of five, since all of this runs inside the folds that choose C.
    model = LogisticRegression(C=c, max_iter=1000)
    tuner = TunedThresholdClassifierCV(model, scoring=make_scorer(_gain, loss=loss), thresholds=THRESHOLDS, cv=3)
    try:
        with blas_threads(problem.X.shape[0] * problem.X.shape[1], None):
            tuner.fit(problem.X, problem.y)
    except ValueError:
        return None
    return tuner.estimator_.coef_, tuner.estimator_.intercept_, _logit(tuner.best_threshold_)


def _logistic(problem: Problem, c: float, deadline: float) -> tuple[Weights, Weights]:
    """One logistic regression for each label; a label with one value in training has a constant score."""
    Y = problem.y if problem.many else problem.y[:, None]
    coef, intercept = np.zeros((Y.shape[1], problem.X.shape[1])), np.zeros(Y.shape[1])
    for j in range(Y.shape[1]):
        check_time(deadline)
        if np.ptp(Y[:, j]) == 0:
            # The probability at this score is 1 up to 1e-13, so that no threshold that is tried changes the prediction.
            intercept[j] = 30.0 if Y[0, j] else -30.0
            continue
        with blas_threads(problem.X.shape[0] * problem.X.shape[1], None):
            model = LogisticRegression(C=c, max_iter=1000).fit(problem.X, Y[:, j])
        coef[j], intercept[j] = model.coef_[0], model.intercept_[0]
    return coef, intercept


def _tune(problem: Problem, parts: Sequence[tuple[Ints, Ints]], loss: Loss, c: float, deadline: float) -> float:
    """The one threshold for all decisions that has the least mean set loss with out-of-fold scores.

    The folds consist of whole sets.
    """
    scores = np.empty(problem.y.shape)
    for train, test in parts:
        coef, intercept = _logistic(problem.take(train), c, deadline)
        held_out = np.asarray(problem.X[test] @ coef.T + intercept)
        scores[test] = held_out if problem.many else held_out[:, 0]
    # Thresholds lie evenly in probability; those at 0 and 1 would be infinite scores.
    tried = [_logit(t) for t in np.linspace(0.0, 1.0, THRESHOLDS + 2)[1:-1]]
    return tried[int(np.argmin([mean_loss_of(problem, loss, scores - t) for t in tried]))]
