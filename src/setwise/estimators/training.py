"""The training of a linear model: its objective, its start, and when it takes the ramp."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from setwise.core.arrays import Values
from setwise.core.evaluator import Surrogate
from setwise.core.features import Features
from setwise.core.learner import Callback, Fit, Learner, relative_gap
from setwise.core.measure import Loss
from setwise.core.risk import Risk
from setwise.estimators.certain import certain, radius
from setwise.estimators.grouping import Grouping
from setwise.estimators.logistic import Logistic
from setwise.estimators.objective import convex_surrogate, may_ramp, named_surrogate
from setwise.estimators.start import scaled, thresholds
from setwise.estimators.vacuous import (
    DOUBTFUL,
    VACUOUS,
    least_constant_loss,
    share_of_constant,
    warn_of_vacuous_bound,
)
from setwise.risks import MeanRisk, Remembering
from setwise.surrogates import Ramp

MakeLearner = Callable[[Surrogate, bool, tuple[int, int]], Learner | None]
"""A function of the surrogate, of whether it is convex, and of the shape of X; None where C is 0."""


@final
@dataclass(frozen=True, eq=False)
class Trained:
    """The weights of a fit, and how they were found.

    Attributes
    ----------
    w : (d,)
    C : the weight of the risk
    fit : the fit, whose weights may be steps from a start
    surrogate : the short name of the surrogate, ``"ramp"`` where the bound of the convex one said nothing
    radius : the minimizer of the objective is no farther from w than this; nan if the risk is not convex
    """

    w: Values
    C: float
    fit: Fit
    surrogate: str
    radius: float


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """What is trained on, bound once; :meth:`solve` may be called for several weights C.

    Attributes
    ----------
    X, target : the rows
    grouping : the sets of the rows
    score_loss : the loss that is reported
    loss : the loss that is trained for, with weighted classes
    surrogate : a name, or an object that brings its own loss
    start : ``"auto"``, ``"zero"``, ``"logistic"``, or a logistic regression
    average : what a set is in a label matrix
    intercept : the value of the constant feature, 0 for none
    row_weights : the weight of each row, (n,), or None
    jobs : the number of threads
    path : whether it is solved for several C, so that planes are remembered
    bare : whether C = 0 leaves logistic regression without a threshold, because one is chosen afterwards: thresholds of
        several folds would differ by noise
    """

    X: Any
    target: NDArray[Any]
    grouping: Grouping
    score_loss: Loss
    loss: Loss
    surrogate: str | Surrogate
    start: str | LogisticRegression
    average: str
    intercept: float
    row_weights: Any
    jobs: int
    path: bool = False
    bare: bool = False

    @cached_property
    def risks(self) -> dict[str, tuple[Risk, Values]]:
        """The risk of each surrogate that was tried, and the start that it is centred at, for further values of C."""
        return {}

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of decisions and thresholds: (n,), or (n, p) for a label matrix."""
        shape: tuple[int, ...] = self.target.shape
        return shape if self.grouping.is_matrix else shape[:1]

    @cached_property
    def features(self) -> Features:
        """The linear model of the scores."""
        return self.grouping.features(self.X, self.intercept)

    @cached_property
    def weights(self) -> Values | None:
        """The weight of each set."""
        return self.grouping.weights(self.row_weights, self.X.shape[0])

    @cached_property
    def logistic(self) -> tuple[Values, float]:
        """The weights of logistic regression with the best threshold of the loss, and the mean size of its scores.

        Where C of logistic regression is chosen on held-out rows, so is the threshold, unless a constant labeling is as
        good as it in training.
        """
        found = self._regression
        scores = found.scores(self.X)
        w, size = self._at_threshold(found, scores, scores if found.held_out is None else found.held_out)
        if found.held_out is not None and self._loss(w) >= self.constant:
            w, size = self._at_threshold(found, scores, scores)
        return w, size

    @cached_property
    def _regression(self) -> Logistic:
        rows = self.X, self.grouping, self.target, self.row_weights
        return Logistic(*rows, self.intercept != 0.0, None if isinstance(self.start, str) else self.start)

    @property
    def _bare_logistic(self) -> Values:
        """The weights of logistic regression as it is."""
        coef, intercept = self._regression.coef, self._regression.intercept
        return np.ravel(np.column_stack([coef, intercept / self.intercept]) if self.intercept else coef)

    def _at_threshold(self, found: Logistic, scores: Values, chosen_on: Values) -> tuple[Values, float]:
        """The weights with the best threshold of the scores ``chosen_on``, and the mean size of ``scores`` with it."""
        if self.intercept == 0.0:
            return found.coef.ravel(), float(np.abs(scores).mean())
        best = thresholds(self.loss, self.grouping, self.average, chosen_on)
        coef = np.column_stack([found.coef, (found.intercept - best) / self.intercept])
        return coef.ravel(), float(np.abs(scores - best).mean())

    @cached_property
    def omega(self) -> Values:
        """The share of each set in the mean."""
        weights = np.ones(len(self.grouping.batch)) if self.weights is None else self.weights
        # Divided by the largest first, for a sum of large weights may overflow.
        return np.asarray(weights / weights.max() / (weights / weights.max()).sum())

    @cached_property
    def constant(self) -> float:
        """The mean loss of the best constant labeling."""
        return least_constant_loss(self.loss, self.grouping, self.omega)

    def solve(
        self, make: MakeLearner, may_replace: bool, last: Values | None = None, callback: Callback | None = None
    ) -> Trained:
        """Train with the learner that ``make`` makes, beginning at the weights ``last`` if they are given.

        With ``may_replace`` the surrogate ``"auto"`` becomes the ramp for a single set, unless the start is w = 0. For
        several sets it becomes the ramp where the bound of the convex one says nothing, and where it says little and
        logistic regression has a smaller training loss; if the ramp has no larger one.
        """
        if not isinstance(self.surrogate, str):
            return self._minimized(self.surrogate, make, last, callback)[0]
        if may_replace and self._ramp_alone:
            return self._minimized(self._ramp, make, last, callback)[0]
        if self.surrogate not in ("auto", "convex"):
            surrogate = named_surrogate(self.surrogate, self.loss, self.grouping)
        else:
            surrogate = convex_surrogate(self.loss, self.grouping)
        found, risk = self._minimized(surrogate, make, last, callback)
        if not risk.convex or found.C == 0:
            return found
        share = share_of_constant(risk, found.fit, found.C, self.constant, self._logistic_start)
        if share < DOUBTFUL or found.fit.status == "interrupted":
            return found
        if self.surrogate != "auto" or not may_replace:
            if share >= VACUOUS:
                warn_of_vacuous_bound(surrogate.name)
            return found
        loss = self._loss(found.w)
        if share < VACUOUS and loss <= self._loss(self.logistic[0]):
            return found
        ramp = self._minimized(self._ramp, make, last, callback)[0]
        chosen = ramp if self._loss(ramp.w) <= loss or ramp.fit.status == "interrupted" else found
        # From w = 0 the ramp may not get away.
        if share >= VACUOUS and self.start == "zero" and self._loss(chosen.w) >= self.constant:
            warn_of_vacuous_bound(surrogate.name)
        return chosen

    def _minimized(
        self, surrogate: Surrogate, make: MakeLearner, last: Values | None, callback: Callback | None
    ) -> tuple[Trained, Risk]:
        """The result of one surrogate, and its risk."""
        if surrogate.name not in self.risks:
            self.risks[surrogate.name] = self._risk(surrogate)
        risk, origin = self.risks[surrogate.name]
        learner = make(surrogate, risk.convex, self.X.shape)
        if learner is None:
            if not self.starts_at_logistic(risk.convex):
                raise ValueError(
                    "C must be above 0 where the start is w = 0, which predicts nothing; got 0. Use start='logistic'."
                )
            fit = _unmoved(risk.size)
            w = self._bare_logistic if self.bare else origin
            return Trained(w, 0.0, fit, surrogate.name, radius(fit, risk.convex)), risk
        fit = learner.minimize(risk, w0=None if last is None else last - origin, callback=callback)
        # Descent lowers the ramp. The start stays a candidate, for the loss itself may have risen.
        if not risk.convex and self._loss(origin + fit.w) > self._loss(origin):
            fit = _at_the_start(fit, risk, learner.C)
        if isinstance(risk, Remembering):
            risk.keep(fit.w)
        return Trained(origin + fit.w, learner.C, fit, surrogate.name, radius(fit, risk.convex)), risk

    def _risk(self, surrogate: Surrogate) -> tuple[Risk, Values]:
        """The risk of a surrogate, and the weights from which its weights are steps."""
        evaluator, features = surrogate.on(self.grouping.batch), self.features
        origin = np.zeros(features.size)
        risk = MeanRisk(features, evaluator, self.weights, self.jobs)
        if self.starts_at_logistic(evaluator.convex):
            origin = scaled(risk, *self.logistic)
            risk = MeanRisk(features.centred(origin), evaluator, self.weights, self.jobs)
        # A single fit has no use for the memory of planes.
        return (Remembering(risk) if self.path and risk.convex else risk), origin

    def certain_share(self, trained: Trained, shift: Any) -> float:
        """The share of the training decisions, from scores less ``shift``, that no optimization changes any more."""
        if np.isnan(trained.radius):
            return np.nan
        scores, lengths = self.features.scores(trained.w), self.features.row_lengths
        if self.grouping.layout == "classes":
            k = self.grouping.outputs
            return float(certain(scores.reshape(-1, k), lengths[::k], True, trained.radius).mean())
        if self.grouping.is_matrix:
            shift = self.grouping.flat(np.broadcast_to(shift, self.target.shape))
        return float(certain(scores - shift, lengths, False, trained.radius).mean())

    def starts_at_logistic(self, convex: bool) -> bool:
        """Whether the fit of a surrogate, convex or not, starts at logistic regression."""
        return self._logistic_start or (self.start == "auto" and not convex)

    @property
    def _ramp(self) -> Surrogate:
        return named_surrogate(Ramp.name, self.loss, self.grouping)

    @property
    def _ramp_alone(self) -> bool:
        """Whether ``"auto"`` is the ramp from the beginning.

        On real tables the bound of one set says something mostly where the convex model fits its rows too closely.
        """
        single = self.surrogate == "auto" and self.start != "zero" and len(self.grouping.batch) == 1
        return single and may_ramp(self.loss, self.grouping)

    @property
    def _logistic_start(self) -> bool:
        return self.start not in ("auto", "zero")

    def _loss(self, w: Values) -> float:
        """The mean training loss of the weights."""
        scores, batch = self.features.scores(w), self.grouping.batch
        predictions = scores if self.loss.reads == "scores" else batch.decide(scores)
        return float(self.omega @ self.loss.values(batch, predictions))


def _unmoved(size: int) -> Fit:
    """The minimum of 0.5 |w|^2, where C is 0: no step from the start."""
    return Fit(np.zeros(size), 0.0, 0.0, 0.0, 0.0, "converged", "C = 0 leaves the start as it is", ())


def _at_the_start(fit: Fit, risk: Risk, C: float) -> Fit:
    """The fit with the weights of its start, from which it took steps."""
    w = np.zeros(risk.size)
    cut = risk.cut(w)
    upper, words = C * cut.upper, f"{fit.message}; the start is kept, for its training loss is smaller"
    gap = relative_gap(fit.lower_bound, upper, C)
    return replace(fit, w=w, objective=C * cut.value, upper_bound=upper, gap=gap, message=words)
