"""Labels along the paths of a trimap, and the relative orders of points on a grid.

Shortest paths from the outside of a trimap to its inside, and the best labels along paths that should not rise.
Relative orders of points on a grid: pairs that lie wrong, and the best labelings in which some or all do.
"""

import numpy as np

from setwise.kernels.jit import Array, inlined, kernel
from setwise.kernels.messages import largest
from setwise.kernels.segments import require_length, require_size


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


@inlined
def _misplaced(a: int, b: int, c: int, d: int, width: int) -> bool:
    """Whether the points a, b lie to each other otherwise than c, d, from top to bottom or from left to right."""
    rows, true_rows = a // width - b // width, c // width - d // width
    columns, true_columns = a % width - b % width, c % width - d % width
    return (
        (rows > 0) != (true_rows > 0)
        or (rows < 0) != (true_rows < 0)
        or (columns > 0) != (true_columns > 0)
        or (columns < 0) != (true_columns < 0)
    )


@kernel
def misplaced_pairs(labels: Array, truth: Array, offsets: Array, width: int) -> Array:
    """Returns the number of pairs of known points of each set, and how many of them lie wrong, (n, 2).

    ``labels`` and ``truth`` (total,) are states, of row ``v // width`` and column ``v % width``; a true state of -1 is
    not known. O(k^2) for a set of k points.
    """
    require_length(labels, offsets)
    require_length(truth, offsets)
    out = np.zeros((len(offsets) - 1, 2), np.int64)
    for n in range(len(offsets) - 1):
        for i in range(offsets[n], offsets[n + 1]):
            for j in range(i + 1, offsets[n + 1]):
                if truth[i] >= 0 and truth[j] >= 0:
                    out[n, 0] += 1
                    out[n, 1] += _misplaced(labels[i], labels[j], truth[i], truth[j], width)
    return out


