"""SetClassifier: a linear classifier trained for a measure of whole sets of decisions."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self, final

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from setwise.core.learner import Fit, Learner
from setwise.core.loss import Loss
from setwise.core.progress import ProgressBar
from setwise.core.ranking import RankLoss
from setwise.core.refusal import Refusal
from setwise.core.risk import SurrogateRisk
from setwise.core.surrogate import Surrogate
from setwise.estimators.grouping import Grouping, group
from setwise.learners import LEARNERS
from setwise.losses.class_weighted import with_class_weights
from setwise.losses.names import LOSSES
from setwise.surrogates.names import SURROGATES


@final
class SetClassifier(ClassifierMixin, BaseEstimator):
    """Linear scores, trained to minimize ``0.5 |w|^2 + C mean over sets of surrogate(loss)``.

    The loss judges a set of decisions together. What is a set follows from the shape of the target:

    - ``fit(X, y)``, y (n,): the whole sample is one set.
    - ``fit(X, y, groups=g)``: the rows of one group are a set, in their order.
    - ``fit(X, Y)``, Y (n, p) of 0 and 1, with one weight vector for each label: each row is a set of p labels, or what
      ``average`` says.

    ``X`` (n, d) is dense or CSR and is used as float64. A decision is positive where its score is above 0.

    Parameters
    ----------
    loss : a name of :data:`setwise.losses.names.LOSSES` or a loss
    surrogate : ``"auto"`` takes the Lovász hinge for submodular losses, as Jaccard, and margin rescaling for others, as
        F1 (``MarginRescaling(loss, scale="size")``) and AUC; or ``"lovasz"``, ``"margin"``, ``"slack"``, or a
        surrogate, which brings its own loss to train for: ``loss`` is then what :meth:`score` measures
    learner : ``"one_slack"``, ``"n_slack"``, ``"block_frank_wolfe"``, ``"subgradient"``, or a learner, which brings
        its own C, tol and max_iter
    C : weight of the mean surrogate against the regularizer, above 0. The mean is over sets: where the whole sample is
        one set, useful values are large, 1e1 to 1e5
    tol : certified relative gap ``(upper - lower) / upper`` of the objective at which to stop
    max_iter : iterations at most; a warning says when they did not suffice
    fit_intercept : adds a constant feature, regularized like the others (as in SVM^perf)
    intercept_scaling : value of that feature; the larger, the less the intercept is held back by the regularizer
    class_weight : None, ``"balanced"`` or a dict of weights of the two classes: mistakes and counts weigh as if each
        row were there so many times. For Hamming and for quotients of counts as Jaccard; refused for other losses
    average : what is a set in a label matrix: ``"samples"`` each row, ``"macro"`` each column, ``"micro"`` the whole
        matrix
    n_jobs : threads that share the sets of a ragged batch; results do not depend on it
    random_state : for learners that draw sets
    verbose : 1 draws a progress bar on standard error
    warm_start : start from the last weights

    Attributes
    ----------
    coef_ : (1, d), or (p, d) for a label matrix
    intercept_ : (1,) or (p,)
    classes_ : the two labels, the second is the positive one; ``arange(p)`` for a label matrix
    objective_, lower_bound_, duality_gap_ : objective at the weights, certified lower bound of its minimum, relative
        gap
    history_ : dict of arrays by iteration: objective, lower_bound, upper_bound, seconds
    n_iter_, status_, stop_reason_ : how many iterations, and why no more, in a word and in a sentence
    loss_ : the loss that :meth:`score` measures
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "loss": [StrOptions(set(LOSSES)), Loss, RankLoss],
        "surrogate": [StrOptions(set(SURROGATES)), Surrogate],
        "learner": [StrOptions(set(LEARNERS)), Learner],
        "C": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "average": [StrOptions({"samples", "macro", "micro"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        loss: str | Loss | RankLoss = "jaccard",
        surrogate: str | Surrogate = "auto",
        learner: str | Learner = "one_slack",
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
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

        Parameters
        ----------
        X : (n, d), dense or CSR
        y : (n,) with two labels, or (n, p) of 0 and 1
        groups : (n,) ids of the sets, for y (n,) only
        sample_weight : (n,) weights of the sets, equal for all rows of one set
        """
        self._validate_params()
        if issparse(y):
            raise ValueError("a label matrix Y must be dense; got a sparse matrix: pass Y.toarray().")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, multi_output=True, order="C")
        grouping = group(y, groups, self._intercept, self.average)
        surrogate = self._surrogate(grouping, y)
        risk = SurrogateRisk(
            grouping.model,
            grouping.features(X),
            grouping.sets,
            surrogate,
            grouping.weights(sample_weight, X.shape[0]),
            effective_n_jobs(self.n_jobs),
        )
        start = self._start(risk.size)
        bar = ProgressBar(self.tol, f"{type(self).__name__}") if self.verbose else None
        fit = self._learner().minimize(risk, w0=start, callback=bar)
        if bar is not None:
            bar.close()
        self._keep(fit, grouping)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores, (n,), or (n, p) for a label matrix."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scores = X @ self.coef_.T + self.intercept_
        return scores if self._many else scores[:, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, (n,), or (n, p) of 0 and 1: positive where the score is above 0."""
        positive = self.decision_function(X) > 0
        return positive.astype(np.int64) if self._many else self.classes_[positive.astype(np.int64)]

    def score(
        self, X: Any, y: ArrayLike, groups: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """``1 - mean loss`` over the sets of (X, y), made as in :meth:`fit`."""
        scores = self.decision_function(X)
        if y is None or issparse(y):
            raise ValueError("y must be an array of labels, (n,) or (n, p), to be scored; got None or a sparse matrix.")
        y = np.asarray(y)
        if y.ndim == 0 or self._many != (y.ndim == 2 and y.shape[1] > 1) or len(y) != len(scores):
            raise ValueError(f"y must have the shape of predict(X), {scores.shape}; got shape {y.shape}.")
        grouping = group(y, groups, self._intercept, self.average, None if self._many else self.classes_)
        self.loss_.check(grouping.sets)
        losses = self.loss_.judge(grouping.sets, grouping.flat(scores))
        return 1.0 - float(np.average(losses, weights=grouping.weights(sample_weight, len(y))))

    @property
    def _intercept(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _surrogate(self, grouping: Grouping, y: NDArray[Any]) -> Surrogate:
        self.loss_ = LOSSES[self.loss]() if isinstance(self.loss, str) else self.loss
        weights = self._class_weights(grouping, y)
        if isinstance(self.surrogate, str):
            train = self.loss_ if weights is None else with_class_weights(self.loss_, *weights)
            return SURROGATES[self.surrogate](train)
        if weights is not None:
            raise Refusal(
                "class_weight refuses a surrogate object, which brings its own loss. Weigh that loss instead."
            )
        return self.surrogate

    def _class_weights(self, grouping: Grouping, y: NDArray[Any]) -> tuple[float, float] | None:
        if self.class_weight is None:
            return None
        classes = np.array([0, 1]) if grouping.is_matrix else grouping.classes
        labels = np.ravel(y)
        if isinstance(self.class_weight, dict) and not set(self.class_weight) <= set(classes.tolist()):
            odd = next(c for c in self.class_weight if c not in classes.tolist())
            raise ValueError(f"class_weight must weigh the classes {classes.tolist()}; got {odd!r}.")
        negative, positive = compute_class_weight(self.class_weight, classes=classes, y=labels)
        return float(negative), float(positive)

    def _learner(self) -> Learner:
        if not isinstance(self.learner, str):
            return self.learner
        kind = LEARNERS[self.learner]
        common = (float(self.C), float(self.tol), int(self.max_iter))
        if "random_state" not in kind.__dataclass_fields__:
            return kind(*common)
        seed = None if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        return kind(*common, random_state=seed)

    def _start(self, size: int) -> NDArray[np.float64] | None:
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        last = self.coef_
        if self.fit_intercept:
            last = np.column_stack([last, self.intercept_ / self.intercept_scaling])
        return last.ravel() if last.size == size else None

    def _keep(self, fit: Fit, grouping: Grouping) -> None:
        many = len(grouping.classes) if grouping.is_matrix else 1
        weights = fit.w.reshape(many, -1)
        self.classes_, self._many = grouping.classes, grouping.is_matrix
        self.coef_ = weights[:, :-1].copy() if self.fit_intercept else weights.copy()
        self.intercept_ = self.intercept_scaling * weights[:, -1] if self.fit_intercept else np.zeros(many)
        self.objective_, self.lower_bound_, self.duality_gap_ = fit.objective, fit.lower_bound, fit.gap
        fields = ("objective", "lower_bound", "upper_bound", "seconds")
        self.history_ = {name: np.array([getattr(record, name) for record in fit.history]) for name in fields}
        self.n_iter_, self.status_, self.stop_reason_ = len(fit.history), fit.status, fit.message
        if fit.status == "max_iter":
            warnings.warn(f"SetClassifier {fit.message}; raise max_iter or tol.", ConvergenceWarning, stacklevel=3)
        elif fit.status == "stalled":
            warnings.warn(f"SetClassifier stalled: {fit.message}.", ConvergenceWarning, stacklevel=3)
        elif fit.status == "interrupted":
            warnings.warn(f"SetClassifier was {fit.message}.", RuntimeWarning, stacklevel=3)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        return tags
