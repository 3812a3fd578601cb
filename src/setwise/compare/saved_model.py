"""A model in a file: the fitted estimator and what applies it to new rows; loading runs no code of the file."""

import json
import sys
import warnings
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from importlib import import_module
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, Literal, final
from zipfile import ZIP_STORED, ZipFile

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, TargetEncoder
from sklearn.utils.validation import check_is_fitted

import setwise
from setwise.compare.drift import TrainingRows
from setwise.compare.frames import FreeText, columns_of, frame_of, table_of
from setwise.compare.plan import BaseModel
from setwise.compare.problem import Problem, labels_of
from setwise.compare.source import PACKAGES
from setwise.compare.stored_booster import build, with_stored_parts
from setwise.compare.trust import check_content, is_function, is_known, not_numbers, reachable
from setwise.core.checks import as_choice, as_count, as_flag, as_kind, as_limit, as_names, as_number, as_text, shown
from setwise.core.exceptions import Refusal, reason_of
from setwise.core.files import in_line, written_whole
from setwise.core.pages import OWN_MODEL
from setwise.datasets.columns import Category, Column, Cost, Number, Truth, optional, some, word
from setwise.datasets.files import as_path
from setwise.estimators.base import warn_of_version
from setwise.estimators.selection.base_models import Response
from setwise.estimators.selection.decision import RowCostRule
from setwise.estimators.selection.several_classes import log_scores
from setwise.losses.row_costs import Place

RESPONSES = ("predict_proba", "decision_function", "predict")

Labels = NDArray[np.int64]

