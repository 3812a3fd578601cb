"""Scores of predicted windows: precision, recall, F1 and average precision, where each true window is found once."""

from typing import Any

import numpy as np

from setwise.core.checks import Ints, Values, as_array, as_choice, as_count, as_number, as_reals, shown
from setwise.kernels.windows import match_windows
from setwise.spaces.label_scores import mean_share

AVERAGES = ("pooled", "images")
RECALLS = np.linspace(0.0, 1.0, 101)
"""The recalls at which COCO averages the precision."""

COCO = tuple(np.linspace(0.5, 0.95, 10).tolist())
"""The overlaps over which COCO averages the average precision."""


def window_precision(Y: Any, predictions: Any, threshold: float = 0.5, average: str = "pooled") -> float:
    """The number of true windows that are found over the number of predicted ones, pooled or the mean over images.

    A prediction finds, in its turn, the true window that it overlaps most and that is not found yet, if intersection
    over union is ``threshold`` or more. An image without predictions has a precision of 1 if nothing is true there, and
    0 otherwise. Pooled, precision is 0 where nothing is predicted in any image.

    Source: MLSP 5.2, with windows matched as in the detection evaluation of COCO (cocodataset.org).

    Parameters
    ----------
    Y, predictions : for each image boxes (k, 4) as (top, left, bottom, right) of whole numbers; predictions have their
        turns in the order in which they stand, which is best by falling scores
    threshold : above 0, at most 1
    average : ``"pooled"`` or ``"images"``

    Returns
    -------
    float
        The precision, in [0, 1].

    Raises
    ------
    TypeError : if threshold is no number
    ValueError : if threshold is not in (0, 1], average is another word, a box holds no pixel, or there are not
        predictions for each image

    Examples
    --------
    >>> from setwise.spaces import window_precision
    >>> Y = [[[0, 0, 4, 4]]]
    >>> # The first overlaps by 12/16; a window is found once.
    >>> window_precision(Y, [[[0, 0, 4, 3], [0, 0, 4, 4]]])
    0.5
    >>> window_precision(Y, [[[0, 0, 4, 3]]], threshold=0.8)  # 12/16 is not enough
    0.0
    """
    found, predicted, true = _numbers(Y, predictions, threshold, average)
    return mean_share(found, predicted, predicted + true == 0, average)


def window_recall(Y: Any, predictions: Any, threshold: float = 0.5, average: str = "pooled") -> float:
    """The number of true windows that are found over the number of all true ones, pooled or the mean over images.

    An image without true windows has a recall of 1 if nothing is predicted, and 0 otherwise. Pooled, recall is 0 where
    nothing is true in any image.

    Source: MLSP 5.2, with windows matched as in the detection evaluation of COCO (cocodataset.org).

    Parameters
    ----------
    Y, predictions, threshold, average : as in :func:`window_precision`; boxes (k, 4) for each image

    Returns
    -------
    float
        The recall, in [0, 1].

    Raises
    ------
    TypeError : if threshold is no number
    ValueError : if threshold is not in (0, 1], average is another word, a box holds no pixel, or there are not
        predictions for each image

    Examples
    --------
    >>> from setwise.spaces import window_recall
    >>> # One of two is found.
    >>> window_recall([[[0, 0, 4, 4], [5, 5, 9, 9]]], [[[0, 0, 4, 3]]])
    0.5
    """
    found, predicted, true = _numbers(Y, predictions, threshold, average)
    return mean_share(found, true, predicted + true == 0, average)


def window_f1(Y: Any, predictions: Any, threshold: float = 0.5, average: str = "pooled") -> float:
    """``2 found / (predicted + true)``, pooled or the mean over images.

    An image with nothing true and nothing predicted has an F1 of 1; pooled, F1 is 0 where that holds for all images.
    The mean over images is not the harmonic mean of the mean precision and the mean recall.

    Source: MLSP 5.2, with windows matched as in the detection evaluation of COCO (cocodataset.org).

    Parameters
    ----------
    Y, predictions, threshold, average : as in :func:`window_precision`; boxes (k, 4) for each image

    Returns
    -------
    float
        F1, in [0, 1].

    Raises
    ------
    TypeError : if threshold is no number
    ValueError : if threshold is not in (0, 1], average is another word, a box holds no pixel, or there are not
        predictions for each image

    Examples
    --------
    >>> from setwise.spaces import window_f1
    >>> # 2 * 1 / (2 + 2).
    >>> Y = [[[0, 0, 4, 4], [5, 5, 9, 9]], []]
    >>> window_f1(Y, [[[0, 0, 4, 3]], [[0, 0, 1, 1]]])
    0.5
    """
    found, predicted, true = _numbers(Y, predictions, threshold, average)
    return mean_share(2 * found, predicted + true, predicted + true == 0, average)


