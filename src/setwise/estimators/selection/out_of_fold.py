"""What a base model says about rows that it did not see, computed once for all strategies and measures.

Responses are kept in a checkpoint as plain arrays. Beside them strategies may read dense tables of numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import InitVar, dataclass
from itertools import combinations
from time import perf_counter
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy.sparse import issparse
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from setwise.core.attributes import cached_property
from setwise.core.checkpoint import OpenCheckpoint, fingerprint, opened
from setwise.core.checks import Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.pages import HOW_THE_CHOICE_IS_MADE, ROW_COSTS
from setwise.estimators.base import base_threads
from setwise.estimators.checkpoints import described, of_rows, table_parts
from setwise.estimators.selection.base_models import (
    Response,
    for_share,
    is_boosted_trees,
    reads_some_columns,
    respond,
    weight_name,
    with_boosted_trees,
)
from setwise.estimators.selection.strategies import Base, Evidence, TreesByCosts, Weight
from setwise.estimators.splits import Folds
from setwise.losses.row_costs import RowCosts

if TYPE_CHECKING:
    from setwise.estimators.selection.problem import SelectionProblem


def as_numbers(X: Any, codes: Sequence[int] = ()) -> Values | None:
    """``X`` as float64 (n, d) with NaN for gaps, without the columns that hold ``codes`` of words.

    None if it is sparse, or holds text, categories or inf, or if no column is left.
    """
    if issparse(X):
        return None
    kinds = getattr(X, "dtypes", None)
    # Categories of pandas may look like numbers, but their differences mean nothing.
    if kinds is not None and any(getattr(kind, "kind", "O") not in "biuf" for kind in np.ravel(kinds)):
        return None
    try:
        # Columns of several kinds, and those that know NA, are cast one by one.
        table = np.asarray(X) if kinds is None else X.to_numpy(dtype=np.float64, na_value=np.nan)
    except (AttributeError, TypeError, ValueError):
        return None
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        return None
    with np.errstate(over="ignore"):
        numbers = table.astype(np.float64)
    numbers = numbers[:, [place for place in range(numbers.shape[1]) if place not in codes]]
    return None if np.isinf(numbers).any() or not numbers.shape[1] else numbers


def codes_of(estimator: Any) -> list[int]:
    """The columns of X that a :class:`~setwise.estimators.TableEncoder` in front of an estimator reads as words.

    It is found as the first step of pipelines, and inside searches and other estimators that hold one ``estimator``.
    The differences of such codes mean nothing, and other names of the words would change them.
    """
    # To ask by the class would import the readers of raw tables for everybody.
    while not hasattr(estimator, "_word_places"):
        if isinstance(estimator, Pipeline):
            estimator = next((step for _, step in estimator.steps if step not in (None, "passthrough")), None)
        elif isinstance(estimator, MetaEstimatorMixin):
            estimator = estimator.get_params(deep=False).get("estimator")
        else:
            return []
    places: list[int] = estimator._word_places()
    return places


@final
@dataclass(frozen=True, eq=False)
class ColumnScaling:
    """``(x - mean) / deviation`` for each column, with 0 where x is missing or the column was constant.

    Parameters
    ----------
    mean : (d,)
    deviation : (d,), 0 for a column that was constant or empty
    """

    mean: Values
    deviation: Values

    @classmethod
    def of(cls, table: Values) -> "ColumnScaling":
        """The means and deviations of the columns of a table (n, d), gaps left out."""
        there = ~np.isnan(table)
        count = np.maximum(there.sum(axis=0), 1)
        mean = np.where(there, table, 0.0).sum(axis=0) / count
        deviation = np.sqrt((np.where(there, table - mean, 0.0) ** 2).sum(axis=0) / count)
        # Rounding leaves a tiny deviation in a constant column.
        return cls(mean, np.where(deviation > 1e-12 * np.abs(mean), deviation, 0.0))

    def __call__(self, table: Values) -> Values:
        """The scaled table, (n, d)."""
        usable = (self.deviation > 0) & ~np.isnan(table)
        scale = np.where(self.deviation > 0, self.deviation, 1.0)
        return np.where(usable, (table - self.mean) / scale, 0.0)


NOT_SAID = frozenset({"cv", "strategies", "n_jobs", "random_state", "store_cv_results", "outer_cv"})
"""Parameters of which the responses do not depend; ``cv`` and ``random_state`` are said as the folds that they made."""


@final
class KeptResponses:
    """The responses of one base model on some rows and folds, by names; without a checkpoint none are kept.

    Parameters
    ----------
    kept : the part of a checkpoint, or None
    shape : the shape of the scores, (n,) or (n, p)
    several : whether the scores are those of more than two classes, (n, k)
    """

    def __init__(self, kept: OpenCheckpoint | None, shape: tuple[int, ...], several: bool = False) -> None:
        self._kept, self._shape, self._several = kept, shape, several

    def get(self, name: str) -> Response | None:
        """The response of this name, or None; ValueError if what the checkpoint holds is none."""
        if self._kept is None:
            return None
        found = self._kept.part(name).arrays
        if not found:
            return None
        labels, scores = found.get("labels"), found.get("scores")
        kind = np.int64 if self._several else np.bool_
        fits = _is(labels, kind, self._shape[:1] if self._several else self._shape)
        fits = fits and _is(scores, np.float64, self._shape)
        if not fits or not _is(found.get("probability"), np.bool_, ()):
            raise ValueError(f"{self._kept.name} is not a checkpoint of this fit: its {name} has a different shape.")
        return Response(np.array(labels), np.array(scores), bool(found["probability"]))

    def put(self, name: str, response: Response) -> None:
        """Keep a response, and write the file if it is time to."""
        if self._kept is not None:
            probability = np.array(response.probability)
            arrays = {"labels": response.labels, "scores": response.scores, "probability": probability}
            self._kept.part(name).put(arrays)
            if self._kept.due:
                self._kept.write()


@contextmanager
def open_for_choice(
    model: Any, problem: Any, folds: Folds, sample_weight: Any, checkpoint: Any, resume: bool
) -> Iterator[OpenCheckpoint | None]:
    """The checkpoint that ``fit(checkpoint=..., resume=...)`` of ``model`` asks for, or None; written at the end.

    Raises ValueError where nothing would be kept, and for the file of another fit.
    """
    if checkpoint is not None and isinstance(model.cv, str):
        raise ValueError("checkpoint must be None with cv='prefit', where no fit is made that could be kept.")

    def about() -> dict[str, str]:
        rows = of_rows(problem.X, problem.target, problem.ids, sample_weight)
        params = model.get_params(deep=False).items()
        said = {name: described(value) for name, value in params if name not in NOT_SAID}
        cut = fingerprint(*(part for fold in folds for part in fold))
        return {"class": type(model).__name__, **rows, **said, "folds": cut}

    kept = opened(checkpoint, resume, about)
    try:
        yield kept
    finally:
        if kept is not None:
            kept.write()


def _is(array: Any, kind: Any, shape: tuple[int, ...]) -> bool:
    return array is not None and array.dtype == kind and array.shape == shape


@final
@dataclass(eq=False, repr=False)
class OutOfFoldBase(Base):
    """The responses of a base model to each training row, from fits on the other folds; and its fit on all rows.

    Responses and fits are kept, also those of the models with weighted positives, so that no fit is made twice. They do
    not depend on a measure.

    Parameters
    ----------
    estimator : a classifier, which is cloned; or the fitted one where ``prefit`` is True
    problem : the rows, which are handed to the classifier as they are, their target, and the truth
    folds : the training and test rows of each fold; each row is in one test fold, or in none
    response_method : ``"auto"``, ``"predict_proba"`` or ``"decision_function"``
    fit_params : arrays (n,) that go to ``fit`` row by row, by name
    weight_name : the name under which ``fit`` takes weights of rows; None if it takes none
    prefit : whether the classifier is fitted already, on other rows
    n_jobs : the number of processes that share the folds
    kept : the part of a checkpoint that keeps the responses, and gives those that an earlier run has made; or None
    same_penalty : whether models of folds have a penalty as strong for each row as the model of all rows. Otherwise
        this model is penalized less, so that its scores spread more, and a share at a threshold is another one
    """

    estimator: Any
    problem: "SelectionProblem"
    folds: Folds
    response_method: str
    fit_params: Mapping[str, Any]
    weight_name: str | None
    prefit: bool
    n_jobs: int | None
    kept: InitVar[OpenCheckpoint | None]
    same_penalty: bool = False

    def __post_init__(self, kept: OpenCheckpoint | None) -> None:
        self.X, self.target, self.truth = self.problem.X, self.problem.target, self.problem.task.truth
        # The number of labels of a row, or None for one label.
        self.outputs = None if self.truth.ndim == 1 else self.truth.shape[1]
        self.name = type(self.estimator).__name__
        several = self.problem.task.classes
        fitted_here = self.truth.ndim == 1 and not self.prefit and not several
        self.weighable = self.weight_name is not None and fitted_here
        self.replaceable = fitted_here and not is_boosted_trees(self.estimator)
        self._shape = (len(self.truth), several) if several else self.truth.shape
        self.seconds = 0.0
        self._responses: dict[Weight, Response] = {}
        self._without: tuple[Response, ...] = ()
        # The responses of a model that was fitted before cost one prediction.
        held = None if self.prefit or kept is None else kept.part(self._text())
        self._kept = KeptResponses(held, self._shape, bool(several))
        self._fitted: dict[Weight, Any] = {1.0: self.estimator} if self.prefit else {}

    @cached_property
    def numbers(self) -> Values | None:
        """The numbers of the rows as :func:`as_numbers` gives them; None if the base model may leave columns out."""
        return None if reads_some_columns(self.estimator) else as_numbers(self.X, codes_of(self.estimator))

    @cached_property
    def tested(self) -> Ints:
        """The rows that are in a test fold, (m,); of the others nothing is known out of fold."""
        return (
            np.sort(np.concatenate([test for _, test in self.folds])) if not self.prefit else np.arange(len(self.truth))
        )

    def prepare(self, weights: tuple[Weight, ...] = (1.0,)) -> None:
        """Make the fits for these weights that are not there yet, in parallel over the folds."""
        for weight in weights:
            # Costs of rows are those of one loss, and their responses are not kept.
            known = weight in self._responses or isinstance(weight, RowCosts | TreesByCosts)
            found = None if known else self._kept.get(f"weight {weight!r}")
            if found is not None:
                self._responses[weight] = found
        missing = [weight for weight in weights if weight not in self._responses]
        if not missing:
            return
        start = perf_counter()
        if self.prefit:
            self._responses[1.0] = self._respond(self.estimator, self.X)
            return
        # The fit on all rows is made along with the folds: most choices need it, and trees may fail there alone.
        whole = [weight for weight in missing if weight == 1.0 or isinstance(weight, TreesByCosts)]
        jobs = [(w, train, test) for w in missing for train, test in self.folds]
        every = np.arange(len(self.truth))
        results = _fits([(self, w, every, None) for w in whole] + [(self, *job) for job in jobs], self.n_jobs)
        self._fitted.update(zip(whole, results, strict=False))
        for i, weight in enumerate(missing):
            parts = results[len(whole) + i * len(self.folds) :][: len(self.folds)]
            tests = [test for _, test in self.folds]
            self._responses[weight] = self._joined(list(zip(tests, parts, strict=True)))
            if not isinstance(weight, RowCosts | TreesByCosts):
                self._kept.put(f"weight {weight!r}", self._responses[weight])
        self.seconds += perf_counter() - start

    def response(self, weight: Weight = 1.0) -> Response:
        """The response to each training row of a model that did not see it."""
        self.prepare((weight,))
        return self._responses[weight]

    def response_without(self, fold: int) -> Response:
        """The response to the training rows of a fold by models that saw neither the row nor the test rows of the fold.

        The other responses to these rows come from models that saw the test rows of the fold. A rule with many numbers
        that is tuned on them can read off these labels, and looks far too good on the fold: a linear stack on linear
        log-odds gained .14 of F1 so, and nothing on new rows. One model for each pair of folds avoids it. Raises
        Refusal where two folds hold too much.
        """
        self.prepare()
        if self.prefit:
            return self._responses[1.0]
        if not self._without:
            known = [self._kept.get(f"without {k}") for k in range(len(self.folds))]
            self._without = tuple(one for one in known if one is not None)
        if len(self._without) < len(self.folds):
            self._without = self._by_pairs()
            for k, one in enumerate(self._without):
                self._kept.put(f"without {k}", one)
        return self._without[fold]

    def _text(self) -> str:
        """The fingerprint of all that the responses depend on."""
        extra = [part for name in sorted(self.fit_params) for part in (name, self.fit_params[name])]
        folds = [rows for fold in self.folds for rows in fold]
        ask = (described(self.estimator), self.response_method, repr(self.problem.positive), repr(self.same_penalty))
        return fingerprint(*table_parts(self.X), self.target, self.truth, *folds, *extra, *ask)

    def _by_pairs(self) -> tuple[Response, ...]:
        start = perf_counter()
        pairs = list(combinations(range(len(self.folds)), 2))
        train, test = zip(*self.folds, strict=True)
        rows = [np.intersect1d(train[f], train[g]) for f, g in pairs]
        for left in rows:
            if not len(left) or self.truth[left].all() or not self.truth[left].any():
                raise Refusal(
                    f"{len(self.folds)} folds are too few for a strategy that fits many numbers: without two of them "
                    f"{len(left)} rows of fewer than two classes are left to train on. Use more folds.",
                    HOW_THE_CHOICE_IS_MADE,
                )
        jobs = [(self, 1.0, left, np.concatenate([test[f], test[g]])) for left, (f, g) in zip(rows, pairs, strict=True)]
        parts = _fits(jobs, self.n_jobs)
        found: list[list[tuple[Ints, Response]]] = [[] for _ in self.folds]
        for (f, g), part in zip(pairs, parts, strict=True):
            places = np.arange(len(part.labels))
            found[g].append((test[f], part.take(places[: len(test[f])])))
            found[f].append((test[g], part.take(places[len(test[f]) :])))
        self.seconds += perf_counter() - start
        return tuple(self._joined(answers) for answers in found)

    def fitted(self, weight: Weight = 1.0) -> Any:
        """The base model fitted on all rows."""
        if weight not in self._fitted:
            start = perf_counter()
            self._fitted[weight] = _fit(self, weight, np.arange(len(self.truth)), None)
            self.seconds += perf_counter() - start
        return self._fitted[weight]

    def held_out(self, rows: Ints | None = None, without: int | None = None) -> Evidence:
        """What is known of some training rows, or of all that were tested, by models that did not see them.

        With ``without`` these models did not see the test rows of that fold either.
        """
        return HeldOutEvidence(self, self.tested if rows is None else rows, without)

    def fresh(self, X: Any, groups: Ints | None = None) -> Evidence:
        """What the model of all rows says about new rows."""
        return NewRowsEvidence(self.fitted, X, groups, self.response_method, self.problem.positive, self.outputs)

    def _respond(self, model: Any, X: Any) -> Response:
        return respond(model, X, self.response_method, self.problem.positive, self.outputs)

    def _joined(self, parts: Sequence[tuple[Ints, Response]]) -> Response:
        """One response from those to some rows each."""
        labels, scores = np.zeros_like(self.truth), np.zeros(self._shape)
        for rows, part in parts:
            labels[rows], scores[rows] = part.labels, part.scores
        return Response(labels, scores, parts[0][1].probability)

    def __getstate__(self) -> dict[str, Any]:
        # Workers need the data alone, not what other workers found.
        none = KeptResponses(None, self._shape)
        return {**self.__dict__, "_responses": {}, "_without": (), "_fitted": {}, "numbers": None, "_kept": none}


_Job = tuple[OutOfFoldBase, Weight, Ints, Ints | None]


def _fits(jobs: Sequence[_Job], n_jobs: int | None) -> list[Any]:
    """What :func:`_fit` returns for each job."""
    found: list[Any] = Parallel(n_jobs=n_jobs)(delayed(_fit)(*job) for job in jobs)
    return found


def _fit(source: OutOfFoldBase, weight: Weight, train: Ints, test: Ints | None) -> Any:
    """Fit on the rows ``train``; return the response to the rows ``test``, or the fitted model."""
    params = {name: _safe_indexing(values, train) for name, values in source.fit_params.items()}
    X, y, empty = _safe_indexing(source.X, train), source.target[train], list[int]()
    estimator, name = source.estimator, source.weight_name
    if isinstance(weight, TreesByCosts):
        estimator = with_boosted_trees(source.estimator)
        name = weight_name(estimator)
    if source.same_penalty and test is not None:
        mass = source.fit_params.get(source.weight_name or "", np.ones(len(source.truth)))
        estimator = for_share(estimator, mass[train].sum() / mass.sum())
    if weight != 1.0:
        assert name is not None
        own = np.ones(len(train)) if source.weight_name is None else params.pop(source.weight_name, np.ones(len(train)))
        if isinstance(weight, float):
            costs = np.where(source.truth[train], weight, 1.0)
        else:
            of_all = weight.costs if isinstance(weight, TreesByCosts) else weight
            y, costs = _by_costs(source, of_all.of_rows(train), train)
        params[name] = costs * own
    with base_threads(X), _told_of_constant_labels(source, train), _told_of_trees(weight):
        try:
            model = clone(estimator).fit(X, y, **params)
        except ValueError as error:
            empty, model = _without_empty_columns(source, estimator, X, y, params, error, test is None)
    return model if test is None else source._respond(model, _constant(_safe_indexing(source.X, test), empty))


@contextmanager
def _told_of_trees(weight: Weight) -> Iterator[None]:
    """Refuse boosted trees in place of the base model where they cannot be fitted, as to columns of other kinds."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if not isinstance(weight, TreesByCosts) or isinstance(error, Refusal):
            raise
        why = f"cost_trees is refused, because boosted trees cannot be fitted here: {error}"
        raise Refusal(why, ROW_COSTS) from error


