"""SetClassifier: a linear classifier trained for a measure of whole sets of decisions."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning, InconsistentVersionWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

import setwise
from setwise.core.checks import as_number
from setwise.core.evaluator import Surrogate
from setwise.core.learner import Fit, Learner
from setwise.core.measure import Loss
from setwise.core.progress import ProgressBar
from setwise.estimators.grouping import Grouping, classes_of, group_matrix, group_vector
from setwise.estimators.objective import class_weights, measured, surrogate_of
from setwise.estimators.routing import warn_of_dropped_groups, warn_of_forgotten_groups
from setwise.estimators.rows import as_matrix, linear_scores
from setwise.estimators.target import as_target, column_names
from setwise.estimators.threads import blas_threads, threads
from setwise.learners import LEARNERS
from setwise.losses import as_loss, plain_losses
from setwise.risks import MeanRisk
from setwise.surrogates import SURROGATES


@final
class SetClassifier(ClassifierMixin, BaseEstimator):
    """Linear scores, trained to minimize ``0.5 |w|^2 + C mean over sets of surrogate(loss)``.

    The loss evaluates a set of decisions together. What is a set follows from the shape of the target:

    - ``fit(X, y)``, y (n,): the whole sample is one set.
    - ``fit(X, y, groups=g)``: the rows of one group are a set, in their order.
    - ``fit(X, Y)``, Y (n, p) of 0 and 1, with one weight vector for each label: each row is a set of p labels, or what
      ``average`` says.

    With more than two classes in y there is one weight vector for each class, and the loss is averaged over the classes
    (mean Jaccard, macro F1), or taken for ``pos_label`` against the rest. Losses that count mistakes are used as they
    are.

    ``X`` (n, d) is dense or CSR and is used as float64. A decision is positive where its score is above 0; of several
    classes the one with the largest score is predicted.

    Parameters
    ----------
    loss : a loss, or the short name of one (``setwise list`` shows them)
    surrogate : ``"auto"`` takes the Lovász hinge for submodular losses of binary decisions, as Jaccard, and margin
        rescaling for others, as F1 (``MarginRescaling(loss, scale="size")``) and AUC; or ``"lovasz"``, ``"margin"``,
        ``"slack"``, or a surrogate, which brings its own loss to train for: ``loss`` is then what :meth:`score`
        measures
    learner : ``"one_slack"``, ``"n_slack"``, ``"block_frank_wolfe"``, ``"subgradient"``, or a learner, which brings
        its own C, tol and max_iter
    C : weight of the mean surrogate against the regularizer, above 0. The mean is over sets: where the whole sample is
        one set, useful values are large, 1e1 to 1e5
    tol : certified relative gap ``(upper - lower) / upper`` of the objective at which to stop
    max_iter : iterations at most; a warning says when they did not suffice
    fit_intercept : adds a constant feature, regularized like the others (as in SVM^perf)
    intercept_scaling : value of that feature; the larger, the less the intercept is held back by the regularizer
    pos_label : the positive one of two labels, by default the last in sorted order; of more classes, the one that the
        loss is about, by default all of them
    class_weight : None, ``"balanced"`` or a dict of weights of the two classes: mistakes and counts weigh as if each
        row were there so many times. For Hamming and for quotients of counts as Jaccard; refused for other losses
    average : what is a set in a label matrix: ``"samples"`` each row, ``"macro"`` each column, ``"micro"`` the whole
        matrix
    n_jobs : threads that share the sets of a ragged batch, and those of large matrix products; results do not depend on
        it. None shares nothing and leaves large products as the environment has them; small products take one thread
    random_state : for learners that draw sets
    verbose : 1 draws a progress bar on standard error
    warm_start : start from the last weights

    Attributes
    ----------
    coef_ : (1, d), or (p, d) for a label matrix or p classes
    intercept_ : (1,) or (p,)
    classes_ : the labels; of two the second is the positive one. For a label matrix the names of its columns, 0..p-1
        where it has none
    objective_, lower_bound_, duality_gap_ : objective at the weights, certified lower bound of its minimum, relative
        gap
    history_ : dict of arrays by iteration: objective, lower_bound, upper_bound, seconds
    n_iter_, status_, stop_reason_ : how many iterations, and why no more, in a word and in a sentence
    loss_ : the loss that :meth:`score` measures
    n_features_in_, feature_names_in_ : number of features, and their names where X has any
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "loss": [StrOptions(set(plain_losses())), Loss],
        "surrogate": [StrOptions({"auto", *SURROGATES}), Surrogate],
        "learner": [StrOptions(set(LEARNERS)), Learner],
        "C": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "pos_label": "no_validation",
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "average": [StrOptions({"samples", "macro", "micro"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        loss: str | Loss = "jaccard",
        surrogate: str | Surrogate = "auto",
        learner: str | Learner = "one_slack",
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        pos_label: Any = None,
        class_weight: dict[Any, float] | str | None = None,
        average: str = "samples",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.loss = loss
        self.surrogate = surrogate
        self.learner = learner
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.pos_label = pos_label
        self.class_weight = class_weight
        self.average = average
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def fit(
        self, X: Any, y: ArrayLike, groups: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train on the sets of (X, y).

        A fit that is refused leaves the estimator as it was. Ctrl-C stores the best weights so far, says so, and goes
        on as KeyboardInterrupt.

        Parameters
        ----------
        X : (n, d), dense or CSR
        y : (n,) of two labels or more, or (n, p) of 0 and 1
        groups : (n,) ids of the sets, for y (n,) only
        sample_weight : (n,) weights of the sets, equal for all rows of one set
        """
        self._validate_params()
        if groups is None:
            warn_of_dropped_groups("fit")
        before = dict(self.__dict__)
        try:
            fit, grouping, loss = self._train(X, y, groups, sample_weight)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self._keep(fit, grouping, loss, groups is not None)
        if fit.status == "interrupted":
            raise KeyboardInterrupt
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores, (n,), or (n, p) for a label matrix or p classes."""
        check_is_fitted(self)
        X = as_matrix(self, X, reset=False)
        scores = linear_scores(X, self.coef_, self.intercept_)
        return scores[:, 0] if self._layout == "vector" else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, (n,), or (n, p) of 0 and 1: positive where the score is above 0; the class of the largest score."""
        scores = self.decision_function(X)
        if self._layout == "classes":
            labels: NDArray[Any] = self.classes_[scores.argmax(axis=1)]
            return labels
        positive = (scores > 0).astype(np.int64)
        return np.asarray(self.classes_[positive]) if self._layout == "vector" else positive

    def score(
        self, X: Any, y: ArrayLike, groups: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """``1 - mean loss`` over the sets of (X, y), made as in :meth:`fit`."""
        scores = self.decision_function(X)
        if groups is None:
            warn_of_dropped_groups("score")
            if self._grouped:
                warn_of_forgotten_groups()
        target = as_target(y)
        many = self._layout not in ("vector", "classes")
        labels = np.ravel(target) if target.ndim == 2 and target.shape[1] == 1 and not many else target
        expected = scores.shape if many else scores.shape[:1]
        if labels.shape != expected:
            raise ValueError(f"y must have the shape of predict(X), {expected}; got shape {labels.shape}.")
        grouping = self._group(labels, groups, self.classes_)
        losses = self.loss_.values(grouping.batch, grouping.predictions(self.loss_, scores))
        weights = grouping.weights(sample_weight, len(labels))
        return 1.0 - float(np.average(losses, weights=None if weights is None else weights / weights.max()))

    @property
    def _intercept(self) -> float:
        return as_number(self.intercept_scaling, "intercept_scaling") if self.fit_intercept else 0.0

    def _train(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> tuple[Fit, Grouping, Loss]:
        target = None if y is None else as_target(y)
        # Where the lengths of the rows are computed, it shows whether X is finite: one pass over X less.
        X, target = as_matrix(self, X, target, multi_output=True, order="C", ensure_all_finite=False)
        if target.ndim == 2 and target.shape[1] > 1:
            grouping = self._group(target, groups, column_names(y, target.shape[1]))
        else:
            grouping = self._group(target, groups, classes_of(target, self.pos_label))
        loss = measured(as_loss(self.loss), grouping, self.pos_label)
        weights = class_weights(self.class_weight, grouping, target)
        evaluator = surrogate_of(self.surrogate, loss, grouping, weights).on(grouping.batch)
        jobs = threads(self.n_jobs)
        multiplications = int(X.shape[0]) * int(X.shape[1]) * grouping.outputs
        with blas_threads(multiplications, None if self.n_jobs is None else jobs):
            features = grouping.features(X, self._intercept)
            risk = MeanRisk(features, evaluator, grouping.weights(sample_weight, X.shape[0]), jobs)
            bar = ProgressBar(self.tol, type(self).__name__) if self.verbose else None
            fit = self._learner().minimize(risk, w0=self._start(risk.size), callback=bar)
        if bar is not None:
            bar.close()
        return fit, grouping, loss

    def _group(self, target: NDArray[Any], groups: Any, classes: NDArray[Any]) -> Grouping:
        if target.ndim == 2 and target.shape[1] > 1:
            return group_matrix(target, groups, self.average, classes)
        return group_vector(target.ravel(), groups, classes)

    def _learner(self) -> Learner:
        if not isinstance(self.learner, str):
            return self.learner
        kind = LEARNERS[self.learner]
        common: dict[str, Any] = {"C": self.C, "tol": self.tol, "max_iter": int(self.max_iter)}
        if "random_state" in kind.__dataclass_fields__ and self.random_state is not None:  # type: ignore[attr-defined]
            common["random_state"] = int(check_random_state(self.random_state).randint(2**31 - 1))
        return kind(**common)

    def _start(self, size: int) -> NDArray[np.float64] | None:
        if not self.warm_start or "coef_" not in self.__dict__:
            return None
        last = self.coef_
        if self.fit_intercept:
            last = np.column_stack([last, self.intercept_ / self.intercept_scaling])
        return last.ravel() if last.size == size else None

    def _keep(self, fit: Fit, grouping: Grouping, loss: Loss, grouped: bool) -> None:
        weights = fit.w.reshape(grouping.outputs, -1)
        self.classes_, self.loss_, self._layout, self._grouped = grouping.classes, loss, grouping.layout, grouped
        self.coef_ = weights[:, :-1].copy() if self.fit_intercept else weights.copy()
        self.intercept_ = self.intercept_scaling * weights[:, -1] if self.fit_intercept else np.zeros(len(weights))
        self.objective_, self.lower_bound_, self.duality_gap_ = fit.objective, fit.lower_bound, fit.gap
        fields = ("objective", "lower_bound", "upper_bound", "seconds")
        self.history_ = {name: np.array([getattr(record, name) for record in fit.history]) for name in fields}
        self.n_iter_, self.status_, self.stop_reason_ = len(fit.history), fit.status, fit.message
        words = {
            "max_iter": (f"SetClassifier {fit.message}; raise max_iter or tol.", ConvergenceWarning),
            "stalled": (f"SetClassifier stalled: {fit.message}.", ConvergenceWarning),
            "interrupted": (f"SetClassifier was {fit.message}.", RuntimeWarning),
        }
        if fit.status in words:
            warnings.warn(*words[fit.status], stacklevel=3)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_setwise_version": setwise.__version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        made = state.pop("_setwise_version", "unknown")
        if made != setwise.__version__:
            warnings.warn(
                InconsistentVersionWarning(
                    estimator_name=type(self).__name__,
                    current_sklearn_version=f"setwise {setwise.__version__}",
                    original_sklearn_version=f"setwise {made}",
                ),
                stacklevel=2,
            )
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # Other surrogates than margin rescaling are about binary decisions.
        tags.classifier_tags.multi_class = self.surrogate not in ("lovasz", "slack")
        tags.classifier_tags.multi_label = True
        return tags