Scores = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class SavedModel:
    """A fitted estimator with what it needs to label the rows of a file.

    Parameters
    ----------
    estimator : a classifier of scikit-learn or setwise, fitted to what ``fitted_to`` says
    classes : the names of the labels 0 and 1, of more than two classes, or of the p labels of a matrix
    loss : the name of the loss for which it was chosen; "" if it was chosen for none
    columns : the columns of the table on which it was trained, or () where features have no names
    n_features : the number of features without names
    first : the index of the first of these in svmlight, 0 or 1
    places : the features without names that the estimator reads, (k,) int64; None for all
    response : the method of the estimator that gives scores, ``"predict_proba"`` or ``"decision_function"``;
        ``"predict"`` for none
    threshold : a decision is positive if its score is at least so large; one number, or one for each of p labels. None
        leaves the decision to the method ``predict``
    many : whether the target is a label matrix
    group : the name of the column of set ids; None if there is none
    joint : whether ``predict(X, groups=groups)`` decides the rows of a group together
    training : what the training rows were, as a ``TrainingRows`` of ``setwise.compare.drift``, by which ``setwise
        predict`` says where new ones differ; None if it should not
    alarms : the greatest share of rows that it was to call positive, above which ``setwise predict`` says so; None for
        no limit
    fitted_to : ``"codes"``: X and y as the readers of files give them, numbers in an array without names, and labels 0
        and 1, (n,) or (n, p). ``"array"`` and ``"frame"``: numbers in an array, or a data frame of pandas with
        ``columns``, and labels of its own, which ``classes`` names. :func:`save_model` finds out which of these two
    offsets : of more than two classes, the numbers that are added to the scores of the classes, or to the logarithms of
        their probabilities, before the largest one decides. None leaves the decision to the method ``predict``
    version : the version of setwise that made it

    Raises
    ------
    ValueError : for fields that do not fit each other, and numbers out of range
    TypeError : for fields of another kind

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise.compare import SavedModel
    >>> X, y = np.arange(4.0).reshape(-1, 1), [0, 0, 1, 1]
    >>> fitted = LogisticRegression().fit(X, y)
    >>> model = SavedModel(fitted, ("no", "yes"), "f1", n_features=1, response="predict_proba", threshold=0.3)

    >>> labels, scores = model.decide(X)
    >>> labels.tolist(), fitted.predict(X).tolist()
    ([0, 1, 1, 1], [0, 0, 1, 1])
    """

    estimator: Any
    classes: tuple[str, ...]
    loss: str
    columns: tuple[Column, ...] = ()
    n_features: int = 0
    first: int = 1
    places: NDArray[np.int64] | None = None
    response: Literal["predict_proba", "decision_function", "predict"] = "predict"
    threshold: float | tuple[float, ...] | None = None
    many: bool = False
    group: str | None = None
    joint: bool = False
    training: TrainingRows | None = None
    alarms: float | None = None
    version: str = setwise.__version__
    fitted_to: Literal["codes", "array", "frame"] = "codes"
    offsets: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        as_kind(self.estimator, "estimator", BaseEstimator, "LogisticRegression().fit(X, y)")
        names = as_names(self.classes, "classes")
        if not as_flag(self.many, "many") and len(names) < 2:
            raise ValueError(f"classes must be 2 names or more; got {shown(self.classes)}.")
        object.__setattr__(self, "classes", names)
        as_flag(self.joint, "joint")
        if self.training is not None:
            as_kind(self.training, "training", TrainingRows, "TrainingRows.of(X, columns, groups, labels)")
        if self.alarms is not None:
            as_number(self.alarms, "alarms", low=0.0, high=1.0, open_low=True)
            if self.many:
                raise ValueError(f"alarms must be None for a label matrix; got {self.alarms!r}.")
        for name, value in {"threshold": self.threshold, "alarms": self.alarms}.items() if self.several else ():
            if value is not None:
                raise ValueError(f"{name} must be None for more than two classes; got {shown(value)}.")
        if self.offsets is not None:
            if self.response == "predict" or not isinstance(self.offsets, tuple) or len(self.offsets) != self.several:
                wanted = "None, or a number for each of more than two classes with scores"
                raise ValueError(f"offsets must be {wanted}; got {shown(self.offsets)}.")
            for number in self.offsets:
                as_number(number, "offsets")
        as_text(self.loss, "loss")
        as_text(self.version, "version")
        as_text("" if self.group is None else self.group, "group")
        as_choice(self.response, "response", RESPONSES)
        if as_choice(self.fitted_to, "fitted_to", ("codes", "array", "frame")) == "frame" and not self.columns:
            raise ValueError("fitted_to must be 'codes' or 'array' without columns; got 'frame'.")
        if not isinstance(self.columns, tuple) or not all(isinstance(column, Column) for column in self.columns):
            raise TypeError(f"columns must be a tuple of columns, as load_table gives them; got {shown(self.columns)}.")
        as_count(self.n_features, "n_features", low=0 if self.columns else 1)
        as_count(self.first, "first", low=0, high=1)
        if self.threshold is not None and self.response == "predict":
            raise ValueError("threshold must be None where response is 'predict', which gives no scores.")
        if isinstance(self.threshold, tuple) and (not self.many or len(self.threshold) != len(self.classes)):
            raise ValueError(f"threshold must be one number, or one for each label; got {shown(self.threshold)}.")
        for one in self.threshold if isinstance(self.threshold, tuple) else (self.threshold,):
            if one is not None:
                as_limit(one, "threshold")
        is_array = isinstance(self.places, np.ndarray) and self.places.ndim == 1 and self.places.dtype == np.int64
        if self.places is not None and not is_array:
            raise TypeError(f"places must be None or an int64 array of shape (k,); got {shown(self.places)}.")

    def _check_answer(self, name: str) -> None:
        """Raise Refusal unless it labels rows of numbers, as those of files are; ``name`` is the file."""
        if bad := not_numbers(self.estimator):
            raise Refusal(f"{name} cannot be saved: {bad} is NaN; fit it to rows of numbers.", OWN_MODEL)
        width = len(self.columns) or self.n_features if self.places is None else len(self.places)
        # Some steps, as SparsePCA, fail at one row.
        probe: Any = np.zeros((2, width))
        if self.fitted_to == "frame":
            probe = optional("pandas", "to read a table").DataFrame(probe, columns=[one.name for one in self.columns])
        try:
            check_content(self.estimator)
            with warnings.catch_warnings():
                warnings.filterwarnings("error", "X does not have valid feature names")
                # What is fitted to a table was tried on its rows, and may know no other words or categories.
                numbers = all(isinstance(column, Number | Truth) for column in self.columns)
                if self.fitted_to == "codes" or (numbers and self.training is None):
                    replace(self, places=None).decide(probe, np.zeros(2))
        # The estimators of others raise almost any exception.
        except Exception as error:
            why, wanted = reason_of(error), "X of load_table" if self.columns else "an array"
            way_out = f"fit it to {wanted} and to labels 0 and 1, or give save_model the classifier itself"
            if self.fitted_to != "codes":
                way_out = "give save_model the table that it was fitted to"
            raise Refusal(f"{name} cannot be saved: {why}; {way_out}.", OWN_MODEL) from None

    def _as_loaded(self) -> "SavedModel":
        """The model as it comes back from a file, with the trees of other packages as text."""
        held = replace(self, estimator=with_stored_parts(self.estimator, reachable(self.estimator)))
        for part in list(reachable(held.estimator)):
            build(part)
        return held

    @property
    def several(self) -> int:
        """The number of classes where there are more than two, else 0."""
        return len(self.classes) if len(self.classes) > 2 and not self.many else 0

    @property
    def labels(self) -> tuple[Any, Any]:
        """The negative and the positive one of two labels, which functions of a user get, as pandas reads them."""
        negative, positive = labels_of(self.classes)
        return negative, positive

    def each(self, labels: Any) -> Any:
        """Labels of several classes as 0 and 1, a column for each class (n, k); others as they are."""
        return labels[:, None] == np.arange(self.several) if self.several else labels

    @property
    def paid(self) -> list[int]:
        """The places of the columns that are the costs by which each row is decided."""
        rule = None if self.threshold is not None else getattr(_last(self.estimator), "rule_", None)
        costs = rule.costs.columns.values() if isinstance(rule, RowCostRule) else ()
        names = [cost.name if isinstance(cost, Place) else cost for cost in costs]
        return [j for j, column in enumerate(self.columns) if column.name in names]

    @property
    def unread(self) -> list[bool]:
        """For each column whether it is not read: a cost, unless each row is decided by its own costs."""
        return [isinstance(column, Cost) and j not in self.paid for j, column in enumerate(self.columns)]

    def with_single_threshold(self) -> "SavedModel":
        """The same model with the tuned threshold, which needs no costs, in place of the costs of each row."""
        estimator = deepcopy(self.estimator)
        last = _last(estimator)
        last.rule_ = last._reference
        held = replace(self, estimator=estimator)
        if held.training is None:
            return held
        # Costs that are not read are as empty columns.
        filled = np.where(held.unread, 0, held.training.filled)
        return replace(held, training=replace(held.training, called=np.zeros(0), filled=filled))

    def decide(self, X: Any, groups: NDArray[Any] | None = None) -> tuple[Labels, Scores | None]:
        """The labels 0 and 1 of the rows of X, (n,) or (n, p), and the scores of label 1 in the same shape, or None.

        Of more than two classes they are the numbers of these, (n,), and the scores are (n, k).
        ``X`` is as the reader of the file gives it, with NaN for gaps, or a data frame where it was fitted to one;
        ``groups`` are read if ``joint``.
        """
        X = X if self.places is None else X[:, self.places]
        shape = (X.shape[0], len(self.classes)) if self.many else (X.shape[0],)
        scores = self._scores(X, (*shape, self.several) if self.several else shape)
        if self.threshold is not None and scores is not None:
            return (scores >= np.asarray(self.threshold)).astype(np.int64), scores
        if self.offsets is not None and scores is not None:
            logs = log_scores(Response(scores, scores, self.response == "predict_proba"), None)
            return (logs + np.asarray(self.offsets)).argmax(axis=1), scores
        if self.joint and groups is None:
            raise ValueError("this model decides the rows of a group together; name the column of the groups.")
        labels = np.asarray(self.estimator.predict(X, groups=groups) if self.joint else self.estimator.predict(X))
        if self.fitted_to != "codes" and not self.many and labels.shape in (shape, (*shape, 1)):
            place = {one: number for number, one in enumerate(self.classes)}
            labels = np.array([place.get(word(label), -1) for label in labels.ravel().tolist()], dtype=np.int64)
        k = self.several or 2
        labels = labels.reshape(shape) if self.several and labels.shape == (*shape, 1) else labels
        if labels.shape != shape or labels.dtype.kind not in "biuf" or not np.isin(labels, np.arange(k)).all():
            wanted = "0 and 1" if k == 2 else f"0 to {k - 1}"
            raise ValueError(f"the estimator must predict labels {wanted} of shape {shape}; got {shown(labels)}.")
        return labels.astype(np.int64), scores

    def _scores(self, X: Any, shape: tuple[int, ...]) -> Scores | None:
        if self.response == "predict":
            return None
        found = getattr(self.estimator, self.response)(X)
        # Forests answer for a label matrix with a list, one array (n, classes) for each label.
        if isinstance(found, list):
            scores = np.column_stack(list(map(_of_ones, found, self.estimator.classes_)))
        else:
            scores = np.asarray(found, dtype=np.float64)
            own = self.fitted_to != "codes" and not self.many
            named = [word(one) for one in self.estimator.classes_.tolist()] if own else []
            at = named.index(self.classes[1]) if own else 1
            if own and self.several and scores.shape == shape:
                scores = scores[:, [named.index(one) for one in self.classes]]
            elif own and scores.ndim == 2 and not self.several:
                scores = scores[:, at]
            elif not self.many and not self.several and self.response == "predict_proba":
                scores = _of_ones(scores, self.estimator.classes_)
            elif at == 0 and not self.several:
                scores = -scores
        if scores.shape != shape:
            raise ValueError(f"{self.response} must give scores of shape {shape}; got {scores.shape}.")
        if np.isnan(scores).any():
            raise ValueError(f"{self.response} must give numbers; got NaN.")
        return scores