def _by_costs(source: OutOfFoldBase, costs: RowCosts, rows: Ints) -> tuple[Any, Values]:
    """The cheaper label of each of some rows, and its mean-one weight: what the other one costs more."""
    zero, one = costs.of_labels(source.truth[rows])
    more, labels = np.abs(one - zero), np.unique(source.target)
    flipped = (one < zero) != source.truth[rows]
    if (one < zero).all() or not (one < zero).any():
        raise Refusal(
            f"these costs weigh no rows: in {len(rows)} training rows the same label is the cheaper one for all, "
            "so there is nothing to learn.",
            ROW_COSTS,
        )
    other = np.where(source.target[rows] == labels[0], labels[1], labels[0])
    # Regularizers and leaves of trees are meant for weights of about 1.
    return np.where(flipped, other, source.target[rows]), more / max(float(more.mean()), 1e-300)


FEW = 20
"""Models that set rows aside, or draw them, may see no value of a column that has fewer than so many."""


def _without_empty_columns(
    source: OutOfFoldBase, estimator: Any, X: Any, y: Any, params: Mapping[str, Any], error: ValueError, kept: bool
) -> tuple[list[int], Any]:
    """The columns without a value in ``X``, and the model fitted to 0 in them, from which nothing can be learned.

    Boosted trees of scikit-learn refuse such columns. Raises the error where it has another cause, and names the column
    where that has few values, or where the model is ``kept`` for new rows.
    """
    counts = _values_held(X)
    held = {place: count for place, count in counts.items() if count < len(X)}
    # Of a table without any value, or of a few rows, the error itself says more.
    for most in () if not any(counts.values()) else (0,) if len(X) <= FEW else (0, FEW - 1):
        places = sorted((place for place in held if held[place] <= most), key=lambda place: held[place])
        try:
            model = clone(estimator).fit(_constant(X, places), y, **params) if places else None
        except ValueError:
            continue
        if model is None:
            continue
        if kept or most:
            raise ValueError(_too_empty(source, X, places[0])) from error
        return places, model
    raise error


