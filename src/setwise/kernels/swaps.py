"""Labels of a network that are changed one by one, those first that lose least score."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel, require_length

Array = NDArray[Any]


@kernel
def flip_gains(scores: Array, ends: Array, pairs: Array, labels: Array) -> Array:
    """What the score gains if a node alone changes its label, (n,): ``scores`` (n,) of label 1, ``pairs`` of edges."""
    out = np.empty(len(scores))
    for i in range(len(scores)):
        out[i] = -scores[i] if labels[i] else scores[i]
    for e in range(len(ends)):
        a, b = ends[e, 0], ends[e, 1]
        step = -pairs[e] if labels[a] == labels[b] else pairs[e]
        out[a] += step
        out[b] += step
    return out


@kernel
def move_count(
    gains: Array, first: Array, heads: Array, weights: Array, members: Array, target: int, labels: Array
) -> None:
    """Changes ``labels`` until ``target`` of the ``members`` have label 1, each time the one of greatest gain.

    After that pairs of a 1 and a 0 change places as long as that gains score. ``gains`` (n,) are those of single
    changes, and are kept up to date; the arcs of node i are ``first[i]:first[i+1]`` with their ``heads`` and the
    scores ``weights`` of their edges. O(len(members)) for each change.
    """
    require_length(heads, first)
    require_length(weights, first)
    count = 0
    for i in members:
        count += labels[i]
    swaps = 0
    while True:
        if count == target:
            # The best node to leave and the best one to come, if they are worth it together.
            leaving, coming = np.int64(-1), np.int64(-1)
            for i in members:
                if labels[i] and (leaving < 0 or gains[i] > gains[leaving]):
                    leaving = i
                if not labels[i] and (coming < 0 or gains[i] > gains[coming]):
                    coming = i
            if leaving < 0 or coming < 0 or swaps > len(members):
                return
            together = gains[leaving] + gains[coming]
            for k in range(first[leaving], first[leaving + 1]):
                if heads[k] == coming:
                    together -= 2.0 * weights[k]
            if not together > 1e-12 * (abs(gains[leaving]) + abs(gains[coming])):
                return
            swaps += 1
            _flip(leaving, gains, first, heads, weights, labels)
            _flip(coming, gains, first, heads, weights, labels)
            continue
        up, best = count < target, np.int64(-1)
        for i in members:
            if labels[i] != up and (best < 0 or gains[i] > gains[best]):
                best = i
        if best < 0:
            return
        _flip(best, gains, first, heads, weights, labels)
        count += 1 if up else -1


@kernel
def _flip(i: Any, gains: Array, first: Array, heads: Array, weights: Array, labels: Array) -> None:
    """Changes the label of node i, and the gains of its neighbors."""
    labels[i] = not labels[i]
    gains[i] = -gains[i]
    for k in range(first[i], first[i + 1]):
        j = heads[k]
        # A neighbor that agrees now loses the edge if it changes, and one that does not wins it.
        gains[j] += -2.0 * weights[k] if labels[i] == labels[j] else 2.0 * weights[k]
