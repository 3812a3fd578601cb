"""WeakSetClassifier: a classifier of rows, from labels of some rows and numbers of positives of whole bags."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from setwise.estimators.rows import as_matrix, linear_scores
from setwise.estimators.threads import threads
from setwise.estimators.versioned import Versioned
from setwise.estimators.weak.bag_values import Bagging
from setwise.estimators.weak.knowledge import Knowledge
from setwise.estimators.weak.labels import as_partly_known
from setwise.estimators.weak.methods import LINEAR
from setwise.estimators.weak.problem import Problem, Settings, taken
from setwise.estimators.weak.progress import Watch
from setwise.estimators.weak.ranges import Ranges
from setwise.estimators.weak.scaling import Scaling


@final
class WeakSetClassifier(ClassifierMixin, Versioned):
    """A classifier of rows, from labels of some rows and numbers of positives of whole bags of rows."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "method": [StrOptions({"auto", *LINEAR})],
        "C": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "classes": ["array-like", None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        method: str = "auto",
        C: float | str = "auto",
        *,
        classes: Any = None,
        cv: int = 5,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.C = C
        self.classes = classes
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        counts: Any = None,
        proportions: Any = None,
        at_least: Any = None,
        between: Any = None,
    ) -> Self:
        """Train on rows and what is known of them."""
        self._validate_params()
        X = as_matrix(self, X)
        bags = Bagging.of(groups, X.shape[0])
        ranges = Ranges.of(bags, counts, proportions, at_least, between)
        codes, classes = as_partly_known(y, X.shape[0], self.classes, ranges.width)
        scaling, coefs, intercepts = Scaling.of(X), [], []
        for k in range(1, 2) if len(classes) == 2 else range(len(classes)):
            labels = np.where(codes < 0, -1, codes == k).astype(np.int8)
            knowledge = Knowledge.of(bags, labels, *ranges.of_class(k, len(classes)))
            problem = Problem(scaling.inside(taken(X, knowledge.order)), knowledge)
            method = "count_likelihood" if self.method == "auto" else self.method
            C = 1.0 if isinstance(self.C, str) else float(self.C)
            settings = Settings(C, self.tol, int(self.max_iter), threads(self.n_jobs), Watch(self.verbose > 0, method))
            found = LINEAR[method](problem, None, settings)
            coef, intercept = scaling.given(found.w)
            coefs.append(coef)
            intercepts.append(intercept)
        self.classes_, self.coef_, self.intercept_ = classes, np.array(coefs), np.array(intercepts)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The log-odds of each row, (n,), or of each row and class against the rest, (n, k)."""
        check_is_fitted(self)
        X = as_matrix(self, X, reset=False)
        scores = linear_scores(X, self.coef_, self.intercept_)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, (n, k)."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        each = np.maximum(expit(scores), np.finfo(np.float64).tiny)
        return np.asarray(each / each.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of greatest probability of each row, (n,)."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = False
        return tags
