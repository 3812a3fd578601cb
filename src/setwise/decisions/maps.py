"""Decisions for maps of classes: one label for each pixel, or one mask for each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.checks import Ints, Values, as_array, as_flag, as_number, as_reals, refuse_outside, shown
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import DECISIONS_REFUSE
from setwise.decisions.by_partition import FEW, best_partition
from setwise.decisions.choice import rule_for
from setwise.decisions.decision import Decision
from setwise.decisions.formula import formula_of
from setwise.decisions.map_search import MapSearch
from setwise.losses import as_loss
from setwise.losses.combinations import MeanOverClasses

SLACK = 1e-4
"""The rounding that the sums of probabilities over classes may have, as they come from single precision."""


def least_expected_loss_of_map(
    probabilities: ArrayLike,
    loss: Loss | str,
    overlapping: bool = False,
    tol: float = 1e-3,
    classes: Sequence[int] | None = None,
) -> Decision:
    """``argmin over h of (1/k) sum_c E[loss([y = c], [h = c])]`` for a map of pixels with k classes, as mean IoU.

    The classes of the pixels are independent given their probabilities. With ``overlapping`` each class has a mask of
    its own, and all masks are best at once: k decisions of :func:`least_expected_loss`. Their mean is a lower bound for
    one label a pixel, where a search over prices of the classes finds a labeling: pixel i takes the class of the
    largest ``gain_c q_ic - price_c``. It is exact for two classes, up to ``tol``, and in maps of up to 10 pixels, which
    are divided in all ways. O(p k) for a change of the prices.

    Source: own; compared with the enumeration of all labelings in tests/decisions/test_maps.py.

    Parameters
    ----------
    probabilities : (..., k) of the k classes of each pixel, k >= 2; they have the sum 1, but for ``overlapping``
    loss : an increasing loss of counts, as ``"jaccard"`` or ``FBeta(zero_division=0.0)``, or its mean over classes
    overlapping : whether a pixel may have several classes, or none
    tol : the gap of the expected loss of a mask at which its search may stop in large maps
    classes : the numbers of the classes over which the mean is taken, as all but the background; None takes all. Where
        none of them is worth a pixel, the pixel gets the most probable one of the others

    Returns
    -------
    Decision
        ``labels`` (...) of 0..k-1, or bool (..., k) with ``overlapping``, and one value and bound, of the mean. With
        ``overlapping`` only ``classes`` have masks

    Raises
    ------
    Refusal : for a loss that is no function of the counts, or no increasing one of so many pixels
    ValueError : for probabilities outside of [0, 1] or without the sum 1, and classes that there are not
    TypeError : for a loss, a number or a flag of another kind

    Examples
    --------
    Class 1 is nowhere the most probable, so the usual labels never show it; the mean IoU asks for one pixel of it:

    >>> from setwise.decisions import least_expected_loss_of_map
    >>> q = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.55, 0.45]])
    >>> found = least_expected_loss_of_map(q, "jaccard")
    >>> found.labels.tolist(), q.argmax(axis=1).tolist()
    ([0, 0, 0, 1], [0, 0, 0, 0])
    """
    as_flag(overlapping, "overlapping")
    gap, q = as_number(tol, "tol", low=0.0), _checked(probabilities, overlapping)
    bound = as_loss(loss)
    inner = bound.loss if isinstance(bound, MeanOverClasses) else bound
    k = q.shape[-1]
    pixels = np.ascontiguousarray(q.reshape(-1, k))
    formula = formula_of(inner, len(pixels)) if inner.reads == "labels" else None
    if formula is None:
        raise Refusal(
            f"a decision of a map for {inner!r} is refused: it is no function of the counts of labels. Use FBeta or "
            "Jaccard.",
            DECISIONS_REFUSE,
        )
    chosen = _as_classes(classes, k)
    if k == 2 and len(chosen) == 2 and not overlapping:
        both = rule_for(MeanOverClasses(inner), len(pixels), gap).decide(pixels[None, :, 1])
        return _decision(both.labels.reshape(q.shape[:-1]).astype(np.int64), both.values, both.bounds)
    partial = len(chosen) < k
    rule, columns = rule_for(inner, len(pixels), gap), np.ascontiguousarray(pixels.T[chosen])
    masks = rule.decide(columns)
    least = masks.bounds.mean(keepdims=True)
    if overlapping:
        labels = np.zeros(pixels.shape, dtype=bool)
        labels[:, chosen] = masks.labels.T
        return _decision(labels.reshape(q.shape), masks.values.mean(keepdims=True), least)
    if len(pixels) <= FEW:
        found, value = best_partition(columns, chosen, rule, partial)
        least = np.array([value])
    elif len(chosen) == 1:
        found, value = np.where(masks.labels[0], chosen[0], -1), float(masks.values[0])
    else:
        found, value = MapSearch(pixels, chosen, rule, formula, masks.labels).run()
    return _decision(_filled(found, pixels, chosen).reshape(q.shape[:-1]), np.array([value]), least)


def _as_classes(classes: Sequence[int] | None, k: int) -> Ints:
    """The numbers of the classes over which the mean is taken, rising."""
    if classes is None:
        return np.arange(k)
    given = as_array(classes, "classes")
    if given.ndim != 1 or not len(given) or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"classes must be None or a sequence of class numbers; got {shown(classes)}.")
    chosen: Ints = np.unique(given).astype(np.int64)
    if len(chosen) < len(given) or chosen[0] < 0 or chosen[-1] >= k:
        raise ValueError(f"classes must be different numbers from 0 to {k - 1}; got {shown(classes)}.")
    return chosen


def _filled(labels: Ints, pixels: Values, chosen: Ints) -> Ints:
    """The labels, with the most probable of the other classes where the label is none of the chosen ones."""
    others = np.setdiff1d(np.arange(pixels.shape[1]), chosen)
    if not len(others):
        return labels
    return np.where(np.isin(labels, chosen), labels, others[pixels[:, others].argmax(axis=1)])


def _checked(probabilities: ArrayLike, overlapping: bool) -> Values:
    """The probabilities (..., k) in float64."""
    q = as_reals(probabilities, "probabilities")
    if q.ndim < 2 or q.size == 0 or q.shape[-1] < 2:
        raise ValueError(f"probabilities must have shape (..., k) with k >= 2 classes, not empty; got shape {q.shape}.")
    refuse_outside(q, "probabilities")
    sums = q.sum(axis=-1)
    if not overlapping and (np.abs(sums - 1.0) > SLACK).any():
        odd = float(sums.ravel()[np.abs(sums - 1.0).argmax()])
        raise ValueError(f"probabilities must have the sum 1 over the last axis, the classes; got the sum {odd:.9g}.")
    return q


def _decision(labels: NDArray[Any], values: Values, bounds: Values) -> Decision:
    return Decision(labels, values, np.minimum(bounds, values), bounds >= values)
