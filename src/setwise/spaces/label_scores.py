"""Precision, recall and F1 of sets of labels by row and pooled, and the mean average precision of rows."""

from typing import Any

import numpy as np

from setwise.core.checks import Bools, Ints, Values, as_choice, as_kind, as_reals
from setwise.spaces.spaces import Space

AVERAGES = ("rows", "pooled")


def label_precision(space: Space, Y: Any, predictions: Any, average: str = "rows") -> float:
    """The mean over rows of ``|Y_i and G_i| / |G_i|``, or ``sum_i |Y_i and G_i| / sum_i |G_i|`` pooled.

    A row that predicts nothing has a precision of 1 if nothing is true, and 0 otherwise. Pooled, precision is 0 where
    no row predicts anything, as :func:`hierarchical_precision` is.

    Source: the precision of MLSP Table 1; its conventions for empty sets are setwise's own.

    Parameters
    ----------
    space : the labels
    Y, predictions : the true sets Y_i and the predicted sets G_i of n rows: n collections of labels, or (n, p) of 0
        and 1
    average : ``"rows"`` or ``"pooled"``

    Returns
    -------
    float
        The precision, in [0, 1].

    Raises
    ------
    TypeError : if space is no :class:`Space`
    ValueError : for labels that the space does not have, no rows, predictions of another number of rows, or another
        average

    Examples
    --------
    >>> from setwise.spaces import FiniteSpace, label_precision
    >>> space = FiniteSpace(["a", "b", "c"])
    >>> # 2 of 4.
    >>> predicted = [["a"], ["a", "b", "c"]]
    >>> label_precision(space, [["a"], ["b"]], predicted, average="pooled")
    0.5
    >>> # (0 + 1) / 2: nothing is true and nothing predicted.
    >>> label_precision(space, [["a"], []], [["b"], []])
    0.5
    """
    both, predicted, true = _sizes(space, Y, predictions, average)
    return mean_share(both, predicted, predicted + true == 0, average)


def label_recall(space: Space, Y: Any, predictions: Any, average: str = "rows") -> float:
    """The mean over rows of ``|Y_i and G_i| / |Y_i|``, or ``sum_i |Y_i and G_i| / sum_i |Y_i|`` pooled.

    A row without true labels has a recall of 1 if nothing is predicted, and 0 otherwise. Pooled, recall is 0 where
    nothing is true for any row.

    Source: the recall of MLSP Table 1; its conventions for empty sets are setwise's own.

    Parameters
    ----------
    space : the labels
    Y, predictions : the true sets Y_i and the predicted sets G_i of n rows: n collections of labels, or (n, p) of 0
        and 1
    average : ``"rows"`` or ``"pooled"``

    Returns
    -------
    float
        The recall, in [0, 1].

    Raises
    ------
    TypeError : if space is no :class:`Space`
    ValueError : for labels that the space does not have, no rows, predictions of another number of rows, or another
        average

    Examples
    --------
    >>> from setwise.spaces import FiniteSpace, label_recall
    >>> space = FiniteSpace(["a", "b", "c"])
    >>> label_recall(space, [["a"], ["b", "c"]], [["a"], ["b"]])  # (1 + 1/2) / 2
    0.75
    """
    both, predicted, true = _sizes(space, Y, predictions, average)
    return mean_share(both, true, predicted + true == 0, average)


def label_f1(space: Space, Y: Any, predictions: Any, average: str = "rows") -> float:
    """The mean over rows of ``2 |Y_i and G_i| / (|Y_i| + |G_i|)``, or that of the sums pooled.

    A row with nothing true and nothing predicted has an F1 of 1; pooled, F1 is 0 where that holds for all rows. Pooled
    F1 is the harmonic mean of pooled precision and recall. The mean over rows is not that of the mean precision and
    the mean recall: it may be far below both.

    Source: the F1 of MLSP Table 1; its conventions for empty sets are setwise's own.

    Parameters
    ----------
    space : the labels
    Y, predictions : the true sets Y_i and the predicted sets G_i of n rows: n collections of labels, or (n, p) of 0
        and 1
    average : ``"rows"`` or ``"pooled"``

    Returns
    -------
    float
        F1, in [0, 1].

    Raises
    ------
    TypeError : if space is no :class:`Space`
    ValueError : for labels that the space does not have, no rows, predictions of another number of rows, or another
        average

    Examples
    --------
    >>> from setwise.spaces import FiniteSpace, label_f1
    >>> space = FiniteSpace(["a", "b", "c"])
    >>> label_f1(space, [["a"], ["b"]], [["a"], ["a"]])  # (1 + 0) / 2
    0.5
    >>> label_f1(space, [[]], [[]]), label_f1(space, [[]], [[]], average="pooled")
    (1.0, 0.0)
    """
    both, predicted, true = _sizes(space, Y, predictions, average)
    return mean_share(2 * both, predicted + true, predicted + true == 0, average)


