"""What all linear estimators of sets of labels share: how they are trained, what is stored, and what is certain."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from setwise.core.arrays import Bools, Values
from setwise.core.checks import as_number
from setwise.core.evaluator import Surrogate
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.estimators.certain import certain
from setwise.estimators.descent import Trained
from setwise.estimators.fitting import keep_certificates, solve
from setwise.estimators.grouping import Grouping
from setwise.estimators.label_predictor import LabelPredictor
from setwise.estimators.label_problem import LabelProblem, features_of
from setwise.estimators.notices import warn_of_end
from setwise.estimators.rows import as_matrix, linear_scores
from setwise.estimators.threads import threads
from setwise.estimators.training import Problem
from setwise.estimators.vacuous import warn_of_replaced_bound
from setwise.learners import ConvexConcave
from setwise.surrogates.multilabel_hinge import Rescaling
from setwise.surrogates.ramp import Ramp


@final
@dataclass(frozen=True, eq=False)
class Objective:
    """What an estimator minimizes.

    Attributes
    ----------
    surrogate, rescaling, start : as in :class:`setwise.estimators.label_problem.LabelProblem`
    kappa : the features of labels, (p, q), or None for the identity
    """

    surrogate: str | Surrogate
    kappa: Values | None
    rescaling: Rescaling = "slack"
    start: Any = "zero"


class LinearLabelPredictor(LabelPredictor):
    """``f(x, y) = kappa(y)^T (W x + b) + c_y``, with weights that minimize ``0.5 |w|^2 + (C / n) sum_i risk_i``."""

    coef_: Values
    intercept_: Values
    bias_: Values
    _radius: float
    _kappa: Values | None
    _constants: tuple[float, float]

    @abstractmethod
    def _objective(self, loss: Loss) -> Objective:
        """What is minimized, for the loss that :meth:`score` measures."""

    def fit(self, X: Any, Y: Any) -> Self:
        """Train on rows with sets of labels.

        A fit that raises an error leaves the estimator as it was. After Ctrl-C the best weights so far are stored, a
        warning says so, and KeyboardInterrupt is raised.

        Parameters
        ----------
        X : (n, d), dense or CSR
        Y : a list of n collections of labels, which may be empty, or an array (n, p) of 0 and 1
        """
        self._validate_params()
        problem, trained = self._trained(X, Y)
        self._keep(problem, trained)
        if problem.surrogate == "auto" and trained.surrogate == Ramp.name:
            warn_of_replaced_bound(problem.convex().name)
        if trained.fit.status == "interrupted":
            raise KeyboardInterrupt
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of each row and label, (n, p)."""
        check_is_fitted(self)
        scores = linear_scores(as_matrix(self, X, reset=False), self.coef_, self.intercept_)
        return np.asarray((scores if self._kappa is None else scores @ self._kappa.T) + self.bias_)

    def certain(self, X: Any) -> Bools:
        """Which of the decisions (n, p) no further optimization can change: ``|f| > sqrt(2 gap) |psi(x, y)|``.

        The minimizer of the objective is within ``sqrt(2 gap)`` of the weights. Refusal after the ramp, whose minimum
        is local.
        """
        scores = self.decision_function(X)
        if np.isnan(self._radius):
            raise Refusal(
                "certain refuses a model of the ramp: its minimum is local, and certifies no prediction. Use "
                "surrogate='hinge'."
            )
        X = as_matrix(self, X, reset=False)
        lengths = features_of(X, len(self.space_), self._kappa, *self._constants).row_lengths
        return certain(scores, lengths.reshape(scores.shape), False, self._radius)

    @property
    def _squared_norm(self) -> float:
        """``|w|^2`` of the weights, in which constants are features with the values of :attr:`_constants`."""
        found = float((self.coef_**2).sum())
        for weights, value in zip((self.intercept_, self.bias_), self._constants, strict=True):
            found += float(((weights / value) ** 2).sum()) if value else 0.0
        return found

    def _trained(self, X: Any, Y: Any) -> tuple[LabelProblem, Trained]:
        """What is trained on, and the result; where that fails the estimator stays as it was."""
        with self._unchanged_by_errors():
            problem = self._problem(X, Y)
            return problem, solve(self, problem, None, ConvexConcave)

    def _problem(self, X: Any, Y: Any) -> LabelProblem:
        """What is trained on; the arguments of fit are checked here."""
        loss = self._loss_of_labels(self.loss)
        goal = self._objective(loss)
        truth = self.space.encode(Y)
        X, truth = as_matrix(self, X, truth, multi_output=True, order="C", ensure_all_finite=False)
        grouping = Grouping(Sets.rows(truth), "samples", np.arange(len(self.space)), None)
        intercept = as_number(self.intercept_scaling, "intercept_scaling") if self.fit_intercept else 0.0
        bias = as_number(self.label_bias, "label_bias")
        jobs = threads(self.n_jobs)
        alone = Problem(X, truth, grouping, loss, loss, "auto", goal.start, "samples", intercept or bias, None, jobs)
        return LabelProblem(alone, goal.kappa, intercept, bias, goal.rescaling, goal.surrogate, goal.start, jobs)

    def _keep(self, problem: LabelProblem, trained: Trained) -> None:
        """Store the result of a fit in the attributes."""
        self.space_, self.loss_ = self.space, problem.alone.loss
        self._constants, self._kappa = (problem.intercept, problem.bias), problem.kappa
        p, kappa = len(self.space), problem.kappa
        split = len(trained.w) - (p if problem.bias else 0)
        weights = trained.w[:split].reshape(p if kappa is None else kappa.shape[1], -1)
        d = problem.alone.X.shape[1]
        self.coef_ = weights[:, :d].copy()
        self.intercept_ = problem.intercept * weights[:, d] if problem.intercept else np.zeros(len(weights))
        self.bias_ = problem.bias * trained.w[split:] if problem.bias else np.zeros(p)
        keep_certificates(self, trained)
        self.certain_share_ = problem.certain_share(trained)
        warn_of_end(type(self).__name__, trained.fit)
