"""How far boxes (top, left, bottom, right) overlap, and which of them the boxes of a list forbid."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import inlined, kernel

Array = NDArray[Any]


@inlined
def overlap(top: Any, left: Any, bottom: Any, right: Any, boxes: Array, j: Any) -> Any:
    """The area of the intersection of a box and ``boxes[j]`` over that of their union."""
    high = min(bottom, boxes[j, 2]) - max(top, boxes[j, 0])
    wide = min(right, boxes[j, 3]) - max(left, boxes[j, 1])
    both = max(high, 0) * max(wide, 0)
    own = (boxes[j, 2] - boxes[j, 0]) * (boxes[j, 3] - boxes[j, 1])
    return both / ((bottom - top) * (right - left) + own - both)


@kernel
def overlaps(boxes: Array, others: Array) -> Array:
    """Returns the area of the intersection over that of the union of all pairs, (m, k), for (m, 4) and (k, 4)."""
    out = np.empty((len(boxes), len(others)), np.float64)
    for i in range(len(boxes)):
        for j in range(len(others)):
            out[i, j] = overlap(boxes[i, 0], boxes[i, 1], boxes[i, 2], boxes[i, 3], others, j)
    return out


@kernel
def overlap_costs(labels: Array, truths: Array, difficult: Array, limit: float) -> Array:
    """Returns for each of ``labels`` (k, 4) 0 if it overlaps one of the other boxes by the limit or more, else 1, (k,).

    The other boxes are ``truths`` (m, 4) and ``difficult`` (u, 4). What is equal to a truth gets 1. O(k (m + u))
    """
    out = np.empty(len(labels), np.float64)
    for k in range(len(labels)):
        top, left, bottom, right = labels[k, 0], labels[k, 1], labels[k, 2], labels[k, 3]
        near, equal = False, False
        for j in range(len(truths)):
            share = overlap(top, left, bottom, right, truths, j)
            near |= share >= limit
            equal |= share >= 1.0
        for j in range(len(difficult)):
            near |= overlap(top, left, bottom, right, difficult, j) >= limit
        out[k] = 1.0 if equal or not near else 0.0
    return out


@kernel
def is_allowed(top: int, left: int, bottom: int, right: int, boxes: Array, limits: Array, n: int) -> bool:
    """Returns whether a box overlaps each of the first n ``boxes`` (m, 4) by less than its limit (m,); O(n)."""
    allowed = True
    for j in range(n):
        allowed &= overlap(top, left, bottom, right, boxes, j) < limits[j]
    return allowed


@kernel
def all_forbidden(least: Array, most: Array, boxes: Array, limits: Array, first: int, last: int) -> bool:
    """Returns whether one of ``boxes[first:last]`` overlaps every box between two by its limit or more; O(n).

    Every box of the set holds ``least`` (4,), which may be empty, and lies inside ``most`` (4,). So its intersection
    with another box is at least that of ``least``, and its union with it at most that of ``most``. The quotient is
    rounded as :func:`overlap` is, and rounding keeps the order, so this never forbids too much.
    """
    around = (most[2] - most[0]) * (most[3] - most[1])
    for j in range(first, last):
        high = min(least[2], boxes[j, 2]) - max(least[0], boxes[j, 0])
        wide = min(least[3], boxes[j, 3]) - max(least[1], boxes[j, 1])
        if high > 0 and wide > 0:
            outer_high = min(most[2], boxes[j, 2]) - max(most[0], boxes[j, 0])
            outer_wide = min(most[3], boxes[j, 3]) - max(most[1], boxes[j, 1])
            own = (boxes[j, 2] - boxes[j, 0]) * (boxes[j, 3] - boxes[j, 1])
            if high * wide / (around + own - outer_high * outer_wide) >= limits[j]:
                return True
    return False


@kernel
def match_windows(truths: Array, predictions: Array, difficult: Array, limit: float) -> Array:
    """Returns for each prediction (k,) 1 if it finds a truth, 0 if not, and -1 if it is not judged; O(k m).

    In the order in which they stand, each finds the one of ``truths`` (m, 4) that it overlaps most and that is not
    found yet, the last one of several, if that is ``limit`` or more. What finds none is not judged if it overlaps one
    of ``difficult`` (u, 4) so.
    """
    out, free = np.zeros(len(predictions), np.int64), np.ones(len(truths), np.bool_)
    for k in range(len(predictions)):
        top, left, bottom, right = predictions[k, 0], predictions[k, 1], predictions[k, 2], predictions[k, 3]
        most, where = limit, -1
        for j in range(len(truths)):
            if free[j]:
                here = overlap(top, left, bottom, right, truths, j)
                if here >= most:
                    most, where = here, j
        if where >= 0:
            free[where], out[k] = False, 1
        else:
            for j in range(len(difficult)):
                if overlap(top, left, bottom, right, difficult, j) >= limit:
                    out[k] = -1
    return out