def mean_average_precision(space: Space, Y: Any, scores: Any) -> float:
    """The mean average precision of the rows that have a true label, by the scores of their labels.

    The average precision of a row is ``(1 / |Y_i|) sum_(y in Y_i) |{y' in Y_i : s_y' >= s_y}| / |{y' : s_y' >= s_y}|``,
    the area under the steps of its precision-recall curve, as ``sklearn.metrics.average_precision_score``.

    Source: the mAUC of MLSP 5.1.

    Parameters
    ----------
    space : the labels
    Y : the true sets of n rows: n collections of labels, or (n, p) of 0 and 1; one of them or more is not empty
    scores : (n, p) finite numbers, as of ``decision_function``

    Returns
    -------
    float
        The mean, in (0, 1].

    Raises
    ------
    TypeError : if space is no :class:`Space`
    ValueError : for labels that the space does not have, scores of another shape, or no true label in any row

    Examples
    --------
    >>> from setwise.spaces import FiniteSpace, mean_average_precision
    >>> space = FiniteSpace(["a", "b", "c"])
    >>> # (1 + 1/2) / 2.
    >>> scores = [[3.0, 1.0, 2.0], [3.0, 1.0, 2.0]]
    >>> mean_average_precision(space, [["a"], ["c"]], scores)
    0.75
    """
    as_kind(space, "space", Space, "FiniteSpace(['a', 'b'])")
    truth = space.encode(Y)
    s = as_reals(scores, "scores", truth.shape)
    some = truth.any(axis=1)
    if not some.any():
        raise ValueError(f"Y must hold a true label in one row or more; got {len(truth)} empty sets.")
    return float(_average_precision(truth[some], s[some]).mean())


def _average_precision(truth: Bools, s: Values) -> Values:
    """The average precision of each row, (n,); each has a true label."""
    p, order = truth.shape[1], np.argsort(-s, axis=1, kind="stable")
    truth, s = np.take_along_axis(truth, order, axis=1), np.take_along_axis(s, order, axis=1)
    # Equal scores are passed together, so each label has the counts of the last one with its score.
    last = np.column_stack([s[:, :-1] != s[:, 1:], np.ones(len(s), dtype=bool)])
    ends = np.where(last, np.arange(p), p)
    ends = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    precision = np.take_along_axis(truth.cumsum(axis=1), ends, axis=1) / (ends + 1)
    return np.asarray((precision * truth).sum(axis=1) / truth.sum(axis=1))


def _sizes(space: Space, Y: Any, predictions: Any, average: str) -> tuple[Ints, Ints, Ints]:
    """The numbers of labels that are true and predicted, predicted, and true: of each row, or of all together."""
    as_kind(space, "space", Space, "FiniteSpace(['a', 'b'])")
    as_choice(average, "average", AVERAGES)
    true, predicted = space.encode(Y), space.encode(predictions, "predictions")
    if len(true) != len(predicted):
        raise ValueError(f"predictions must be those of {len(true)} rows; got {len(predicted)}.")
    if not len(true):
        raise ValueError("Y must hold one row or more; got none.")
    if average == "pooled":
        true, predicted = true.reshape(1, -1), predicted.reshape(1, -1)
    return (true & predicted).sum(axis=1), predicted.sum(axis=1), true.sum(axis=1)


def mean_share(part: Ints, whole: Ints, empty: Bools, average: str) -> float:
    """The mean of ``part / whole``; 0/0 is 1 for rows or images that are ``empty``, and else, as where pooled, 0."""
    undefined = np.where(empty & (average != "pooled"), 1.0, 0.0)
    return float(np.where(whole > 0, part / np.maximum(whole, 1), undefined).mean())
