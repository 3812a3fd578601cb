"""The rows, target and measure of a choice, checked once."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from setwise.core.checkpoint import OpenCheckpoint
from setwise.core.checks import Bools, Ints, Values, as_row_weights, shown
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import MEASURE_COST, ROW_COSTS
from setwise.decisions.confusion import ConfusionLoss, class_loss
from setwise.decisions.task import Layout, Task, formula_of
from setwise.estimators.selection.base_models import (
    LabelwiseClassifier,
    refuse_weights,
    routed,
    takes_matrices,
    takes_matrices_alone,
    weight_name,
)
from setwise.estimators.selection.out_of_fold import OutOfFoldBase
from setwise.estimators.sets import as_ids, as_target, group_matrix, labels_of
from setwise.estimators.splits import Folds, folds_of, outer_folds_of
from setwise.losses.combinations import OneClass
from setwise.losses.row_costs import RowCosts


@final
@dataclass(frozen=True, eq=False)
class SelectionProblem:
    """Rows with their target, and the loss that judges predictions.

    Parameters
    ----------
    X : the rows, as they were given
    target : (n,) labels, or (n, p) of 0 and 1
    classes : the labels, sorted, or the names of the columns of a label matrix
    positive : the label of positives, for a target (n,) of two labels; of more labels all of them
    task : the truth of the rows and the loss of its sets
    groups : (n,) the number of the group of each row, which folds never split; None without groups
    sample_weight : (n,) weights of rows for the fits of base models, and for a target (n,) in the loss; None for equal
        ones
    ids : (n,) the groups as they were given, for base models that request them by metadata routing; None for none
    blocks : (n,) the number of the rows that folds keep together, where these are more than groups; or None
    """

    X: Any
    target: NDArray[Any]
    classes: NDArray[Any]
    positive: Any
    task: Task
    groups: Ints | None = None
    sample_weight: Values | None = None
    ids: Any = None
    blocks: Ints | None = None

    def take(self, rows: Ints) -> "SelectionProblem":
        """The problem of some of the rows."""
        return replace(
            self,
            X=_safe_indexing(self.X, rows),
            target=self.target[rows],
            task=self.task.take(rows),
            groups=None if self.groups is None else np.unique(self.groups[rows], return_inverse=True)[1],
            sample_weight=None if self.sample_weight is None else self.sample_weight[rows],
            ids=None if self.ids is None else _safe_indexing(self.ids, rows),
            blocks=None if self.blocks is None else self.blocks[rows],
        )

    def folds(self, cv: Any, seed: int) -> Folds:
        """The folds of ``cv`` over the rows; see :func:`folds_of`."""
        return folds_of(cv, self.X, self.target, self.task, self.groups, seed, self.blocks)

    def outer_folds(self, k: int, cv: Any, inner: Folds, seed: int) -> Folds:
        """The k outer folds in which a choice with ``inner`` folds of ``cv`` is repeated."""
        return outer_folds_of(k, cv, inner, self.X, self.target, self.task, self.groups, seed, self.blocks)

    def out_of_fold(
        self,
        estimator: Any,
        folds: Folds,
        response_method: str = "auto",
        n_jobs: int | None = None,
        prefit: bool = False,
        kept: OpenCheckpoint | None = None,
        same_penalty: bool = False,
    ) -> OutOfFoldBase:
        """The out-of-fold responses of a classifier, which for a label matrix is fitted label by label if it must."""
        base = self._for_matrix(estimator, prefit)
        name = weight_name(base)
        if self.sample_weight is not None and name is None and not prefit:
            raise refuse_weights(base)
        weights = {} if self.sample_weight is None or name is None else {name: self.sample_weight}
        # Nothing is fitted any more where the estimator was fitted before.
        groups = {} if self.ids is None or prefit else routed(base, {"groups": self.ids})
        given = weights | groups
        return OutOfFoldBase(base, self, folds, response_method, given, name, prefit, n_jobs, kept, same_penalty)

    def _for_matrix(self, estimator: Any, prefit: bool) -> Any:
        if not self.task.is_matrix and takes_matrices_alone(estimator):
            raise Refusal(
                f"{type(estimator).__name__} refuses y of shape ({len(self.target)},): it is fitted to label matrices "
                "(n, p). Pass a classifier for one label.",
                MEASURE_COST,
            )
        if not self.task.is_matrix or prefit or takes_matrices(estimator):
            return estimator
        return LabelwiseClassifier(clone(estimator))


def problem_of(
    X: Any,
    y: Any,
    loss: Loss,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    average: Layout = "samples",
) -> SelectionProblem:
    """The problem of a user's X, y and groups, checked; X is only asked for its length.

    Raises
    ------
    ValueError : for whatever has a wrong shape
    Refusal : for losses that do not judge labels, and that do not fit the number of classes
    """
    if loss.reads == "scores":
        raise Refusal(
            f"MeasureClassifier refuses {loss!r}: it measures {loss.reads}, not labels 0 and 1, so a threshold or "
            "decision cannot change it. Use SetClassifier, or a loss of labels such as 'f1'.",
            MEASURE_COST,
        )
    if y is None:
        raise ValueError("MeasureClassifier requires y to be passed, but the target y is None.")
    target = as_target(y)
    if target.ndim == 0:
        raise ValueError(f"y must be an array of labels, (n,) or (n, p); got {shown(y)}.")
    (X,) = indexable(X)
    n = _num_samples(X)
    if n == 0 or target.size == 0:
        raise ValueError(f"X and y must have one row or more; got {n} rows of X and {len(target)} of y.")
    if target.dtype.kind == "f" and not np.isfinite(target).all():
        raise ValueError("y must be finite labels; got NaN or inf.")
    if len(target) != n:
        raise ValueError(f"y must have one entry for each row of X, {n}; got inconsistent numbers: {len(target)}.")
    ids = None if groups is None else as_ids(groups, n)
    weight = None if sample_weight is None else as_row_weights(sample_weight, n)
    classes = labels_of(y, target, pos_label)
    if target.ndim == 2 and target.shape[1] > 1:
        # This checks the labels; the sets are made anew for each part of the rows.
        group_matrix(target, None, average, classes)
        truth = target.astype(np.float64) == 1.0
        _check_costs(loss, truth)
        return SelectionProblem(
            X, truth.astype(np.int64), classes, 1, Task(truth, loss, None, average), ids, weight, groups
        )
    target = target.ravel()
    if len(classes) > 2:
        form = _loss_of_classes(loss, classes, pos_label)
        task = Task(np.searchsorted(classes, target).astype(np.int64), form, ids, "samples", weight)
        return SelectionProblem(X, target, classes, classes, task, ids, weight, groups)
    loss, truth = loss.for_labels(tuple(classes.tolist())), np.asarray(target == classes[1], dtype=np.bool_)
    if loss.reads == "classes" and formula_of(loss) is None:
        raise Refusal(
            f"MeasureClassifier refuses {loss!r} for two classes: use RowCosts, or another loss.", MEASURE_COST
        )
    task = Task(truth, loss, ids, "samples", weight)
    _check_costs(loss, truth)
    if ids is None or loss.of_one_batch(task.sets):
        loss.check(task.sets)
    if weight is not None:
        task.set_loss.bind(task.sets)
    return SelectionProblem(X, target, np.unique(classes), classes.tolist()[1], task, ids, weight, groups)


def _loss_of_classes(loss: Loss, classes: NDArray[Any], pos_label: Any) -> ConfusionLoss:
    """The loss for more than two classes, or that of one of them."""
    if isinstance(loss, RowCosts):
        raise Refusal(
            f"Only binary classification is supported with RowCosts, and y has {len(classes)} labels: use "
            "CostMatrix(costs).",
            ROW_COSTS,
        )
    return class_loss(loss if pos_label is None else OneClass(loss, classes.tolist().index(pos_label)), len(classes))


def _check_costs(loss: Loss, truth: Bools) -> None:
    """Raise for costs that do not fit the labels; here rows have the numbers that the user gave them."""
    if isinstance(loss, RowCosts) and truth.ndim == 1:
        loss.of_labels(truth)
    elif isinstance(loss, RowCosts) and loss.by_class is None:
        raise Refusal(
            f"MeasureClassifier refuses {loss!r} for a label matrix: costs that differ from row to row, and those of "
            "right decisions, are for y (n,). Use RowCosts(fp=5, fn=2), or fit a model for each label.",
            ROW_COSTS,
        )