def _of_ones(probabilities: Scores, classes: NDArray[Any]) -> Scores:
    """The probabilities of the class 1, (n,); 0 where the training knew no 1. Raises ValueError for other classes."""
    known = np.asarray(classes)
    if known.dtype.kind not in "biuf" or not np.isin(known, (0, 1)).all():
        raise ValueError(f"the estimator was fitted to the labels {some(known.tolist())}, and not to 0 and 1")
    ones = np.flatnonzero(known == 1)
    return probabilities[:, ones[0]] if len(ones) else np.zeros(len(probabilities))


def save_model(
    model: Any, path: str | Path, table: Any = None, *, pos_label: Any = None, labels: Sequence[str] | None = None
) -> Path:
    """Write a model to a ``.skops`` file, which holds data and names of types, and no code.

    Parameters
    ----------
    model : a fitted classifier or pipeline of scikit-learn for classes or a label matrix, which keeps its own decision;
        or a ``SavedModel``
    path : the path of the file, which ends in ``.skops``
    table : the data frame of pandas to which the classifier was fitted; further columns, as that of the target, are
        left out. It gives the names of the columns, and which of them hold text. A classifier that reads numbers alone
        needs none. One that was fitted to texts needs their column alone, as ``table[["text"]]``. The file stores a
        hash of each row of this table, by which ``setwise tune`` recognizes it, and not the rows. If other rows chose
        the threshold, include them in the table
    pos_label : the positive one of two classes; None takes the last one of ``classes_``
    labels : the names of the p labels of a classifier that was fitted to a label matrix; None for two classes

    Returns
    -------
    path : the path of the file

    Raises
    ------
    ValueError : if the extra ``setwise[compare]`` is not installed, if the model holds a type that :func:`load_model`
        would refuse, or for a table that does not fit the model
    Refusal : a ValueError, for an estimator that is not fitted, that has other classes, or whose weights are NaN
    TypeError : for what is no classifier, no table or no path
    OSError : where the file cannot be written

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise.compare import load_model, save_model
    >>> table = pd.DataFrame({"age": [20, 30, 40, 50], "sick": ["no", "no", "yes", "yes"]})
    >>> fitted = LogisticRegression().fit(table[["age"]], table["sick"])

    >>> loaded = load_model(save_model(fitted, "model.skops", table))
    >>> loaded.classes, [column.name for column in loaded.columns]
    (('no', 'yes'), ['age'])
    >>> loaded.decide(table[["age"]])[0].tolist()
    [0, 0, 1, 1]
    """
    path = as_saved_path(path)
    name = in_line(path.name)
    if not isinstance(model, SavedModel):
        model = own_model(model, name, table, pos_label, labels)
    elif any(one is not None for one in (table, pos_label, labels)):
        raise ValueError("table, pos_label and labels must be None for a SavedModel, which holds all that it needs.")
    data = as_data(model, name)
    model._as_loaded()._check_answer(name)
    # An interruption leaves no half of a file behind, and no file that could not be loaded.
    with written_whole(path) as part:
        part.write_bytes(data)
    return path


