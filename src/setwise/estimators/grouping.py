"""From (X, y, groups) as scikit-learn has them to sets of decisions."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from setwise.core.model import Model
from setwise.core.sets import Sets
from setwise.models import Columns, Independent, LabelColumns, MultiLabel


@final
@dataclass(frozen=True, eq=False)
class Grouping:
    """Sets of decisions made from the rows of ``y``, and the order in which the rows of ``X`` must stand for them.

    ``order`` is None where the rows already stand right.
    """

    sets: Sets
    model: Model
    classes: NDArray[Any]
    order: NDArray[np.int64] | None

    @property
    def is_matrix(self) -> bool:
        """Whether the target is a label matrix."""
        return not isinstance(self.model, Independent)

    def features(self, X: Any) -> Any:
        """``X`` as the model takes it, the rows of each set together."""
        if isinstance(self.model, LabelColumns):
            return Columns(X, np.arange(self.model.p))
        return X if self.order is None else X[self.order]

    def flat(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of all decisions, (n,) or (n, p), in the order of the sets, (total,)."""
        if isinstance(self.model, LabelColumns):
            return values.T.ravel()
        return values.ravel() if self.order is None else values[self.order]

    def weights(self, sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
        """One weight for each set from one weight for each row, equal inside a set; None weighs all sets alike."""
        if sample_weight is None:
            return None
        weight = np.asarray(sample_weight, dtype=np.float64)
        if weight.shape != (n_rows,):
            raise ValueError(f"sample_weight must have shape ({n_rows},), one for each row; got shape {weight.shape}.")
        if not np.isfinite(weight).all() or (weight < 0).any() or weight.sum() == 0:
            raise ValueError("sample_weight must be finite, not negative and not all zero.")
        if len(weight) == len(self.sets) and isinstance(self.model, MultiLabel):
            return weight
        if self.is_matrix:
            weight = (
                np.repeat(weight, self.sets.total // n_rows)
                if isinstance(self.model, MultiLabel)
                else np.tile(weight, len(self.sets))
            )
        weight = weight if self.order is None else weight[self.order]
        first = weight[self.sets.offsets[:-1]]
        if (weight != first[self.sets.owners]).any():
            raise ValueError(
                "sample_weight must be the same for all rows of a set: it weighs whole sets, and a set loss has "
                "no weights for single rows. Pass groups, or weigh decisions with loss=Hamming(weights)."
            )
        return first


def group(
    y: Any, groups: Any, intercept: float, average: str = "samples", classes: NDArray[Any] | None = None
) -> Grouping:
    """Sets of decisions: all of y (n,), its groups, or what ``average`` says of a 0/1 label matrix Y (n, p).

    ``"samples"`` makes a set of each row, ``"macro"`` of each column, ``"micro"`` one set of the whole matrix.
    ``classes`` are the two labels of an earlier fit, to which y is then held.
    """
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] > 1:
        return _label_matrix(y, groups, intercept, average)
    y = column_or_1d(y, warn=True)
    classes = _two_classes(y) if classes is None else classes
    labels = y == classes[1]
    if not (labels | (y == classes[0])).all():
        odd = y[~(labels | (y == classes[0]))].tolist()[0]
        raise ValueError(f"y must hold the labels {classes.tolist()} that were fitted; got {odd!r}.")
    model = Independent(intercept)
    if groups is None:
        return Grouping(Sets.single(labels), model, classes, None)
    order, offsets = _runs(groups, len(y))
    return Grouping(Sets(labels[order], offsets), model, classes, order)


def _label_matrix(Y: NDArray[Any], groups: Any, intercept: float, average: str) -> Grouping:
    if groups is not None:
        raise ValueError("groups are for y of shape (n,); what is a set in a label matrix Y, average says.")
    check_classification_targets(Y)
    if type_of_target(Y) != "multilabel-indicator":
        raise ValueError(f"Y must be a matrix of labels 0 and 1; got a target of type {type_of_target(Y)!r}.")
    p = Y.shape[1]
    if average == "macro":
        return Grouping(Sets.rows(Y.T), LabelColumns(p, intercept), np.arange(p), None)
    sets = Sets.rows(Y) if average == "samples" else Sets.single(Y.ravel())
    return Grouping(sets, MultiLabel(p, intercept), np.arange(p), None)


def _two_classes(y: NDArray[Any]) -> NDArray[Any]:
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {type_of_target(y)}: y has "
            f"{len(classes)} classes, and SetClassifier takes two. For several labels at once pass a matrix Y of 0/1."
        )
    if len(classes) < 2:
        raise ValueError(f"y must have two classes to learn from; got only one class, {classes.tolist()[0]!r}.")
    return classes


def _runs(groups: Any, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A stable order of rows by group, and the offsets of the groups."""
    try:
        ids = np.asarray(groups)
    except ValueError:
        raise ValueError("groups must be plain ids, one for each row; got a ragged sequence.") from None
    if ids.shape != (n,):
        raise ValueError(f"groups must have shape ({n},), one for each row; got shape {ids.shape}.")
    if ids.dtype.kind == "f" and not np.isfinite(ids).all():
        raise ValueError("groups must not hold NaN or inf.")
    if ids.dtype.kind == "O" and any(g is None or g != g for g in ids):
        raise ValueError("groups must not hold missing values.")
    if ids.dtype.kind in "mM" and np.isnat(ids).any():
        raise ValueError("groups must not hold NaT.")
    try:
        _, inverse, counts = np.unique(ids, return_inverse=True, return_counts=True)
    except TypeError:
        raise ValueError("groups must be ids of one type that can be sorted, as numbers or strings.") from None
    return np.argsort(inverse, kind="stable"), np.concatenate(([0], np.cumsum(counts)))
