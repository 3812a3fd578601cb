"""Sets of decisions, made from the X, y and groups of scikit-learn, and the checks of targets and of ids."""

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from setwise.core.batch import Classes, Sets
from setwise.core.checks import Values, as_row_weights, refuse_masked, shown
from setwise.core.loss import Loss
from setwise.core.risk import Features
from setwise.losses.row_costs import RowCosts
from setwise.models import MultilabelModel, RowModel

KINDS = "biufUSOmM"
"""The kinds of NumPy arrays that may hold labels and ids: numbers, text, dates, and objects that are such."""


def as_target(y: Any, name: str = "y") -> NDArray[Any]:
    """``y`` as an array of labels of one kind, without a cast that would make different labels equal.

    Raises
    ------
    ValueError : for sparse matrices, ragged sequences, missing or masked values, and labels of several kinds
    """
    refuse_masked(y, name)
    if y is None or issparse(y):
        what = "None" if y is None else "a sparse matrix: pass Y.toarray()"
        raise ValueError(f"{name} must be a dense array of labels, (n,) or (n, p); got {what}.")
    try:
        array = np.asarray(y)
    except ValueError:
        raise ValueError(f"{name} must be an array of labels, (n,) or (n, p); got a ragged sequence.") from None
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold numbers, text or dates.")
    if array.dtype.kind not in KINDS:
        raise ValueError(f"{name} must hold numbers, text or dates; got dtype {array.dtype}.")
    array = _plain(array, name) if array.dtype.kind == "O" else array
    # NumPy turns numbers into text if they are in one list with text.
    if array.dtype.kind == "O" or (array.dtype.kind in "US" and isinstance(y, list | tuple)):
        kinds = {_kind(value) for value in np.asarray(y, dtype=object).ravel().tolist()}
        if "text" in kinds and len(kinds) > 1:
            raise ValueError(f"{name} must hold labels of one type; got {' and '.join(sorted(kinds))}.")
    if array.dtype.kind in "mM" and np.isnat(array).any():
        raise ValueError(f"{name} must not hold NaT.")
    return array


