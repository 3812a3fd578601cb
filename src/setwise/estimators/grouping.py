"""From (X, y, groups) as scikit-learn has them to sets of decisions."""

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from setwise.core.arrays import Values
from setwise.core.checks import as_reals, shown
from setwise.core.classes import Classes
from setwise.core.features import Features
from setwise.core.measure import Loss
from setwise.core.sets import Sets
from setwise.estimators.target import as_ids, is_missing
from setwise.models import Independent, MultiLabel

Layout = Literal["vector", "classes", "samples", "macro", "micro"]


@final
@dataclass(frozen=True, eq=False)
class Grouping:
    """Sets of decisions made from the rows of ``y``, and the order in which the rows of ``X`` must stand for them.

    Attributes
    ----------
    batch : the reference labels
    layout : ``"vector"`` for two labels, ``"classes"`` for more, or what a set is in a label matrix
    classes : the labels, or the names of the columns of a label matrix
    order : rows, those of each set together; None where they already stand right
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
        """How many weight vectors a linear model has: one for each label where there is more than one score a row."""
        return 1 if self.layout == "vector" else len(self.classes)

    def features(self, X: Any, intercept: float) -> Features:
        """A linear model of the rows of ``X``, bound to the sets."""
        rows, p = X if self.order is None else X[self.order], len(self.classes)
        if self.layout == "vector":
            return Independent(rows, self.batch.offsets, intercept)
        if self.layout == "classes":
            return MultiLabel(rows, p, self.batch.offsets, intercept=intercept)
        if self.layout == "macro":
            return MultiLabel(rows, p, columns=True, intercept=intercept)
        return MultiLabel(rows, p, self.batch.offsets // p, intercept=intercept)

    def predictions(self, loss: Loss, scores: NDArray[Any]) -> NDArray[Any]:
        """What ``loss`` reads, flat in the order of the sets, from scores in the order of the rows."""
        flat = self.flat(scores)
        return flat if loss.reads == "scores" else self.batch.decide(flat)

    def flat(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of all decisions in the order of the rows, (n,) or (n, p), in that of the sets, flat."""
        if self.layout == "macro":
            return values.T.ravel()
        return (values if self.order is None else values[self.order]).ravel()

    def weights(self, sample_weight: Any, n_rows: int) -> Values | None:
        """One weight for each set from one weight for each row, equal inside a set; None weighs all sets alike."""
        if sample_weight is None:
            return None
        weight = as_reals(sample_weight, "sample_weight", (n_rows,))
        if (weight < 0).any() or not weight.any():
            raise ValueError("sample_weight must be finite, not negative and not all zero.")
        if self.layout == "macro":
            weight = np.tile(weight, len(self.classes))
        elif self.is_matrix:
            weight = np.repeat(weight, len(self.classes))
        weight = weight if self.order is None else weight[self.order]
        first = weight[self.batch.offsets[:-1]]
        if (weight != first[self.batch.owners]).any():
            raise ValueError(
                "sample_weight must be the same for all rows of a set: it weighs whole sets, and a set loss has "
                "no weights for single rows. Pass groups, or weigh decisions with loss=Hamming(weights)."
            )
        return first


def group_vector(y: NDArray[Any], groups: Any, classes: NDArray[Any]) -> Grouping:
    """The rows of one group are a set, or all rows where ``groups`` is None; y is held to the labels ``classes``."""
    order, offsets = _runs(groups, len(y))
    codes = np.full(len(y), -1)
    for code, label in enumerate(classes.tolist()):
        codes = np.where(y == label, code, codes)
    if (codes < 0).any():
        odd = y[codes < 0].tolist()[0]
        raise ValueError(f"y must hold the labels {classes.tolist()} that were fitted; got {odd!r}.")
    codes = codes if order is None else codes[order]
    if len(classes) == 2:
        return Grouping(Sets(codes == 1, offsets), "vector", classes, order)
    return Grouping(Classes(codes.astype(np.int64), offsets, len(classes)), "classes", classes, order)


def group_matrix(Y: NDArray[Any], groups: Any, average: str, names: NDArray[Any]) -> Grouping:
    """Sets of a 0/1 label matrix (n, p): each row, each column (``"macro"``), or the whole of it (``"micro"``)."""
    if groups is not None:
        raise ValueError("groups are for y of shape (n,); what is a set in a label matrix Y, average says.")
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
    """The distinct labels of y (n,), sorted; of two the positive one comes last."""
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"y must have two classes to learn from; got only one class, {classes.tolist()[0]!r}.")
    if pos_label is None:
        return classes
    if np.ndim(pos_label) or is_missing(pos_label) or pos_label not in classes.tolist():
        raise ValueError(f"pos_label must be one of the labels {classes.tolist()}; got {shown(pos_label)}.")
    if len(classes) == 2 and pos_label == classes.tolist()[0]:
        return classes[::-1]
    return classes


def _runs(groups: Any, n: int) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
    """A stable order of rows by group, None where they stand so, and the offsets of the groups."""
    if groups is None:
        return None, np.array([0, n], dtype=np.int64)
    ids = as_ids(groups, n)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(ids))))
    return (None if (np.diff(ids) >= 0).all() else np.argsort(ids, kind="stable")), offsets
