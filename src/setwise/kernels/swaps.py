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


@kernel
def climb_paths(
    gains: Array, first: Array, heads: Array, weights: Array, members: Array, starts: Array, costs: Array, labels: Array
) -> None:
    """Changes single ``labels`` along paths as long as score and cost of broken paths gain together, in rounds.

    ``gains``, ``first``, ``heads`` and ``weights`` are as for :func:`move_count`, and the paths as for
    :class:`setwise.core.paths.PathOrders`. A round costs O(entries), and there are at most 20.
    """
    require_length(members, starts)
    require_length(heads, first)
    require_length(weights, first)
    owners, rises = np.empty(len(members), np.int64), np.zeros(len(costs), np.int64)
    for k in range(len(costs)):
        for e in range(starts[k], starts[k + 1]):
            owners[e] = k
            rises[k] += e > starts[k] and labels[members[e]] and not labels[members[e - 1]]
    order = np.argsort(members, kind="mergesort")
    for _ in range(20):
        before, changed = 0, False
        while before < len(order):
            i, after = members[order[before]], before
            won = gains[i]
            while after < len(order) and members[order[after]] == i:
                e = order[after]
                k = owners[e]
                now = rises[k] + _rises_won(members, starts, labels, e, k)
                won += costs[k] * ((now > 0) - (rises[k] > 0))
                after += 1
            if won > 1e-12 * (1.0 + abs(gains[i])):
                for at in range(before, after):
                    e = order[at]
                    rises[owners[e]] += _rises_won(members, starts, labels, e, owners[e])
                _flip(i, gains, first, heads, weights, labels)
                changed = True
            before = after
        if not changed:
            return


@kernel
def _rises_won(members: Array, starts: Array, labels: Array, e: Any, k: Any) -> int:
    """How many more places of path k have a 1 after a 0 if entry e of it changes its label."""
    own, out = labels[members[e]], 0
    if e > starts[k] and not labels[members[e - 1]]:
        out += -1 if own else 1
    if e + 1 < starts[k + 1] and labels[members[e + 1]]:
        out += 1 if own else -1
    return out
