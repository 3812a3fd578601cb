"""The base model of a choice: the default one, what may be asked of any, and what it says about rows.

It says its own labels, and scores that rise with the chance of a positive; calibration turns them into probabilities by
rows that the model did not see. A label matrix may have one classifier for each label.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import issparse
from scipy.special import expit, logit
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.isotonic import isotonic_regression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted, has_fit_parameter

from setwise.core.checks import Bools, Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.pages import MEASURE_COST, ROW_COSTS
from setwise.estimators.base import base_threads, take_features

RESPONSE_METHODS = {"auto": ("predict_proba", "decision_function")}
"""The methods that are tried in turn for each ``response_method``; any other name is tried alone."""


@final
@dataclass(frozen=True, eq=False)
class Response:
    """The answer of a classifier for n rows, or for n rows with p labels each.

    Parameters
    ----------
    labels : (n,) or (n, p) bool, the classifier's own predictions; of more than two classes (n,) int64
    scores : float64 of the same shape, which rise with the chance of a positive; of k > 2 classes (n, k)
    probability : whether the scores are probabilities
    """

    labels: NDArray[Any]
    scores: Values
    probability: bool

    def log_odds(self, least: float) -> Values:
        """``log(q / (1 - q))`` of the probabilities, clipped to [least, 1 - least]; other scores as they are."""
        if not self.probability:
            return self.scores
        q = np.clip(self.scores, least, 1.0 - least)
        return np.asarray(np.log(q) - np.log1p(-q))

    def take(self, rows: Ints) -> "Response":
        """The answer for some of the rows."""
        return Response(self.labels[rows], self.scores[rows], self.probability)


def method_of(estimator: Any, response_method: str) -> str:
    """The name of the method that gives scores; raises ValueError if the estimator has none."""
    names = RESPONSE_METHODS.get(response_method, (response_method,))
    for name in names:
        # available_if hides a method that the estimator has in other settings only.
        if getattr(estimator, name, None) is not None:
            return name
    raise ValueError(
        f"response_method={response_method!r}: {type(estimator).__name__} has no method {' or '.join(names)}. "
        "Use a classifier with scores."
    )


def respond(estimator: Any, X: Any, response_method: str, positive: Any, p: int | None) -> Response:
    """The response of a fitted classifier, with ``positive`` the label of positives; p labels a row, or None for one.

    For more than two classes ``positive`` is the array of all labels (k,).

    Raises
    ------
    ValueError : for a classifier without scores, for scores that are not finite, and for answers of another shape than
        the rows and labels ask for
    """
    name, n = method_of(estimator, response_method), _num_samples(X)
    with base_threads(X):
        predicted = np.asarray(estimator.predict(X))
        refuse_shape(estimator, "predict", predicted.shape, *([(n,), (n, 1)] if p is None else [(n, p)]))
        if isinstance(positive, np.ndarray):
            scores, labels = _of_classes(estimator, X, name, positive), _codes(predicted.reshape(n), positive)
        elif p is None:
            scores, labels = scores_of(estimator, X, name, positive), predicted.reshape(n) == positive
        else:
            scores = _columns(getattr(estimator, name)(X), estimator, name, (n, p))
            labels = predicted.astype(np.float64) == 1.0
    refuse_infinite(estimator, name, scores)
    kind = np.int64 if isinstance(positive, np.ndarray) else np.bool_
    return Response(np.asarray(labels, dtype=kind), np.ascontiguousarray(scores), name == "predict_proba")


def _codes(labels: NDArray[Any], classes: NDArray[Any]) -> Ints:
    """The places of labels among sorted classes, (n,)."""
    return np.minimum(np.searchsorted(classes, labels), len(classes) - 1)


def _of_classes(estimator: Any, X: Any, name: str, classes: NDArray[Any]) -> Values:
    """The scores of k classes, (n, k); a class that the classifier did not see has the least chance."""
    values, known = np.asarray(getattr(estimator, name)(X), dtype=np.float64), np.asarray(estimator.classes_)
    if values.ndim == 1 and len(known) == 2:
        values = np.column_stack([-values, values])
    refuse_shape(estimator, name, values.shape, (_num_samples(X), len(known)))
    refuse_infinite(estimator, name, values)
    least = 0.0 if name == "predict_proba" else float(values.min()) - FAR
    out = np.full((len(values), len(classes)), least)
    out[:, _codes(known, classes)] = values
    return out


def refuse_infinite(estimator: Any, name: str, scores: Values) -> None:
    """Raise ValueError for scores of the method ``name`` that are not finite."""
    if not np.isfinite(scores).all():
        raise ValueError(f"{type(estimator).__name__}.{name} gave NaN or inf; the scores must be finite.")


def scores_of(estimator: Any, X: Any, name: str, positive: Any) -> NDArray[np.float64]:
    """What the method ``name`` of a classifier of two classes says for the class ``positive``, (n,)."""
    values = np.asarray(getattr(estimator, name)(X), dtype=np.float64)
    n, classes = _num_samples(X), np.asarray(estimator.classes_).tolist()
    # There is a column for each class, or one number that speaks for the second class.
    refuse_shape(estimator, name, values.shape, (n, len(classes)), *([(n,)] if len(classes) == 2 else []))
    at = classes.index(positive)
    return values[:, at] if values.ndim == 2 else values if at == 1 else -values


def _columns(raw: Any, estimator: Any, name: str, shape: tuple[int, int]) -> NDArray[np.float64]:
    """The scores of a label matrix, (n, p), from a matrix or from a list with the scores of each label."""
    n, p = shape
    if not isinstance(raw, list):
        values = np.asarray(raw, dtype=np.float64)
        refuse_shape(estimator, name, values.shape, shape)
        return values
    if len(raw) != p or len(estimator.classes_) != p:
        raise ValueError(f"{type(estimator).__name__}.{name} must answer for the {p} labels of y; got {len(raw)}.")
    columns = []
    for given, classes in zip(raw, estimator.classes_, strict=True):
        values, at = np.asarray(given, dtype=np.float64), np.flatnonzero(np.asarray(classes) == 1)
        refuse_shape(estimator, name, values.shape, (n, len(classes)))
        # A column that is always 0 has no probability of 1, and some trees know one class only.
        columns.append(values[:, at[0]] if at.size else np.zeros(n))
    return np.column_stack(columns)


def refuse_shape(estimator: Any, name: str, found: tuple[int, ...], *wanted: tuple[int, ...]) -> None:
    """Raise ValueError for an answer of none of the shapes that are wanted."""
    if found not in wanted:
        shapes = " or ".join(map(str, wanted))
        raise ValueError(f"{type(estimator).__name__}.{name} must give an array of shape {shapes}; got {found}.")


FAR = 1e3
"""The score of a label that was the same in all training rows, up to its sign, where scores are not probabilities."""


def _has(name: str) -> Any:
    return lambda model: getattr(model.estimator, name, None) is not None


@final
class LabelwiseClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """One clone of ``estimator`` for each column of a label matrix (n, p) of 0 and 1.

    A column that is constant in training is predicted to be that constant. ``X`` goes to the clones untouched.

    Attributes
    ----------
    estimators_ : the fitted clones; a constant column has its constant, 0 or 1, instead
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, Y: NDArray[Any], **params: Any) -> Self:
        """Fit one clone for each column; ``params`` go to each of them."""
        self.estimators_ = [
            clone(self.estimator).fit(X, column, **params) if np.ptp(column) else int(column[0]) for column in Y.T
        ]
        self.classes_ = [np.array([0, 1])] * Y.shape[1]
        take_features(self, next((e for e in self.estimators_ if not isinstance(e, int)), None))
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The labels, (n, p) of 0 and 1."""
        check_is_fitted(self)
        n = _num_samples(X)
        columns = [np.full(n, e) if isinstance(e, int) else np.asarray(e.predict(X)) for e in self.estimators_]
        for column in columns:
            refuse_shape(self.estimator, "predict", column.shape, (n,), (n, 1))
        return np.column_stack(columns).astype(np.int64)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability that each label is 1, (n, p)."""
        return self._scores(X, "predict_proba", 0.0, 1.0)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of each label, (n, p)."""
        return self._scores(X, "decision_function", -FAR, FAR)

    def _scores(self, X: Any, method: str, low: float, high: float) -> NDArray[np.float64]:
        check_is_fitted(self)
        n, ends, parts = _num_samples(X), (low, high), self.estimators_
        columns = [np.full(n, ends[e]) if isinstance(e, int) else scores_of(e, X, method, 1) for e in parts]
        return np.column_stack(columns)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags.multi_label = True
        return tags


def default_classifier(X: Any) -> Any:
    """Logistic regression on scaled columns; sparse rows are not centered, so that they stay sparse."""
    return array_pipeline(StandardScaler(with_mean=not issparse(X)), LogisticRegression(max_iter=1000))


def array_pipeline(*steps: Any) -> Pipeline:
    """``make_pipeline(*steps)`` whose steps hand on arrays, as tables of pandas are never sparse."""
    return make_pipeline(*steps).set_output(transform="default")


def base_has(name: str) -> Callable[[Any], bool]:
    """Whether the base model of a choice has a method, for ``available_if``."""

    def check(model: Any) -> bool:
        return getattr(vars(model).get("estimator_", model._base(None)), name, None) is not None

    return check


def takes_matrices(estimator: Any) -> bool:
    """Whether a classifier is fitted to a label matrix as a whole."""
    return get_tags(estimator).classifier_tags.multi_label or takes_matrices_alone(estimator)


def takes_matrices_alone(estimator: Any) -> bool:
    """Whether a classifier is fitted to label matrices and to nothing else, as those of ``sklearn.multioutput``."""
    # Pipelines and searches do not hand this tag on.
    while isinstance(estimator, Pipeline | BaseSearchCV):
        estimator = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator.estimator
    return not get_tags(estimator).target_tags.single_output


def is_prefit(cv: Any) -> bool:
    """Whether the base model was fitted before."""
    return isinstance(cv, str) and cv == "prefit"


def check_prefit(estimator: Any, classes: NDArray[Any] | None) -> None:
    """Raise if a classifier is not fitted, or not to the two ``classes``; None for a label matrix."""
    if estimator is None:
        raise ValueError("estimator must be a fitted classifier with cv='prefit'; got None.")
    check_is_fitted(estimator)
    known = None if classes is None else np.asarray(estimator.classes_).tolist()
    if classes is not None and known != classes.tolist():
        raise ValueError(f"y must hold the labels {known} that the estimator was fitted with; got {classes.tolist()}.")


def weight_name(estimator: Any) -> str | None:
    """The name of the argument of ``estimator.fit`` that weighs rows; None if there is none.

    A pipeline hands weights to its last step, a search over parameters to what it searches. With metadata routing the
    estimator must have requested ``sample_weight``.
    """
    estimator = _inner(estimator)
    if get_config().get("enable_metadata_routing"):
        return "sample_weight" if get_routing_for_object(estimator).consumes("fit", ["sample_weight"]) else None
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        inner = weight_name(last)
        return None if inner is None else f"{step}__{inner}"
    if isinstance(estimator, BaseSearchCV):
        return weight_name(estimator.estimator)
    inner = estimator.estimator if isinstance(estimator, CalibratedClassifierCV) else None
    # A pipeline inside would be fitted without weights; scikit-learn warns of it.
    if inner is not None and not has_fit_parameter(inner, "sample_weight"):
        return None
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def for_share(estimator: Any, share: float) -> Any:
    """A clone to be fitted to a share of the rows, with ``C / share`` in place of the constant ``C``.

    The penalty is then as strong for each row as among all rows. This is for ``LogisticRegression``, ``LinearSVC`` and
    ``SVC``, also in pipelines and other estimators. Other models stay as they are.
    """
    found = clone(estimator)
    for one in (found, *found.get_params().values()):
        # A frozen model is not cloned, and is fitted already. Without a penalty scikit-learn warns of C.
        fresh = isinstance(one, LogisticRegression | LinearSVC | SVC) and not hasattr(one, "n_features_in_")
        if fresh and "C" in one.get_params() and getattr(one, "penalty", "") is not None:
            one.set_params(C=one.C / share)
    return found


def reads_some_columns(estimator: Any) -> bool:
    """Whether a step before the classifier may leave columns of X out, as a ``ColumnTransformer`` or a selector does.

    Searches and other estimators that hold one ``estimator`` read what that reads. Steps of other packages may, too.
    """
    if isinstance(estimator, Pipeline):
        return any(map(_may_leave_out, estimator.steps[:-1])) or reads_some_columns(estimator.steps[-1][1])
    if not isinstance(estimator, BaseEstimator):
        return False
    held = estimator.get_params(deep=False)
    several = held.get("estimators")
    inner = [held.get("estimator"), *(one[1] for one in several or () if isinstance(several, list))]
    return _chooses_steps(held) or any(isinstance(one, BaseEstimator) and reads_some_columns(one) for one in inner)


def _chooses_steps(held: Mapping[str, Any]) -> bool:
    """Whether the grid of a search, one of its parameters, holds transformers."""
    grid = held.get("param_grid", held.get("param_distributions"))
    grids = [one for one in (grid if isinstance(grid, list) else [grid]) if isinstance(one, Mapping)]
    values = [one for grid in grids for given in grid.values() if isinstance(given, list | tuple) for one in given]
    return any(hasattr(one, "transform") for one in values)


def _may_leave_out(named: tuple[str, Any]) -> bool:
    step = named[1]
    if isinstance(step, Pipeline):
        return any(map(_may_leave_out, step.steps))
    known = type(step).__module__.split(".")[0] in ("sklearn", "setwise", "builtins")
    return not known or isinstance(step, ColumnTransformer | FeatureUnion | FunctionTransformer | SelectorMixin)


def is_boosted_trees(estimator: Any) -> bool:
    """Whether the classifier of an estimator is what :func:`with_boosted_trees` puts in its place."""
    if isinstance(estimator, Pipeline):
        return is_boosted_trees(estimator.steps[-1][1])
    # To ask by the class would import the ensembles for everybody.
    return type(estimator).__name__ == "HistGradientBoostingClassifier"


def with_boosted_trees(estimator: Any) -> Any:
    """A clone of a pipeline with boosted trees as its last step, which take weights; of another estimator the trees.

    Of a search, and of others that hold one ``estimator``, it is that of this estimator. Raises Refusal for those that
    hold several.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    if isinstance(estimator, Pipeline):
        found = clone(estimator)
        found.steps[-1] = (found.steps[-1][0], with_boosted_trees(found.steps[-1][1]))
        return found
    held = estimator.get_params(deep=False)
    if _chooses_steps(held):
        why = f"cost_trees refuses {type(estimator).__name__}: its grid holds steps of a pipeline."
        raise Refusal(why, ROW_COSTS)
    if isinstance(estimator, MetaEstimatorMixin) and held.get("estimator") is not None:
        return with_boosted_trees(held["estimator"])
    if "estimators" in held:
        why = f"cost_trees refuses {type(estimator).__name__}: it holds several estimators, each with its own columns."
        raise Refusal(why, ROW_COSTS)
    trees = HistGradientBoostingClassifier(random_state=0)
    return trees.set_fit_request(sample_weight=True) if get_config().get("enable_metadata_routing") else trees