def _values_held(X: Any) -> dict[int, int]:
    """How many values each column of a frame, or of an array of numbers, holds, by its place; none of other rows."""
    if hasattr(X, "isetitem"):
        return dict(enumerate(X.notna().sum().tolist()))
    is_table = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
    return dict(enumerate((~np.isnan(X)).sum(axis=0).tolist())) if is_table else {}


def _constant(X: Any, places: Sequence[int]) -> Any:
    """A copy of a table with 0 in all rows of the columns at these places; the table itself where there are none."""
    if not places:
        return X
    X = X.copy()
    for place in places:
        if hasattr(X, "isetitem"):
            X.isetitem(place, np.zeros(len(X)))
        else:
            X[:, place] = 0.0
    return X


def _too_empty(source: OutOfFoldBase, X: Any, place: int) -> str:
    """The refusal of a column that holds too few values for the model."""
    held = _values_held(X)[place]
    name = f"column {str(X.columns[place])!r}" if hasattr(X, "columns") else f"column {place}"
    part = "" if len(X) == len(source.truth) else f"{len(X)} of "
    return (
        f"{source.name} cannot be fitted to {part}the {len(source.truth)} rows, where {name} is NaN in all "
        f"{f'but {held}' if held else 'of them'}: leave out that column, or fill its gaps."
    )


