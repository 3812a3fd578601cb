"""MultilabelStructuredPredictor: any number of right labels of a space, trained for the worst mistake."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from setwise.core.arrays import Bools
from setwise.core.checks import as_count
from setwise.core.evaluator import Surrogate
from setwise.core.learner import Learner
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.estimators.constraints import CONSTRAINTS
from setwise.estimators.descent import Trained
from setwise.estimators.fitting import keep_certificates
from setwise.estimators.large_label_problem import (
    LABELS,
    LargeLabelProblem,
    best_labels,
    constant_of,
    large_problem,
    named,
    refuse_listed_only,
)
from setwise.estimators.linear_label_predictor import LinearLabelPredictor, Objective
from setwise.estimators.notices import warn_of_end
from setwise.models.kernels import JointKernel, Kernel
from setwise.spaces import Space
from setwise.spaces.large_space import LargeSpace, Scored

_SAME = ("loss", "learner", "start", "tol", "max_iter", "fit_intercept", "intercept_scaling")
_CONSTRAINTS: dict[str, Any] = {
    "space": [Space, LargeSpace],
    "rescaling": [StrOptions({"slack", "margin"})],
    "surrogate": [StrOptions({"auto", "hinge", "ramp", "margin"}), Surrogate],
    "C": [Interval(Real, 0, None, closed="left")],
    "kernel": [StrOptions({"linear"}), Kernel, JointKernel, callable],
    "label_bias": [Interval(Real, 0, None, closed="left")],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
} | {name: CONSTRAINTS[name] for name in _SAME}


@final
class MultilabelStructuredPredictor(LinearLabelPredictor):
    """``{y : f(x, y) > 0}``, trained to minimize ``0.5 |w|^2 + (C / n) sum_i hinge(Y_i, f(x_i, .))`` (MLSP Eq. 5-7).

    ``f(x, y) = kappa(y)^T (W x + b) + c_y`` scores each label of a space. The hinge is the worst violation of a single
    label, ``max_y lambda(Y, y) (1 - v_y f(x, y))``, not below 0, where v_y is 1 for the labels in Y and -1 for others.
    It is never below the max loss, the cost lambda of the worst mistake.

    Parameters
    ----------
    space : the labels and their features, as :class:`setwise.spaces.Finite`; or labels that are too many to list, as
        :class:`setwise.spaces.LabelSequences`, for which :meth:`fit` takes what the space does
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
    kernel : ``"linear"``; a function of rows (a, d) and (b, d) that returns their kernel (a, b), or
        :class:`setwise.models.Kernel` with it, for ``f(x, y) = sum_i k(x_i, x) <a_i, kappa(y)>`` (MLSP Eq. 14); or a
        :class:`setwise.models.JointKernel` of rows with labels, which stands for the features of labels too
    start : ``"zero"``, or ``"logistic"`` for logistic regression of each label alone, with the best thresholds; labels
        that share weights come as close to its scores as they can. The regularizer is the distance from there.
        ``"auto"`` takes ``"logistic"`` for the ramp and ``"zero"`` for convex surrogates
    n_jobs : the number of threads that share the rows
    random_state : the seed of learners that draw rows at random
    verbose : 1 draws a progress bar on standard error

    Attributes
    ----------
    coef_, intercept_, bias_ : (q, d), (q,) and (p,), the weights W, b and c; q = p where labels share nothing. With a
        kernel W is about its features, as many as its rank. In large spaces ``coef_`` holds all weights, in the order
        of the space
    kernel_residual_ : no ``k(x, x)`` of training is off by more than this share of the largest one
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
        kernel: Any = "linear",
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
        self.kernel = kernel
        self.start = start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: Any, max_labels: int | None = None) -> list[list[Any]]:
        """The labels that are predicted for each input, all with scores above 0; a list may be empty.

        Parameters
        ----------
        X : as in :meth:`fit`
        max_labels : the most labels of an input, those of largest scores, best first. None is no limit where labels are
            listed, in the order of the space, and 100 for large spaces, best first, with a warning where there are more
        """
        check_is_fitted(self)
        limit = None if max_labels is None else as_count(max_labels, "max_labels")
        if not isinstance(self.space_, LargeSpace):
            return super().predict(X) if limit is None else named(self._best(X, limit, 0.0))
        found = self._best(X, (limit or LABELS) + (limit is None), 0.0)
        if limit is None and any(len(row) > LABELS for row in found):
            warnings.warn(
                f"more than {LABELS} labels of an input have scores above 0, and the best {LABELS} are returned: give "
                "max_labels to see more.",
                UserWarning,
                stacklevel=2,
            )
        return named([row[: limit or LABELS] for row in found])

    def top(self, X: Any, k: int) -> list[list[Scored]]:
        """The k labels of largest scores of each input with these, best first, or all where there are fewer."""
        check_is_fitted(self)
        return self._best(X, as_count(k, "k"), -np.inf)

    def score(self, X: Any, Y: Any) -> float:
        """``1 - mean loss`` of the predictions for the inputs X; Y as in :meth:`fit`.

        In large spaces at most 100 labels of an input are looked at.
        """
        check_is_fitted(self)
        if not isinstance(self.space_, LargeSpace):
            return super().score(X, Y)
        problem = large_problem(self, self.loss_, X, Y)
        return 1.0 - problem.loss_of_scores(problem.features.scores(self.coef_))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of each row and label, (n, p), where labels are listed."""
        self._only_listed("decision_function", "Use top(X, k).")
        return super().decision_function(X)

    def predict_matrix(self, X: Any) -> Bools:
        """Which labels are predicted for each row, (n, p), where labels are listed: those with a score above 0."""
        self._only_listed("predict_matrix", "Use predict(X).")
        return super().predict_matrix(X)

    def certain(self, X: Any) -> Bools:
        """Which of the decisions (n, p) no further optimization can change, where labels are listed.

        These are the ones with ``|f| > sqrt(2 gap) |psi(x, y)|``, for the minimizer of the objective is within
        ``sqrt(2 gap)`` of the weights. Refusal after the ramp, whose minimum is local.
        """
        self._only_listed("certain", "Use top(X, k), and duality_gap_.")
        return super().certain(X)

    def _only_listed(self, what: str, way_out: str) -> None:
        check_is_fitted(self)
        if isinstance(self.space_, LargeSpace):
            raise Refusal(f"{what} refuses {type(self.space_).__name__}, whose labels are not listed. {way_out}")

    def _best(self, X: Any, limit: int, threshold: float) -> list[list[Scored]]:
        """The labels with scores above ``threshold``, best first, and at most ``limit`` of them."""
        if isinstance(self.space_, LargeSpace):
            return best_labels(self.space_, X, self.coef_, self._constant, limit, threshold)
        scores, names = self.decision_function(X), self.space_.names
        orders = np.argsort(-scores, axis=1, kind="stable")[:, :limit]
        rows = zip(scores, orders, strict=True)
        return [[(names[j], float(row[j])) for j in order if row[j] > threshold] for row, order in rows]

    def _problem(self, X: Any, Y: Any) -> Any:
        if not isinstance(self.space, LargeSpace):
            return super()._problem(X, Y)
        refuse_listed_only(self)
        return large_problem(self, self._loss_of_labels(self.loss), X, Y)

    def _keep(self, problem: Any, trained: Trained) -> None:
        if not isinstance(problem, LargeLabelProblem):
            super()._keep(problem, trained)
            return
        self.space_, self.loss_ = self.space, problem.loss
        self._constant, self.coef_, self.certain_share_ = constant_of(self), trained.w, np.nan
        keep_certificates(self, trained)
        warn_of_end(type(self).__name__, trained.fit)

    def _objective(self, loss: Loss) -> Objective:
        rescaling: Any = self.rescaling
        return Objective(self.surrogate, rescaling, self.start, self.kernel)
