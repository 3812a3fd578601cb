"""What all linear estimators of sets of labels share: how they are trained, what is stored, and what is certain."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Batch, Sets
from setwise.core.checks import Bools, Values, as_number
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import HINGE
from setwise.core.risk import Features
from setwise.core.surrogate import Surrogate
from setwise.estimators.certain import certain
from setwise.estimators.descent import Trained
from setwise.estimators.fitting import keep_certificates, solve
from setwise.estimators.grouping import Grouping, group_vector
from setwise.estimators.label_predictor import LabelPredictor
from setwise.estimators.label_problem import LabelModel, LabelProblem, as_basis
from setwise.estimators.large_label_problem import LargeLabelProblem, refuse_listed_only
from setwise.estimators.notices import largest_number, warn_of_end
from setwise.estimators.rows import as_matrix
from setwise.estimators.splits import row_keys
from setwise.estimators.threads import threads
from setwise.estimators.training import Problem
from setwise.estimators.vacuous import (
    says_nothing,
    warn_of_kept_bound,
    warn_of_replaced_bound,
    warn_of_small_features,
)
from setwise.learners import ConvexConcave
from setwise.models.kernel_features import PairBasis
from setwise.spaces import LargeSpace
from setwise.spaces.spaces import members
from setwise.surrogates.ramp import Ramp
from setwise.surrogates.rescaling import Rescaling


@final
@dataclass(frozen=True, eq=False)
class Objective:
    """What an estimator minimizes.

    Attributes
    ----------
    surrogate, rescaling, start : as in :class:`setwise.estimators.label_problem.LabelProblem`
    kernel : ``"linear"``, or a kernel of rows, or of rows with labels
    alone : whether labels share nothing, whatever their features are
    """

    surrogate: str | Surrogate
    rescaling: Rescaling = "slack"
    start: Any = "zero"
    kernel: Any = "linear"
    alone: bool = False


class LinearLabelPredictor(LabelPredictor):
    """``f(x, y) = kappa(y)^T (W x + b) + c_y``, with weights that minimize ``0.5 |w|^2 + (C / n) sum_i risk_i``.

    With a kernel, x are its features.
    """

    coef_: Values
    intercept_: Values
    bias_: Values
    _model: LabelModel
    _constant: float
    _radius: float

    @abstractmethod
    def _objective(self, loss: Loss) -> Objective:
        """What is minimized, for the loss that :meth:`score` measures."""

    def fit(self, X: Any, Y: Any) -> Self:
        """Train on rows with sets of labels.

        A fit that raises an error leaves the estimator as it was. After Ctrl-C the best weights so far are stored, a
        warning says so, and KeyboardInterrupt is raised.

        Parameters
        ----------
        X : (n, d), dense or CSR; in large spaces what the space takes, as a list of arrays
        Y : a list of n collections of labels, which may be empty; where labels are listed also an array (n, p) of 0 and
            1

        Returns
        -------
        self : the fitted estimator

        Raises
        ------
        ValueError : for parameters out of range, and inputs and sets of labels that do not fit together
        Refusal : a ValueError, where space, loss, surrogate and kernel do not fit each other
        TypeError : for features that are neither numbers nor text, and labels that are no collections
        """
        self._validate_params()
        problem, trained = self._trained(X, Y)
        self._keep(problem, trained)
        if isinstance(problem, LabelProblem) and problem.is_lost_in_small_rows(trained.w):
            warn_of_small_features(type(self).__name__, largest_number(problem.alone.X))
        elif problem.surrogate == "auto" and trained.surrogate == Ramp.name:
            warn_of_replaced_bound(problem.convex().name)
        elif problem.surrogate == "auto" and says_nothing(trained.fit, trained.C, problem.constant):
            warn_of_kept_bound(trained.surrogate)
        if trained.fit.status == "interrupted":
            raise KeyboardInterrupt
        return self

    def _listed_scores(self, X: Any) -> NDArray[np.float64]:
        return self._scores(self._features(X))

    def _bound_scores(self, X: Any) -> tuple[Batch, Values]:
        layout, features = self._bind(X, self._constant)
        return layout, features.scores(self.coef_)

    def certain(self, X: Any) -> Bools:
        """Which decisions about labels no further optimization can change, where labels are listed.

        They have ``|f| > sqrt(2 gap) |psi(x, y)|``, for the minimizer of the objective is within ``sqrt(2 gap)`` of the
        weights.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``

        Returns
        -------
        certain : (n, p) bool, the columns in the order of ``space_.names``

        Raises
        ------
        Refusal : a ValueError, after the ramp, whose minimum is local, and in large spaces
        ValueError : for inputs that are not finite numbers, or have other features than in ``fit``
        TypeError : for features that are neither numbers nor text
        OverflowError : where scores are too large for float64
        NotFittedError : before ``fit``
        """
        self._listed("certain", "Use top(X, k), and duality_gap_.")
        if np.isnan(self._radius):
            raise Refusal(
                "certain refuses a model of the ramp: its minimum is local, and certifies no prediction. Use "
                "surrogate='hinge'.",
                HINGE,
            )
        features = self._features(X)
        scores = self._scores(features)
        return certain(scores, features.row_lengths.reshape(scores.shape), False, self._radius)

    def _features(self, X: Any) -> Features:
        """The fitted model of the scores, bound to rows."""
        return self._model.features(as_matrix(self, X, reset=False))

    def _scores(self, features: Features) -> NDArray[np.float64]:
        """The scores of rows, (n, p); raises OverflowError where they are not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores = features.scores(self._weights)
        if not np.isfinite(scores).all():
            raise OverflowError("the scores of X are too large for float64; scale X down.")
        return scores.reshape(-1, len(self._model.names))

    @property
    def _weights(self) -> Values:
        """All weights, of which those of constants are divided by the values of these."""
        return self._model.joined(self.coef_, self.intercept_, self.bias_)

    @property
    def _squared_norm(self) -> float:
        """``|w|^2`` of all weights, those of constants included."""
        w = self._weights
        return float(w @ w)

    def _trained(self, X: Any, Y: Any) -> tuple[LabelProblem | LargeLabelProblem, Trained]:
        """What is trained on, and the result; where that fails the estimator stays as it was."""
        with self._unchanged_by_errors():
            problem = self._problem(X, Y)
            return problem, solve(self, problem, None, ConvexConcave)

    def _problem(self, X: Any, Y: Any) -> LabelProblem | LargeLabelProblem:
        """What is trained on; the arguments of fit are checked here."""
        loss = self._loss_of_labels(self.loss)
        goal = self._objective(loss)
        intercept = as_number(self.intercept_scaling, "intercept_scaling") if self.fit_intercept else 0.0
        bias, jobs = as_number(self.label_bias, "label_bias"), threads(self.n_jobs)
        if isinstance(self.space, LargeSpace):
            refuse_listed_only(self, goal.start)
            X, Y = members(X, "X", "a list of inputs"), members(Y, "Y", "a list of collections of labels")
            layout, bound = self.space.bind(X, Y, intercept)
            widths = self.space.widths(X)
            # Independent training cannot go over all labels, so "auto" stays at the hinge.
            surrogate = "convex" if isinstance(goal.surrogate, str) and goal.surrogate == "auto" else goal.surrogate
            return LargeLabelProblem(
                self.space, loss, layout, bound, widths, goal.rescaling, surrogate, float(self.C), intercept, jobs
            )
        truth = self.space.encode(Y)
        X, truth = as_matrix(self, X, truth, multi_output=True, order="C", ensure_all_finite=False)
        # No loss of labels sees the order of rows; the folds of a start, ties and rounding would.
        order = np.lexsort([*truth.T, row_keys(X)])
        X, truth = X[order], truth[order]
        basis, rows = as_basis(goal.kernel, X, self.space.names, bias)
        kappa = None if goal.alone else self.space.kappa
        model = LabelModel(self.space.names, kappa, intercept, bias, basis)
        if isinstance(basis, PairBasis):
            groups, truth = np.repeat(np.arange(len(truth)), truth.shape[1]), truth.ravel()
            grouping = group_vector(truth, groups, np.array([False, True]))
        else:
            grouping = Grouping(Sets.rows(truth), "samples", np.arange(len(self.space)), None)
        fixed, plain = ("auto", goal.start, "samples", intercept or bias, None, jobs), basis is not None
        alone = Problem(rows, truth, grouping, loss, loss, *fixed, plain=plain)
        bound = model.of_coordinates(rows)
        return LabelProblem(alone, model, bound, goal.rescaling, goal.surrogate, goal.start, jobs)

    def _keep(self, problem: LabelProblem | LargeLabelProblem, trained: Trained) -> None:
        """Store the result of a fit in the attributes."""
        self.space_, self.loss_ = self.space, problem.loss
        if isinstance(problem, LargeLabelProblem):
            self._constant, self.coef_, self.widths_ = problem.constant_feature, trained.w, problem.widths
        else:
            self._model = problem.model
            self.coef_, self.intercept_, self.bias_ = problem.model.split(trained.w)
            self.kernel_residual_ = 0.0 if problem.model.basis is None else problem.model.basis.residual
        keep_certificates(self, trained)
        self.certain_share_ = problem.certain_share(trained)
        longest = float(problem.features.row_lengths.max())
        warn_of_end(type(self).__name__, trained.fit, trained.certified, longest)
