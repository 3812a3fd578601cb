"""Shortest paths from the outside of a trimap to its inside, and the best labels along paths that should not rise."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel, require_length

Array = NDArray[Any]


@kernel
def distances_inward(labels: Array, first: Array, heads: Array) -> Array:
    """The number of unknown nodes on a shortest path through them from each one to a node with label 1, (n,) int64.

    ``labels`` are -1, 0, 1; the neighbors of node i are ``heads[first[i]:first[i+1]]``. It is 1 for unknown nodes next
    to a label 1, and 0 for known nodes and where there is no such path. O(n + m).
    """
    require_length(heads, first)
    n = len(labels)
    out, queue = np.zeros(n, np.int64), np.empty(n, np.int64)
    begin, end = 0, 0
    for i in range(n):
        if labels[i] == -1:
            for k in range(first[i], first[i + 1]):
                if labels[heads[k]] == 1:
                    out[i] = 1
            if out[i]:
                queue[end] = i
                end += 1
    while begin < end:
        i = queue[begin]
        begin += 1
        for k in range(first[i], first[i + 1]):
            j = heads[k]
            if labels[j] == -1 and out[j] == 0:
                out[j] = out[i] + 1
                queue[end] = j
                end += 1
    return out


@kernel
def next_inward(distances: Array, first: Array, heads: Array) -> Array:
    """The neighbor of smallest number that is one step closer to the inside, (n,); -1 at the end of a path."""
    require_length(heads, first)
    out = np.full(len(distances), -1, np.int64)
    for i in range(len(distances)):
        for k in range(first[i], first[i + 1]):
            j = heads[k]
            if distances[i] > 1 and distances[j] == distances[i] - 1 and (out[i] < 0 or j < out[i]):
                out[i] = j
    return out


@kernel
def path_ends(labels: Array, first: Array, heads: Array, distances: Array, inward: Array) -> Array:
    """The outer ends of paths that together cover all nodes with a distance, in the order of their making (HOL 4.2 C).

    First, by number, the nodes next to a label 0 that no path before passes; then, farthest first and by number, all
    other nodes that no path before passes.
    """
    require_length(heads, first)
    n = len(labels)
    used, outer = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    for i in range(n):
        for k in range(first[i], first[i + 1]):
            outer[i] |= labels[heads[k]] == 0
    farthest = np.argsort(-distances, kind="mergesort")
    out, found = np.empty(n, np.int64), 0
    for step in range(2 * n):
        i = step if step < n else farthest[step - n]
        if distances[i] > 0 and not used[i] and (outer[i] or step >= n):
            out[found] = i
            found += 1
            while i >= 0 and not used[i]:
                used[i] = True
                i = inward[i]
    return out[:found].copy()


@kernel
def trace_paths(ends: Array, inward: Array, starts: Array) -> Array:
    """The nodes of the paths from the inside to each of ``ends``, path by path; ``starts`` are where they begin."""
    out = np.empty(starts[-1], np.int64)
    for k in range(len(ends)):
        i = ends[k]
        for place in range(starts[k + 1] - 1, starts[k] - 1, -1):
            out[place] = i
            i = inward[i]
    return out


@kernel
def path_maxima(scores: Array, starts: Array, costs: Array, chosen: Array) -> Array:
    """``max_y cost [y is not 1..10..0] + <s, y>`` of each path, (paths,), and its labels in ``chosen``; O(entries).

    Labels that do not fall along the path have a 0 somewhere before a 1. With two such places i < j given all others
    are free, so the best of them lose only ``min over i < j of max(s_i, 0) + max(-s_j, 0)``.
    """
    require_length(scores, starts)
    require_length(chosen, starts)
    out = np.empty(len(starts) - 1)
    for k in range(len(out)):
        low, high = starts[k], starts[k + 1]
        free, total, best, at = 0.0, 0.0, 0.0, low
        lost, cheapest, zero, i, j = np.inf, np.inf, low, low, low
        for e in range(low, high):
            down, up = max(scores[e], 0.0), max(-scores[e], 0.0)
            if cheapest + up < lost:
                lost, i, j = cheapest + up, zero, e
            if down < cheapest:
                cheapest, zero = down, e
            free += down
            total += scores[e]
            if total > best:
                best, at = total, e + 1
        broken = costs[k] + free - lost
        for e in range(low, high):
            chosen[e] = scores[e] > 0.0 if broken > best else e < at
        if broken > best:
            chosen[i], chosen[j] = False, True
        out[k] = max(best, broken)
    return out


@kernel
def path_marginals(scores: Array, starts: Array, costs: Array) -> Array:
    """``M[e, v] = max over y with y_e = v of cost [y is not 1..10..0] + <s, y>`` on the path of entry e; O(entries)."""
    require_length(scores, starts)
    out = np.empty((len(scores), 2))
    for k in range(len(starts) - 1):
        low, n = starts[k], starts[k + 1] - starts[k]
        # From each place on: the best sum of the places before an end, the cheapest 1, and the cheapest 0 before a 1.
        sums, ends = np.zeros(n + 1), np.full(n + 2, -np.inf)
        one, pair = np.full(n + 1, np.inf), np.full(n + 1, np.inf)
        free = 0.0
        for r in range(n):
            sums[r + 1] = sums[r] + scores[low + r]
            free += max(scores[low + r], 0.0)
        for r in range(n, -1, -1):
            ends[r] = max(ends[r + 1], sums[r])
            if r < n:
                s = scores[low + r]
                pair[r] = min(pair[r + 1], max(s, 0.0) + one[r + 1])
                one[r] = min(one[r + 1], max(-s, 0.0))
        before, zero, both = -np.inf, np.inf, np.inf
        for r in range(n):
            s = scores[low + r]
            down, up = max(s, 0.0), max(-s, 0.0)
            before = max(before, sums[r])
            others = min(both, pair[r + 1], zero + one[r + 1])
            out[low + r, 0] = max(before, costs[k] + free - down - min(one[r + 1], others))
            out[low + r, 1] = max(ends[r + 1], costs[k] + free - up - min(zero, others))
            both = min(both, zero + up)
            zero = min(zero, down)
    return out