@contextmanager
def _told_of_constant_labels(source: OutOfFoldBase, train: Ints) -> Iterator[None]:
    """Say of an error of a fit that some label of a matrix has one value only in the rows ``train``, if it is so."""
    try:
        yield
    except ValueError as error:
        truth = source.truth[train]
        constant: Ints = np.flatnonzero((truth == truth[:1]).all(axis=0)) if truth.ndim == 2 else np.zeros(0, np.int64)
        if not len(constant):
            raise
        raise ValueError(
            f"{source.name} cannot be fitted to {len(train)} of the {len(source.truth)} rows, where the label in "
            f"column {constant[0]} has one value only: give more rows, or leave out that label."
        ) from error


@final
class HeldOutEvidence(Evidence):
    """The responses to training rows from models that did not see them."""

    def __init__(self, source: OutOfFoldBase, rows: Ints, without: int | None) -> None:
        self._source, self._rows, self._without = source, rows, without
        groups = source.problem.task.groups
        self.groups = None if groups is None else groups[rows]

    def response(self, weight: Weight = 1.0) -> Response:
        if self._without is not None and weight == 1.0:
            return self._source.response_without(self._without).take(self._rows)
        return self._source.response(weight).take(self._rows)

    @property
    def numbers(self) -> Values | None:
        table = self._source.numbers
        return None if table is None else table[self._rows]


@final
class NewRowsEvidence(Evidence):
    """The responses to new rows from models of all training rows."""

    def __init__(
        self, models: Any, X: Any, groups: Ints | None, response_method: str, positive: Any, outputs: int | None
    ) -> None:
        self._models, self._X, self.groups = models, X, groups
        self._ask = (response_method, positive, outputs)
        self._responses: dict[Weight, Response] = {}

    def response(self, weight: Weight = 1.0) -> Response:
        if weight not in self._responses:
            self._responses[weight] = respond(self._models(weight), self._X, *self._ask)
        return self._responses[weight]

    @property
    def numbers(self) -> Values | None:
        return as_numbers(self._X, codes_of(self._models(1.0)))