def as_target_like(y: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """``y`` as labels in the shape of the predictions; a single column is taken for a vector, as scikit-learn does."""
    target = as_target(y)
    if len(shape) == 1 and target.ndim == 2 and target.shape[1] == 1:
        target = target.ravel()
    if target.shape != shape:
        raise ValueError(f"y must have the shape of predict(X), {shape}; got shape {target.shape}.")
    return target


def as_known(y: Any, shape: tuple[int, ...], known: list[Any]) -> NDArray[Any]:
    """``y`` as labels among those ``known``, in the shape of the predictions; ValueError for others."""
    target = as_target_like(y, shape)
    refuse_unknown(target.ravel().tolist(), known)
    return target


def refuse_unknown(labels: list[Any], known: list[Any]) -> None:
    """Raise ValueError for labels that were not fitted."""
    odd = [label for label in labels if label not in known]
    if odd:
        raise ValueError(f"y must hold the labels {known} that were fitted; got {odd[0]!r}.")


def labels_of(y: Any, target: NDArray[Any], pos_label: Any) -> NDArray[Any]:
    """The labels of a target (n,), the positive one of two last; of a label matrix ``y`` the names of its columns."""
    if target.ndim != 2 or target.shape[1] < 2:
        return classes_of(target, pos_label)
    if pos_label is not None:
        raise ValueError(f"pos_label must be None where y is a label matrix; got {pos_label!r}.")
    return column_names(y, target.shape[1])


def column_names(y: Any, p: int) -> NDArray[Any]:
    """The names of the p columns of a table, or 0..p-1 if they have no names."""
    names = getattr(y, "columns", None)
    if names is None or len(names) != p or not all(isinstance(name, str) for name in names):
        return np.arange(p)
    return np.array([str(name) for name in names])


def as_ids(groups: Any, n: int, unit: str = "row") -> NDArray[np.int64]:
    """The numbers 0, 1, 2, ... of the sorted distinct ids, (n,); different ids get different numbers.

    Raises
    ------
    ValueError : for missing or masked ids, a wrong shape, and ids of several types or of a type that cannot be sorted
    """
    refuse_masked(groups, "groups")
    try:
        ids = np.asarray(groups)
    except ValueError:
        raise ValueError(f"groups must be plain ids, one for each {unit}; got a ragged sequence.") from None
    if ids.shape != (n,):
        raise ValueError(f"groups must have shape ({n},), one for each {unit}; got shape {ids.shape}.")
    if ids.dtype.kind not in KINDS:
        raise ValueError(f"groups must be numbers, text or dates; got dtype {ids.dtype}.")
    if ids.dtype.kind in "mM" and np.isnat(ids).any():
        raise ValueError("groups must not hold NaT.")
    if ids.dtype.kind == "f" and not np.isfinite(ids).all():
        raise ValueError("groups must not hold NaN or inf.")
    if isinstance(groups, list | tuple) or ids.dtype.kind == "O":
        # NumPy would cast a list of several kinds to one: 1 and "1" would be equal, and so would 2^53 and 2^53 + 1
        # beside 0.5.
        values = list(groups)
        if any(is_missing(value) for value in values):
            raise ValueError("groups must not hold missing values.")
        kinds = {_kind(value) for value in values}
        if len(kinds) > 1:
            raise ValueError(f"groups must be ids of one type; got {' and '.join(sorted(kinds))}.")
        try:
            order = {value: i for i, value in enumerate(sorted(set(values)))}
        except TypeError:
            raise ValueError("groups must be ids of one type that can be sorted, as numbers or strings.") from None
        return np.array([order[value] for value in values], dtype=np.int64)
    return np.unique(ids, return_inverse=True)[1].astype(np.int64)


def _plain(array: NDArray[Any], name: str) -> NDArray[Any]:
    """An array of objects as an array of the narrowest kind that holds them all, or unchanged if there is none."""
    values = array.ravel().tolist()
    if any(is_missing(value) for value in values):
        raise ValueError(f"{name} must not hold missing values.")
    kinds = {_kind(value) for value in values}
    # Whole numbers may stand beside truth values, and floats beside both, because equal ones stay equal.
    if kinds <= {"truth values"}:
        return array.astype(np.bool_)
    if kinds <= {"truth values", "whole numbers"}:
        return array.astype(np.int64)
    if kinds <= {"truth values", "whole numbers", "numbers"}:
        return array.astype(np.float64)
    if kinds == {"text"}:
        return array.astype(np.str_)
    return array


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        # pandas.NA is neither equal nor unequal to itself.
        return True


def _kind(value: Any) -> str:
    """The kind of a label or id, in the words of the refusals."""
    # A bool is an int in Python, so it is asked for first.
    if isinstance(value, bool | np.bool_):
        return "truth values"
    if isinstance(value, int | np.integer):
        return "whole numbers"
    if isinstance(value, float | np.floating):
        return "numbers"
    return "text" if isinstance(value, str) else type(value).__name__


Layout = Literal["vector", "classes", "samples", "macro", "micro"]


@final
@dataclass(frozen=True, eq=False)
class Grouping:
    """Sets of decisions made from the rows of the target, and the order in which the rows of ``X`` belong to them.

    Attributes
    ----------
    batch : the true labels of the sets
    layout : ``"vector"`` for two labels, ``"classes"`` for more than two, or else what a set is in a label matrix
    classes : the labels, or the names of the columns of a label matrix
    order : the rows of ``X`` in the order of the sets; None if they are in this order already
    """

    batch: Sets | Classes
    layout: Layout
    classes: NDArray[Any]
    order: NDArray[np.int64] | None

    @property
    def is_matrix(self) -> bool:
        """Whether the target is a label matrix."""
        return self.layout in ("samples", "macro", "micro")

    @property
    def outputs(self) -> int:
        """The number of weight vectors: one, or one for each label if a row has more than one score."""
        return 1 if self.layout == "vector" else len(self.classes)

    def features(self, X: Any, intercept: float) -> Features:
        """The linear model whose scores of the rows of ``X`` are the scores of the sets."""
        rows, p = X if self.order is None else X[self.order], len(self.classes)
        if self.layout == "vector":
            return RowModel(rows, self.batch.offsets, intercept)
        if self.layout == "classes":
            return MultilabelModel(rows, p, self.batch.offsets, intercept=intercept)
        if self.layout == "macro":
            return MultilabelModel(rows, p, columns=True, intercept=intercept)
        # Each row of a label matrix holds p decisions of one set.
        return MultilabelModel(rows, p, self.batch.offsets // p, intercept=intercept)

    def losses(self, loss: Loss, scores: NDArray[Any]) -> Values:
        """The loss of each set, (n,), for the scores of all decisions in the order of the sets, flat."""
        return loss.values(self.batch, scores if loss.reads == "scores" else self.batch.decide(scores))

    def flat(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of all decisions in the order of the sets, flat, from those by rows, (n,) or (n, p)."""
        # A set is a column here, so the transposed matrix has the sets one after the other.
        if self.layout == "macro":
            return values.T.ravel()
        return (values if self.order is None else values[self.order]).ravel()

    def mean_loss(self, loss: Loss, scores: NDArray[Any], sample_weight: Any) -> float:
        """The mean loss over the sets, for scores in the order of the rows."""
        losses = self.losses(loss, self.flat(scores))
        weights = self.weights(sample_weight, len(scores))
        # Only the ratios of weights count; divided by the largest one, their sum cannot overflow.
        return float(np.average(losses, weights=None if weights is None else weights / weights.max()))

    def score(self, loss: Loss, scores: NDArray[Any], sample_weight: Any) -> float:
        """The score of scores in the order of the rows, higher is better: ``1 - mean loss`` for most losses."""
        if self.weighs_rows(loss, sample_weight) and isinstance(loss, RowCosts):
            weights = as_row_weights(sample_weight, len(scores))
            loss, sample_weight = loss.weighted(weights / weights.mean()), None
        sizes = self.batch.sizes / (len(self.classes) if self.is_matrix else 1)
        rows = np.average(sizes, weights=self.weights(sample_weight, len(scores)))
        return loss.as_score(self.mean_loss(loss.reported, scores, sample_weight), float(rows))

    def weighs_rows(self, loss: Loss, sample_weight: Any) -> bool:
        """Whether there are weights of the rows of one set, by which their costs are multiplied."""
        one_set = self.layout == "vector" and len(self.batch) == 1
        return one_set and sample_weight is not None and isinstance(loss, RowCosts)

    def weights(self, sample_weight: Any, n_rows: int) -> Values | None:
        """The weight of each set, from weights of the rows that are equal inside each set; None for equal weights."""
        if sample_weight is None:
            return None
        weight = as_row_weights(sample_weight, n_rows)
        # Each decision gets the weight of its row.
        each = np.broadcast_to(weight[:, None], (n_rows, len(self.classes))) if self.is_matrix else weight
        weight = self.flat(each)
        first = weight[self.batch.offsets[:-1]]
        if (weight != first[self.batch.owners]).any():
            raise ValueError(
                "sample_weight must be the same for all rows of a set: it weights whole sets, and rows of one set only "
                "with RowCosts. Pass groups, or weight rows in the loss, such as Hamming(weights) or "
                "AreaWeightedLoss(FBeta(), weights)."
            )
        return first


def group(target: NDArray[Any], groups: Any, average: str, classes: NDArray[Any]) -> Grouping:
    """The sets of a target (n,), (n, 1) or (n, p); ``classes`` are its labels, or the names of its columns."""
    if target.ndim == 2 and target.shape[1] > 1:
        return group_matrix(target, groups, average, classes)
    return group_vector(target.ravel(), groups, classes)


def group_vector(y: NDArray[Any], groups: Any, classes: NDArray[Any]) -> Grouping:
    """Each group of rows as a set, or all rows where ``groups`` is None; all labels must be among ``classes``."""
    order, offsets = _rows_by_group(groups, len(y))
    # The code of a label is its place in ``classes``; a label without a place was not seen by fit.
    codes = np.full(len(y), -1)
    for code, label in enumerate(classes.tolist()):
        codes = np.where(y == label, code, codes)
    refuse_unknown(y[codes < 0].tolist(), classes.tolist())
    codes = codes if order is None else codes[order]
    if len(classes) == 2:
        return Grouping(Sets(codes == 1, offsets), "vector", classes, order)
    return Grouping(Classes(codes.astype(np.int64), offsets, len(classes)), "classes", classes, order)


def group_matrix(Y: NDArray[Any], groups: Any, average: str, names: NDArray[Any]) -> Grouping:
    """The sets of a 0/1 label matrix (n, p): each row, each column (``"macro"``), or the whole matrix (``"micro"``)."""
    if groups is not None:
        raise ValueError("groups are for y of shape (n,); for a label matrix Y, average says what a set is.")
    if Y.dtype.kind == "f" and not np.isfinite(Y).all():
        raise ValueError("Y must be a matrix of labels 0 and 1; got NaN or inf.")
    check_classification_targets(Y)
    if type_of_target(Y) != "multilabel-indicator":
        raise ValueError(f"Y must be a matrix of labels 0 and 1; got a target of type {type_of_target(Y)!r}.")
    if average == "macro":
        return Grouping(Sets.rows(Y.T), "macro", names, None)
    if average == "micro":
        return Grouping(Sets.single(Y.ravel(), "Y"), "micro", names, None)
    return Grouping(Sets.rows(Y), "samples", names, None)


def classes_of(y: NDArray[Any], pos_label: Any) -> NDArray[Any]:
    """The distinct labels of y (n,), sorted, but with the positive one of two labels last."""
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"y must have two classes to learn from; got only one class, {classes.tolist()[0]!r}.")
    return positive_last(classes, pos_label)


def positive_last(classes: NDArray[Any], pos_label: Any) -> NDArray[Any]:
    """The labels, with the positive one of two last: ``pos_label``, or with None the last in sorted order."""
    if pos_label is None:
        return classes
    if np.ndim(pos_label) or is_missing(pos_label) or pos_label not in classes.tolist():
        raise ValueError(f"pos_label must be one of the labels {classes.tolist()}; got {shown(pos_label)}.")
    if len(classes) == 2 and pos_label == classes.tolist()[0]:
        return classes[::-1]
    return classes


def _rows_by_group(groups: Any, n: int) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
    """The rows in the order of their groups, or None if they are in this order already, and the offsets of the groups.

    Inside a group the rows keep their order, which is the order of time for some losses.
    """
    if groups is None:
        return None, np.array([0, n], dtype=np.int64)
    ids = as_ids(groups, n)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(ids))))
    return (None if (np.diff(ids) >= 0).all() else np.argsort(ids, kind="stable")), offsets