READS_WORDS = (ColumnTransformer, OneHotEncoder, OrdinalEncoder, TargetEncoder, CountVectorizer, HashingVectorizer)
"""What may read text, so that names of columns do not tell their kinds."""

COMPARED = 1000
"""So many rows of the training table are labelled as a model does it with the same rows of a file."""


def own_model(
    model: Any, name: str, table: Any = None, pos_label: Any = None, labels: Sequence[str] | None = None
) -> SavedModel:
    """The saved model of a fitted classifier, with the arguments of :func:`save_model`; ``name`` is the file."""
    if not isinstance(model, BaseEstimator) or not hasattr(model, "predict") or isinstance(model, type):
        raise TypeError(f"model must be a fitted classifier, or a SavedModel; got {shown(model)}.")
    begin = f"{name} cannot be saved"
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError) as error:
        raise Refusal(f"{begin}: {reason_of(error)}; fit it.", OWN_MODEL) from None
    known, last = getattr(model, "classes_", None), _last(model)
    kind = getattr(getattr(last, "_label_binarizer", None), "y_type_", "")
    if known is None:
        raise Refusal(f"{begin}: {type(model).__name__} has no classes_; save a classifier.", OWN_MODEL)
    if labels is not None:
        if pos_label is not None:
            raise ValueError(f"pos_label must be None for a label matrix; got {shown(pos_label)}.")
        classes = as_names(labels, "labels")
    elif isinstance(known, list) or getattr(last, "multilabel_", False) or kind == "multilabel-indicator":
        raise Refusal(f"{begin}: it was fitted to a label matrix; name its labels, as labels=['a', 'b'].", OWN_MODEL)
    else:
        values = np.asarray(known).tolist()
        if len(values) < 2:
            raise Refusal(f"{begin}: it must have two classes or more; it has {some(values)}.", OWN_MODEL)
        if pos_label is not None and (pos_label not in values or len(values) > 2):
            wanted = f"one of the classes, {some(values)}" if len(values) == 2 else "None for more than two classes"
            raise ValueError(f"pos_label must be {wanted}; got {shown(pos_label)}.")
        classes = tuple(map(word, values[::-1] if len(values) == 2 and pos_label in values[:1] else values))
        pairs = len(classes) > 2 and any(
            getattr(part, "decision_function_shape", None) == "ovo" for part in reachable(model)
        )
        if pairs and not hasattr(model, "predict_proba"):
            wanted = "set decision_function_shape='ovr', for which it need not be fitted again"
            raise Refusal(f"{begin}: its scores are those of pairs of classes; {wanted}.", OWN_MODEL)
    response: Any = next(one for one in RESPONSES if hasattr(model, one))
    names, width = getattr(model, "feature_names_in_", None), getattr(model, "n_features_in_", None)
    columns = _columns_of(model, begin, table, names, width)
    if any(isinstance(column, FreeText | Category) for column in columns) and names is None:
        # Of a table with one column it makes the texts that the model was fitted to.
        model, names = make_pipeline(FunctionTransformer(np.ravel), model), [columns[0].name]
    found = SavedModel(
        model, classes, "", columns, 0 if columns else int(width or 0), response=response,
        many=labels is not None, fitted_to="array" if names is None else "frame",
    )  # fmt: skip
    return found if table is None else _with_training(found, begin, table)


