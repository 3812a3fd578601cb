"""MultilabelStructuredPredictor: any number of right labels of a space, trained for the worst mistake."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from setwise.core.arrays import Bools
from setwise.core.checks import as_number
from setwise.core.evaluator import Surrogate
from setwise.core.learner import Learner
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.estimators.certain import certain
from setwise.estimators.constraints import CONSTRAINTS
from setwise.estimators.descent import Trained
from setwise.estimators.fitting import keep_certificates, solve
from setwise.estimators.grouping import Grouping
from setwise.estimators.label_problem import LabelProblem, features_of
from setwise.estimators.notices import warn_of_end
from setwise.estimators.rows import as_matrix, linear_scores
from setwise.estimators.threads import threads
from setwise.estimators.training import Problem
from setwise.estimators.vacuous import warn_of_replaced_bound
from setwise.estimators.versioned import Versioned
from setwise.learners import ConvexConcave
from setwise.losses import as_loss
from setwise.spaces import Space
from setwise.surrogates.ramp import Ramp

_SAME = ("loss", "learner", "start", "tol", "max_iter", "fit_intercept", "intercept_scaling")
_CONSTRAINTS: dict[str, Any] = {
    "space": [Space],
    "rescaling": [StrOptions({"slack", "margin"})],
    "surrogate": [StrOptions({"auto", "hinge", "ramp", "margin"}), Surrogate],
    "C": [Interval(Real, 0, None, closed="left")],
    "label_bias": [Interval(Real, 0, None, closed="left")],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
} | {name: CONSTRAINTS[name] for name in _SAME}


@final
class MultilabelStructuredPredictor(Versioned):
    """``{y : f(x, y) > 0}``, trained to minimize ``0.5 |w|^2 + (C / n) sum_i hinge(Y_i, f(x_i, .))`` (MLSP Eq. 5-7).

    ``f(x, y) = kappa(y)^T (W x + b) + c_y`` scores each label of a space. The hinge is the worst violation of a single
    label, ``max_y lambda(Y, y) (1 - v_y f(x, y))``, not below 0, where v_y is 1 for the labels in Y and -1 for others.
    It is never below the max loss, the cost lambda of the worst mistake.

    Parameters
    ----------
    space : the labels and their features, as :class:`setwise.spaces.Finite`
    loss : ``"max"``, or ``MaxLoss(costs)`` with the costs lambda. Other losses of labels, as ``"sum"``, have no hinge
        of single labels
    rescaling : ``"slack"``, or ``"margin"`` for ``max_y lambda(Y, y) - v_y f(x, y)``; equal where lambda is 1
    surrogate : ``"hinge"``. ``"margin"`` is margin rescaling over all sets of labels, the P-SSVM of MLSP 4.1; with
        ``loss="sum"`` and labels that share nothing these are independent SVMs. ``"ramp"`` is the difference between
        margin rescaling and the score of the prediction. ``"auto"`` takes the hinge, or ``"margin"`` where the loss has
        none, and with a warning the ramp where that bound says nothing: where w = 0 is optimal up to ``tol``, or the
        bound is at least .95 of the loss of the best constant prediction; or where it is at least half of that and
        logistic regression of each label has a smaller training loss. A surrogate object brings its own loss
    learner : ``"auto"`` takes ``"one_slack"`` for convex surrogates and ``"convex_concave"`` for the ramp; others as in
        :class:`setwise.SetClassifier`
    C : the weight of the mean hinge against the regularizer
    tol, max_iter : as in :class:`setwise.SetClassifier`
    fit_intercept, intercept_scaling : whether rows have a constant feature, and its value
    label_bias : the value of a constant feature that each label has alone; 0 for none. Labels that share nothing have
        one by ``fit_intercept``
    start : ``"zero"``, or ``"logistic"`` for logistic regression of each label alone, with the best thresholds; labels
        that share weights come as close to its scores as they can. The regularizer is the distance from there.
        ``"auto"`` takes ``"logistic"`` for the ramp and ``"zero"`` for convex surrogates
    n_jobs : the number of threads that share the rows
    random_state : the seed of learners that draw rows at random
    verbose : 1 draws a progress bar on standard error

    Attributes
    ----------
    coef_, intercept_, bias_ : (q, d), (q,) and (p,), the weights W, b and c; q = p where labels share nothing
    space_, loss_ : the space, and the loss that :meth:`score` measures
    surrogate_, C_, objective_, lower_bound_, duality_gap_, history_, n_iter_, status_, stop_reason_, certain_share_ :
        as in :class:`setwise.SetClassifier`
    n_features_in_, feature_names_in_ : the number of features, and their names if X has any
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = _CONSTRAINTS

    def __init__(
        self,
        space: Space,
        loss: str | Loss = "max",
        rescaling: str = "slack",
        surrogate: str | Surrogate = "auto",
        learner: str | Learner = "auto",
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        label_bias: float = 0.0,
        start: str | LogisticRegression = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.space = space
        self.loss = loss
        self.rescaling = rescaling
        self.surrogate = surrogate
        self.learner = learner
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.label_bias = label_bias
        self.start = start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

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
        if self.surrogate == "auto" and trained.surrogate == Ramp.name:
            warn_of_replaced_bound(problem.convex().name)
        if trained.fit.status == "interrupted":
            raise KeyboardInterrupt
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of each row and label, (n, p)."""
        check_is_fitted(self)
        scores = linear_scores(as_matrix(self, X, reset=False), self.coef_, self.intercept_)
        kappa = self.space_.kappa
        return np.asarray((scores if kappa is None else scores @ kappa.T) + self.bias_)

    def predict_matrix(self, X: Any) -> Bools:
        """Which labels are predicted for each row, (n, p): those with a score above 0."""
        return self.decision_function(X) > 0.0

    def predict(self, X: Any) -> list[list[Any]]:
        """The labels that are predicted for each row; a list may be empty."""
        predicted = self.predict_matrix(X)
        return self.space_.decode(predicted)

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
        lengths = features_of(X, len(self.space_), self.space_.kappa, *self._constants).row_lengths
        return certain(scores, lengths.reshape(scores.shape), False, self._radius)

    def score(self, X: Any, Y: Any) -> float:
        """``1 - mean loss`` of the predictions for the rows of X; Y as in :meth:`fit`."""
        predictions = self.predict_matrix(X)
        truth = self.space_.encode(Y)
        if truth.shape != predictions.shape:
            raise ValueError(f"Y must hold a set of labels for each of {len(predictions)} rows; got {len(truth)}.")
        return 1.0 - float(self.loss_.values(Sets.rows(truth), predictions.ravel()).mean())

    def _trained(self, X: Any, Y: Any) -> tuple[LabelProblem, Trained]:
        """What is trained on, and the result; where that fails the estimator stays as it was."""
        before = dict(self.__dict__)
        try:
            problem = self._problem(X, Y)
            return problem, solve(self, problem, None, ConvexConcave)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _problem(self, X: Any, Y: Any) -> LabelProblem:
        """What is trained on; the arguments of fit are checked here."""
        loss = as_loss(self.loss)
        if loss.reads != "labels":
            raise Refusal(f"{type(self).__name__} refuses {loss!r}, which reads {loss.reads}. Use a loss of labels.")
        truth = self.space.encode(Y)
        X, truth = as_matrix(self, X, truth, multi_output=True, order="C", ensure_all_finite=False)
        grouping = Grouping(Sets.rows(truth), "samples", np.arange(len(self.space)), None)
        intercept = as_number(self.intercept_scaling, "intercept_scaling") if self.fit_intercept else 0.0
        bias = as_number(self.label_bias, "label_bias")
        jobs = threads(self.n_jobs)
        alone = Problem(X, truth, grouping, loss, loss, "auto", self.start, "samples", intercept or bias, None, jobs)
        rescaling: Any = self.rescaling
        return LabelProblem(alone, self.space.kappa, intercept, bias, rescaling, self.surrogate, self.start, jobs)

    def _keep(self, problem: LabelProblem, trained: Trained) -> None:
        """Store the result of a fit in the attributes."""
        self.space_, self.loss_ = self.space, problem.alone.loss
        self._constants = problem.intercept, problem.bias
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