def refuse_weights(estimator: Any) -> Refusal:
    """Why ``sample_weight`` cannot be given to an estimator that has no :func:`weight_name`."""
    inner, routed = _inner(estimator), bool(get_config().get("enable_metadata_routing"))
    name = type(inner).__name__
    # Searches and pipelines hand weights on, so their own signature says nothing.
    if routed and (has_fit_parameter(inner, "sample_weight") or isinstance(inner, Pipeline | BaseSearchCV)):
        return Refusal(
            f"sample_weight cannot be given to {name}, which does not request it: with metadata routing weights go "
            "where set_fit_request(sample_weight=True) was called. Call it, or leave the weights out.",
            MEASURE_COST,
        )
    return Refusal(f"sample_weight cannot be given to {name}, whose fit takes no weights. Leave it out.", MEASURE_COST)


def routed(estimator: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of ``estimator.fit`` among those ``given``, by its requests and those of what it holds.

    A classifier that is fitted label by label gets what one of its clones requests. Without metadata routing there are
    none. Raises ``UnsetMetadataPassedError`` of scikit-learn if the estimator takes an argument of such a name, and it
    was not said whether it is to get it.
    """
    if not given or not get_config().get("enable_metadata_routing"):
        return {}
    mapping = MethodMapping().add(caller="fit", callee="fit")
    router = MetadataRouter(owner="MeasureClassifier").add(estimator=_inner(estimator), method_mapping=mapping)
    return dict(router.route_params(params=dict(given), caller="fit").estimator.fit)


def _inner(estimator: Any) -> Any:
    return estimator.estimator if isinstance(estimator, LabelwiseClassifier) else estimator


Calibration = Callable[[Values], Values]
"""A function that rises, from scores to the probabilities of positives, of the shape of the scores."""


@final
@dataclass(frozen=True)
class SigmoidCalibration:
    """``1 / (1 + exp(-(slope s + intercept)))`` with a slope of at least 0 (Platt 1999)."""

    slope: float
    intercept: float

    def __call__(self, scores: NDArray[np.float64]) -> Values:
        return np.asarray(expit(self.slope * scores + self.intercept))


@final
@dataclass(frozen=True, eq=False)
class IsotonicCalibration:
    """The steps of an isotonic regression, joined by lines, and constant outside of them.

    Parameters
    ----------
    at : (k,) scores in rising order
    values : (k,) the probabilities there
    """

    at: Values
    values: Values

    def __call__(self, scores: NDArray[np.float64]) -> Values:
        return np.interp(scores, self.at, self.values)


BLOCK = 16_384
"""Rows of which a sigmoid computes the loss at a time."""


def sigmoid(scores: Values, truth: Bools, weights: Values | None = None) -> SigmoidCalibration:
    """The sigmoid of least log loss, with the targets of Platt, that never are 0 or 1 (Platt 1999, section 2.2).

    Rows count by their weights (n,) as so many equal rows, or alike. Weights of a mean below 1 are scaled to it, since
    the targets are made for whole rows.
    """
    w = None if weights is None else weights * max(1.0, len(truth) / weights.sum())
    P, N = (float(kind.sum() if w is None else w[kind].sum()) for kind in (truth, ~truth))
    target = np.where(truth, (P + 1) / (P + 2), 1 / (N + 2))
    center, scale = scores.mean(), scores.std()
    # Scores that do not differ have the share of positives for their probability.
    if not scale > 0:
        return SigmoidCalibration(0.0, float(np.log((P + 1) / (N + 1))))
    z = (scores - center) / scale
    one = np.full(len(z), 1.0 / len(z)) if w is None else w / w.sum()
    wz = one * z
    # Sums of products are too little work to share it with other threads.
    with base_threads(scores[:1]):
        known = np.array([target @ wz, target @ one])
    # Fresh arrays of a million numbers cost more than what is computed; those of a block stay in the cache.
    blocks = [(z[at : at + BLOCK], one[at : at + BLOCK], wz[at : at + BLOCK]) for at in range(0, len(z), BLOCK)]

    def objective(line: Values) -> tuple[float, Values]:
        value, slope = -float(line @ known), -known
        for z, one, wz in blocks:
            margin = z * line[0] + line[1]
            out = np.exp(-np.abs(margin))
            value += float((np.log1p(out) + np.maximum(margin, 0.0)) @ one)
            q = np.where(margin > 0.0, 1.0, out) / (1.0 + out)
            slope = slope + np.array([q @ wz, q @ one])
        return value, slope

    start = np.array([1.0, np.log((P + 1) / (N + 1))])
    with base_threads(scores[:1]):
        found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None), (None, None)]).x
    return SigmoidCalibration(float(found[0] / scale), float(found[1] - found[0] * center / scale))


def isotonic(scores: Values, truth: Bools, weights: Values | None = None) -> IsotonicCalibration:
    """The function that rises with the scores and has the least squared error, by weights (n,) of rows if given."""
    # The estimator of scikit-learn sorts ten times as long.
    order = np.argsort(scores)
    order = order if weights is None else order[weights[order] > 0]
    s, w = scores[order], np.ones(len(order)) if weights is None else weights[order]
    first = np.flatnonzero(np.append(True, s[1:] != s[:-1]))
    at, total = s[first], np.add.reduceat(w, first)
    q = isotonic_regression(np.add.reduceat(w * truth[order], first) / total, sample_weight=total, y_min=0.0, y_max=1.0)
    # Inside a step nothing is kept.
    kept = np.append(True, q[1:] != q[:-1]) | np.append(q[1:] != q[:-1], True)
    return IsotonicCalibration(at[kept], q[kept])


@final
@dataclass(frozen=True, eq=False)
class MeanCalibration:
    """``1 / (1 + exp(-m))`` with the mean m of the log-odds of several calibrations, clipped to [least, 1 - least]."""

    parts: tuple[Calibration, ...]
    least: float

    def __call__(self, scores: NDArray[np.float64]) -> Values:
        parts = [logit(np.clip(part(scores), self.least, 1.0 - self.least)) for part in self.parts]
        return np.asarray(expit(np.mean(parts, axis=0)))


def as_is(scores: Values, truth: Bools, weights: Values | None = None) -> SigmoidCalibration:
    """The probabilities themselves, for log-odds."""
    return SigmoidCalibration(1.0, 0.0)


CALIBRATIONS: dict[str, Callable[..., Calibration]] = {"sigmoid": sigmoid, "isotonic": isotonic}
"""The ways to calibrate, by name."""