UNNAMED = (
    "it does not tell which columns it reads; if these are texts, give their column alone, as table=table[['text']], "
    "or fit it to the table by ColumnTransformer([('text', TfidfVectorizer(), 'text')])"
)
"""What is said of a model that knows neither names nor the number of its columns."""


def _last(model: Any) -> Any:
    """The last step of a pipeline, and of one in it."""
    while isinstance(model, Pipeline):
        model = model.steps[-1][1]
    return model


def _columns_of(model: Any, begin: str, table: Any, names: Any, width: int | None) -> tuple[Column, ...]:
    """The columns that a classifier of so many features reads; () for numbers without names."""
    if table is None:
        if width is None:
            raise Refusal(f"{begin}: {UNNAMED}.", OWN_MODEL)
        if any(isinstance(part, READS_WORDS) for part in reachable(model)):
            what = "it may read words, and does not tell of which columns"
            raise Refusal(f"{begin}: {what}; give the table that it was fitted to, as table=X.", OWN_MODEL)
        return () if names is None else tuple(Number(one) for one in names.tolist())
    if names is not None:
        return columns_of(table, names.tolist())
    columns = columns_of(table, list(getattr(table, "columns", ())))
    if width is None:
        if len(columns) > 1 and any(isinstance(column, FreeText | Category) for column in columns):
            held = some([column.name for column in columns])
            raise Refusal(f"{begin}: table has {held}, and {UNNAMED}.", OWN_MODEL)
        return columns
    if len(columns) != width or not all(isinstance(column, Number | Truth) for column in columns):
        wanted = f"the {width} columns of numbers that the model was fitted to, since the model has no names of its own"
        raise ValueError(f"table must have {wanted}; it has {some([column.name for column in columns])}.")
    return columns


