"""The problem that an estimator is given: its rows, their sets, and the loss that is trained for."""

from typing import Any

from setwise.estimators.grouping import classes_of, group
from setwise.estimators.objective import class_weights, loss_for, train_loss
from setwise.estimators.rows import as_matrix
from setwise.estimators.target import as_ids, as_target, column_names
from setwise.estimators.threads import threads
from setwise.estimators.training import Problem
from setwise.losses import as_loss


def problem_of(
    model: Any, X: Any, y: Any, groups: Any, sample_weight: Any, intercept: float, path: bool = False
) -> Problem:
    """The problem of the arguments of ``model.fit``, which are checked here.

    Raises ValueError, TypeError, OverflowError and Refusal, each with a sentence, for what does not fit.
    """
    target = None if y is None else as_target(y)
    # Features compute the lengths of the rows and refuse what is not finite there, which saves a pass over X.
    X, target = as_matrix(model, X, target, multi_output=True, order="C", ensure_all_finite=False)
    if target.ndim == 2 and target.shape[1] > 1:
        if model.pos_label is not None:
            raise ValueError(f"pos_label must be None where y is a label matrix; got {model.pos_label!r}.")
        classes = column_names(y, target.shape[1])
    else:
        classes = classes_of(target, model.pos_label)
    grouping = group(target, groups, model.average, classes)
    loss = loss_for(as_loss(model.loss), grouping, model.pos_label)
    train = train_loss(model.surrogate, loss, class_weights(model.class_weight, grouping, target))
    ids = None if groups is None else as_ids(groups, len(target))
    more = model.surrogate, model.start, model.average, intercept, sample_weight, threads(model.n_jobs), path
    return Problem(X, target, grouping, loss, train, *more, bare=model.threshold == "exact", ids=ids)