@kernel
def best_misplaced(scores: Array, truth: Array, offsets: Array, width: int, worth: Array, labels: Array) -> None:
    """Writes ``argmax_y worth [some pair lies wrong] + sum_i scores[i, y_i]`` of each set into ``labels`` (total,).

    Where the best states lie right, the best labeling with a wrong pair differs from them in two points at most: those
    of the pair that loses least. Its rows, or its columns, lie wrong, so the best state of each row and column is
    enough. O(k S + k^2 (rows + columns)) for k points of S states.

    Parameters
    ----------
    scores : (total, S), below inf, one or more of each point finite
    truth : (total,) true states, -1 where they are not known
    worth : (n,) what a wrong order is worth
    """
    require_length(scores, offsets)
    require_length(truth, offsets)
    require_length(labels, offsets)
    require_size(worth, len(offsets) - 1)
    states = scores.shape[1]
    lines = np.array([(states + width - 1) // width, min(width, states)])
    longest = max(lines[0], lines[1])
    for n in range(len(offsets) - 1):
        first, k = offsets[n], offsets[n + 1] - offsets[n]
        # The best state of each point, and of each of its rows (0) and columns (1).
        best = np.full((2, k, longest), -1, np.int64)
        top = np.zeros(k, np.int64)
        for i in range(k):
            own = scores[first + i]
            for v in range(states):
                if own[v] > own[top[i]]:
                    top[i] = v
                for axis in range(2):
                    line = v // width if axis == 0 else v % width
                    if best[axis, i, line] < 0 or own[v] > own[best[axis, i, line]]:
                        best[axis, i, line] = v
            labels[first + i] = top[i]
        lost, one, other, state, partner = np.inf, -1, -1, -1, -1
        for i in range(k):
            for j in range(i + 1, k):
                if truth[first + i] < 0 or truth[first + j] < 0:
                    continue
                own, their = scores[first + i], scores[first + j]
                if _misplaced(top[i], top[j], truth[first + i], truth[first + j], width):
                    lost = 0.0
                    state, partner, one, other = top[i], top[j], i, j
                for axis in range(2):
                    count = lines[axis]
                    c, d = truth[first + i], truth[first + j]
                    true = c // width - d // width if axis == 0 else c % width - d % width
                    # One pass in each direction: ``before`` is the best line of j among those passed.
                    for direction in (1, -1):
                        before = -1
                        for step in range(count):
                            line = step if direction == 1 else count - 1 - step
                            a, here = best[axis, i, line], best[axis, j, line]
                            if before >= 0 and not (true > 0 if direction == 1 else true < 0):
                                loss = (own[top[i]] - own[a]) + (their[top[j]] - their[before])
                                if loss < lost:
                                    lost, one, other, state, partner = loss, i, j, a, before
                            if true != 0 and direction == 1:
                                loss = (own[top[i]] - own[a]) + (their[top[j]] - their[here])
                                if loss < lost:
                                    lost, one, other, state, partner = loss, i, j, a, here
                            if before < 0 or their[here] > their[before]:
                                before = here
        if one >= 0 and lost < worth[n]:
            labels[first + one], labels[first + other] = state, partner


@inlined
def _span(at: int, true: int, size: int) -> tuple[int, int]:
    """The lines of a second point that lie to line ``at`` as a true difference ``true`` says."""
    if true > 0:
        return 0, at
    return (at, at + 1) if true == 0 else (at + 1, size)


@kernel
def _gain(scores: Array, v: int, true: int, partner: int, width: int, worth: float, out: Array) -> float:
    """Writes the scores of one point plus what its pair with another one in state v is worth; returns the greatest."""
    states = len(scores)
    rows = (states + width - 1) // width
    low, high = _span(v // width, true // width - partner // width, rows)
    left, right = _span(v % width, true % width - partner % width, width)
    most = -np.inf
    for row in range(rows):
        inside = low <= row < high
        for u in range(row * width, min((row + 1) * width, states)):
            column = u - row * width
            out[u] = scores[u] if inside and left <= column < right else scores[u] + worth
            most = max(most, out[u])
    return most


@kernel
def search_pairs(
    scores: Array, truth: Array, width: int, worth: float, tol: float, budget: int, labels: Array
) -> tuple[float, float]:
    """Returns value and bound of ``max_y worth * (number of wrong pairs) + sum_i scores[i, y_i]``; labels are written.

    With ``worth`` of -inf no pair may lie wrong. Branch and bound over the points in their order, best states first.
    After each choice the states of the other points gain what their pairs with the chosen points are worth; a branch is
    bounded by the sum of the best gains and by the worth of all pairs that are still open. O(k S) for each branch.

    Parameters
    ----------
    scores : (k, S), below inf
    truth : (k,) known true states
    budget : the largest number of branches; those that are left out then enter the bound
    labels : (k,) a first labeling, which has to be allowed; the best one found is written here
    """
    k, states = scores.shape
    if k == 0 or len(truth) != k or len(labels) != k:
        raise ValueError("a set needs one point or more, with equally many true states and labels")
    # The gains of the states of each point, before the choice at each depth, and the greatest of them.
    gains, tops = np.empty((k, k, states)), np.zeros((k, k))
    chosen, sums = np.zeros(k, np.int64), np.zeros(k)
    best, pending, open_worth = 0.0, -np.inf, max(worth, 0.0)
    for i in range(k):
        best += scores[i, labels[i]]
        for j in range(i):
            if _misplaced(labels[j], labels[i], truth[j], truth[i], width):
                best += worth
        for v in range(states):
            gains[0, i, v] = scores[i, v]
        tops[0, i] = scores[i, largest(scores[i])]
    depth = 0
    while depth >= 0:
        rest = k - 1 - depth
        # What pairs of two points without a state are worth after this choice, and those of one with this point.
        later = open_worth * (rest * (rest - 1) // 2)
        loose = later + open_worth * rest
        for j in range(depth + 1, k):
            loose += tops[depth, j]
        own = gains[depth, depth]
        v = largest(own)
        value = sums[depth] + own[v]
        # States come best first, so that all that follow are no better.
        if not value + loose > best + tol or budget <= 0:
            pending = max(pending, value + loose)
            depth -= 1
            continue
        # A state that was tried is not tried again.
        own[v] = -np.inf
        budget -= 1
        chosen[depth] = v
        if rest == 0:
            best = value
            for i in range(k):
                labels[i] = chosen[i]
            continue
        bound = value + later
        for j in range(depth + 1, k):
            true, partner = truth[depth], truth[j]
            tops[depth + 1, j] = _gain(gains[depth, j], v, true, partner, width, worth, gains[depth + 1, j])
            bound += tops[depth + 1, j]
        if not bound > best + tol:
            pending = max(pending, bound)
            continue
        depth += 1
        sums[depth] = value
    return best, max(best, pending)