def _with_training(model: SavedModel, begin: str, table: Any) -> SavedModel:
    """The model with what is known of its training rows; Refusal where it labels rows of a file otherwise."""
    table = table[[column.name for column in model.columns]]
    X, given = table_of(table).codes(model.columns), table.iloc[:COMPARED]
    is_frame = model.fitted_to == "frame"
    as_read = frame_of(table_of(given), model.columns) if is_frame else X[:COMPARED]
    try:
        known = model.decide(given if is_frame else given.to_numpy(dtype=np.float64))[0]
        same = np.array_equal(known, model._as_loaded().decide(as_read)[0])
    # The estimators of others raise almost any exception.
    except Exception as error:
        way_out = "give the data frame that it was fitted to, as table"
        raise Refusal(f"{begin}: {reason_of(error)}; {way_out}.", OWN_MODEL) from None
    if not same:
        why = "it labels rows otherwise when they are read from a file"
        raise Refusal(f"{begin}: {why}; fit it to a table of numbers, truth values and text.", OWN_MODEL)
    return replace(model, training=TrainingRows.of(X, model.columns, None, np.zeros((len(X), 0))))


def as_data(held: Any, name: str) -> bytes:
    """What skops writes of an object, with the trees of other packages as text; ValueError for one that
    :func:`load_model` would refuse. ``name`` is the file.
    """
    skops = optional("skops.io", f"to save {name}")
    try:
        data = bytes(skops.dumps(with_stored_parts(held, reachable(held))))
        _refuse_unknown(skops, data)
    except (TypeError, ValueError) as error:
        way_out = (
            "use what scikit-learn or NumPy has instead, or write the model with joblib.dump, whose files may run code"
        )
        raise ValueError(f"{name} cannot be saved: {str(error).rstrip('.')}; {way_out}.") from None
    return data


def refuse_unsaved(base: BaseModel, problem: Problem, name: str) -> None:
    """Raise ValueError for a base model that could not be saved as data; some rows are fitted to know."""
    y = problem.y.reshape(len(problem.y), -1)[:, 0]
    rows = np.sort(np.concatenate([np.flatnonzero(y == label)[:TRIED] for label in range(problem.several or 2)]))
    fitted = base.build(problem, None, 0).fit(problem.X[rows], y[rows])
    try:
        as_data(fitted, name)
    except ValueError as error:
        raise ValueError(f"--save and --base {base.name} do not go together: {error}") from None


TRIED = 50
"""Rows with each label to which a base model is fitted to know whether it can be saved."""