def window_average_precision(
    Y: Any, predictions: Any, scores: Any, threshold: Any = 0.5, limit: int = 100, difficult: Any = None
) -> float:
    """The mean over 101 recalls of the largest precision at that recall or a larger one: the AP of COCO.

    The predictions of all images are taken by falling scores, those of equal scores in their order. Each finds the true
    window that it overlaps most and that is not found yet, if intersection over union is the threshold or more.

    Source: the detection evaluation of COCO (cocodataset.org, and pycocotools), the data set of Lin et al. (2014).

    Parameters
    ----------
    Y, predictions : for each image boxes (k, 4) as (top, left, bottom, right) of whole numbers; Y holds one or more
    scores : for each image the scores (k,) of the predictions
    threshold : above 0, at most 1; or several, over which the mean is taken, as ``COCO`` for .5, .55, ... .95
    limit : so many predictions of an image count, those of largest score
    difficult : for each image boxes that are not judged: a prediction that finds nothing, but overlaps one of them by
        the threshold, does not count; None for none

    Returns
    -------
    float
        The average precision, in [0, 1].

    Raises
    ------
    TypeError : if limit is no whole number, or a threshold no number
    ValueError : if a threshold is not in (0, 1], no window is true, a box holds no pixel, or the numbers of images,
        predictions and scores differ

    Examples
    --------
    >>> from setwise.spaces import window_average_precision
    >>> Y, predictions = [[[0, 0, 4, 4]]], [[[5, 5, 9, 9], [0, 0, 4, 3]]]
    >>> window_average_precision(Y, predictions, scores=[[0.9, 0.1]])
    0.5
    >>> window_average_precision(Y, predictions, scores=[[0.1, 0.9]])
    1.0
    """
    as_count(limit, "limit")
    true, predicted = _boxes(Y, "Y"), _boxes(predictions, "predictions")
    _same(true, predicted, "predictions")
    if not isinstance(scores, list | tuple) or len(scores) != len(true):
        raise ValueError(f"scores must be a list of {len(true)} arrays, one for each image; got {shown(scores)}.")
    values = [as_reals(s, f"scores[{i}]", (len(p),)) for i, (s, p) in enumerate(zip(scores, predicted, strict=True))]
    unjudged = [np.zeros((0, 4), np.int64)] * len(true) if difficult is None else _boxes(difficult, "difficult")
    _same(true, unjudged, "difficult")
    if not sum(map(len, true)):
        raise ValueError("Y must hold one window or more; got none in any image.")
    orders = [np.argsort(-s, kind="stable")[:limit] for s in values]
    predicted = [p[order] for p, order in zip(predicted, orders, strict=True)]
    falling = np.concatenate([s[order] for s, order in zip(values, orders, strict=True)])
    levels = [threshold] if np.ndim(threshold) == 0 else list(threshold)
    if not levels:
        raise ValueError("threshold must be one number or more; got none.")
    return float(np.mean([_average_precision(true, predicted, unjudged, falling, _limit(t)) for t in levels]))


def _average_precision(
    true: list[Ints], predicted: list[Ints], difficult: list[Ints], scores: Values, threshold: float
) -> float:
    """The average precision at one overlap; ``scores`` are those of all predictions, image by image."""
    finds = [match_windows(y, p, d, threshold) for y, p, d in zip(true, predicted, difficult, strict=True)]
    hits = np.concatenate(finds)[np.argsort(-scores, kind="stable")]
    hits = hits[hits >= 0]
    found = np.cumsum(hits)
    recall, precision = found / sum(map(len, true)), found / np.arange(1, len(hits) + 1)
    best = np.maximum.accumulate(precision[::-1])[::-1]
    at = np.searchsorted(recall, RECALLS, side="left")
    return float(np.append(best, 0.0)[at].mean())


def _limit(threshold: Any) -> float:
    # COCO takes equal boxes for equal even where rounding does not.
    return min(as_number(threshold, "threshold", low=0.0, high=1.0, open_low=True), 1.0 - 1e-10)


def _numbers(Y: Any, predictions: Any, threshold: float, average: str) -> tuple[Ints, Ints, Ints]:
    """The numbers of windows that are found, predicted, and true: of each image, or of all together."""
    as_choice(average, "average", AVERAGES)
    true, predicted, level = _boxes(Y, "Y"), _boxes(predictions, "predictions"), _limit(threshold)
    _same(true, predicted, "predictions")
    none = np.zeros((0, 4), np.int64)
    numbers = np.array(
        [(int(match_windows(y, p, none, level).sum()), len(p), len(y)) for y, p in zip(true, predicted, strict=True)]
    ).T
    found, seen, real = numbers.sum(axis=1, keepdims=True) if average == "pooled" else numbers
    return found, seen, real


def _same(true: list[Ints], other: list[Ints], name: str) -> None:
    if len(true) != len(other):
        raise ValueError(f"{name} must be those of {len(true)} images; got {len(other)}.")


def _boxes(lists: Any, name: str) -> list[Ints]:
    """Boxes (k, 4) of each of one image or more."""
    if not isinstance(lists, list | tuple) or not len(lists):
        raise ValueError(f"{name} must be a list of arrays of boxes, one for each image; got {shown(lists)}.")
    return [_as_boxes(boxes, f"{name}[{i}]") for i, boxes in enumerate(lists)]


def _as_boxes(boxes: Any, name: str) -> Ints:
    """Boxes (k, 4) of one pixel or more."""
    found = as_array(boxes, name)
    if found.size == 0 and found.ndim:
        return np.zeros((0, 4), np.int64)
    whole = found.ndim == 2 and found.shape[1] == 4 and found.dtype.kind in "iu"
    if not whole or (found[:, :2] >= found[:, 2:]).any() or found.min() < -(1 << 30) or found.max() > 1 << 30:
        raise ValueError(
            f"{name} must be boxes (k, 4) of whole numbers, top < bottom and left < right; got {shown(boxes)}."
        )
    return np.ascontiguousarray(found, np.int64)