def load_model(path: str | Path) -> SavedModel:
    """Read a model that :func:`save_model` wrote. No code of the file is run, and types that are unknown are refused.

    Known are the classes of setwise and of scikit-learn that are written in Python, and plain types of NumPy and SciPy.
    Trees are checked, since scikit-learn follows their nodes blindly. Classes of setwise are looked for by their names,
    whatever modules have them by now. Warns (``InconsistentVersionWarning``) if another version of setwise or
    scikit-learn made the model.

    Parameters
    ----------
    path : the path of a ``.skops`` file

    Returns
    -------
    SavedModel
        The model, whose fields are checked as those of a new one

    Raises
    ------
    ValueError, OSError : with one sentence, for a file that is damaged, or holds something else or weights that are NaN
    TypeError : for what is no path

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise.compare import SavedModel, load_model, save_model
    >>> X, y = np.arange(4.0).reshape(-1, 1), [0, 0, 1, 1]
    >>> fitted = LogisticRegression().fit(X, y)
    >>> model = SavedModel(fitted, ("no", "yes"), "f1", n_features=1, response="predict_proba", threshold=0.3)

    >>> again = load_model(save_model(model, "model.skops"))
    >>> again.decide(X)[0].tolist()
    [0, 1, 1, 1]
    """
    path = as_saved_path(path)
    name = in_line(path.name)
    skops = optional("skops.io", f"to read {name}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {in_line(str(path))}.")
    try:
        data = _with_homes(path)
        found = skops.loads(data, trusted=_refuse_unknown(skops, data))
        if not isinstance(found, SavedModel):
            way_out = "read it with skops.io.load, and write it with setwise.compare.save_model(model, path, table)"
            raise ValueError(f"it holds {type(found).__name__}; {way_out}, with the table that it was fitted to")
        check_content(found)
        if bad := not_numbers(found):
            raise ValueError(f"{bad} is NaN")
        for part in list(reachable(found)):
            build(part)
        # The fields are checked as those of a new object are.
        model = replace(found)
        training = model.training and replace(model.training)
        model = replace(model, columns=tuple(map(replace, model.columns)), training=training)
    except OSError:
        raise
    # Damaged bytes make the readers raise almost any exception.
    except Exception as error:
        raise ValueError(f"{name} is not a model saved by setwise: {in_line(reason_of(error)[:300])}.") from None
    warn_of_version("SavedModel", model.version)
    return model


def as_saved_path(path: Any) -> Path:
    """``path`` if it is the path of a ``.skops`` file."""
    found = as_path(path)
    if found.suffix.lower() != ".skops":
        raise ValueError(f"the path of a model must end in .skops, as save_model writes it; got {found.name!r}.")
    return found


def _with_homes(path: Path) -> bytes:
    """A copy of an archive, which names classes of setwise by the modules that have them in this version."""
    copy = BytesIO()
    with ZipFile(path) as held, ZipFile(copy, "w", ZIP_STORED) as written:
        if sum(info.file_size for info in held.infolist()) > path.stat().st_size:
            raise ValueError("its members are compressed, or overlap")
        for info in held.infolist():
            data = held.read(info)
            if info.filename == "schema.json":
                data = json.dumps(json.loads(data, object_hook=_at_home), indent=2).encode()
            written.writestr(info.filename, data)
    return copy.getvalue()


def _at_home(node: dict[str, Any]) -> dict[str, Any]:
    """A node of a schema with the module of its class; a name in a file imports nothing but our packages."""
    name = str(node.get("__class__"))
    if node.get("__loader__") != "FunctionNode" and is_function(f"{node.get('__module__')}.{name}"):
        raise ValueError(f"it calls a function, {name}")
    if node.get("__loader__") == "DictNode" and any(
        one["__loader__"] != "TypeNode" for one in node["key_types"]["content"]
    ):
        raise ValueError("it calls the type of a key that is no type")
    if str(node.get("__module__")).split(".")[0] != "setwise":
        return node
    public = (getattr(held, name).__module__ for held in map(import_module, PACKAGES) if name in held.__all__)
    loaded = ((home, vars(held).get(name)) for home, held in list(sys.modules.items()) if home.startswith("setwise."))
    parts = (home for home, found in loaded if getattr(found, "__module__", None) == home)
    return node | {"__module__": next(chain(public, parts), node["__module__"])}


def _refuse_unknown(skops: Any, data: bytes) -> list[str]:
    """The types of an archive to trust; ValueError for one that is not known."""
    found = list(skops.get_untrusted_types(data=data))
    if unknown := [kind for kind in found if not is_known(kind)]:
        raise ValueError(f"it names what is no class of setwise or scikit-learn: {some(unknown)}")
    return found
