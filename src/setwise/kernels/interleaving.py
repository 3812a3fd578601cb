"""The worst ranking of positives and negatives that are each sorted by score.

Positives ``a`` and negatives ``b`` fall. A ranking is told by ``above[i]``, the number of negatives above positive i,
which never falls with i. Swapping pair (i, j) wins ``weight_i drop_(i+j) + c (b_j - a_i)``.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]


@kernel
def worst_monotone(a: Array, b: Array, weight: Array, drop: Array, c: float, above: Array) -> None:
    """The best ``above`` (P,) where ``drop`` never grows; O((P + N) log N).

    Negative j stands above the positives t_j, t_j + 1, ... Because every pair wins less for a later negative, each
    negative may choose for itself, and t_j never falls with j (Yue et al. 2007): divide and conquer over j.
    """
    P, N = len(a), len(b)
    first = np.empty(N, np.int64)
    stack = np.empty((2 * 64 + 2, 4), np.int64)
    stack[0] = (0, N, 0, P)
    depth = 1
    while depth:
        depth -= 1
        low, high, left, right = stack[depth]
        if low >= high:
            continue
        j = (low + high) // 2
        best, at, t = 0.0, right, 0.0
        for i in range(right - 1, left - 1, -1):
            t += weight[i] * drop[i + j] + c * (b[j] - a[i])
            if t > best:
                best = t
                at = i
        first[j] = at
        stack[depth] = (low, j, left, at)
        stack[depth + 1] = (j + 1, high, at, right)
        depth += 2
    j = 0
    for i in range(P):
        while j < N and first[j] <= i:
            j += 1
        above[i] = j


@kernel
def worst_truncated(a: Array, b: Array, weight: Array, drop: Array, c: float, depth: int, above: Array) -> None:
    """The best ``above`` (P,) where only ranks up to ``depth`` count; O(depth^2 + P + N).

    Dynamic programming over the first ranks: cell (i, j) holds i positives and j negatives placed. What comes after
    them loses nothing more, so it is swapped exactly where the scores win. A positive at rank r + 1 costs 1 - what
    the ranks below it could still lose, told by sums of ``drop`` from r on.
    """
    P, N = len(a), len(b)
    D = min(depth, P + N)
    gain = np.zeros(D + 1, np.float64)
    for r in range(min(D, len(drop)) - 1, -1, -1):
        gain[r] = gain[r + 1] + drop[r]
    sums = np.zeros(N + 1, np.float64)
    for j in range(N):
        sums[j + 1] = sums[j] + b[j]
    beaten, tails, scores = _free_tails(a, b, sums)
    width = min(D, N) + 1
    table = np.full((min(D, P) + 1, width), -np.inf)
    came = np.zeros((min(D, P) + 1, width), np.bool_)
    table[0, 0] = 0.0
    best, best_i, best_j = -np.inf, 0, 0
    for i in range(min(D, P) + 1):
        for j in range(min(D - i, N) + 1):
            if j > 0 and table[i, j - 1] > table[i, j]:
                table[i, j] = table[i, j - 1]
                came[i, j] = False
            if i > 0:
                # weight is the same for all places where the ranks are cut off, as in NDCG.
                value = table[i - 1, j] - weight[i - 1] * gain[i - 1 + j] + c * (sums[j] - j * a[i - 1])
                if value > table[i, j]:
                    table[i, j] = value
                    came[i, j] = True
            if i + j == D or (i == P and j == N):
                # The positives up to ``first`` are beaten by the j negatives placed, those after it by more.
                first = max(i, int(np.searchsorted(beaten, j)))
                level = sums[j] * (first - i) - j * (scores[i] - scores[first])
                value = table[i, j] + c * (level + tails[first])
                if value > best:
                    best, best_i, best_j = value, i, j
    for x in range(best_i, P):
        above[x] = max(best_j, beaten[x])
    i, j = best_i, best_j
    while i > 0:
        if came[i, j]:
            i -= 1
            above[i] = j
        else:
            j -= 1


@kernel
def _free_tails(a: Array, b: Array, sums: Array) -> tuple[Array, Array, Array]:
    """What the scores alone win behind the ranks that count; O(P + N).

    ``beaten`` (P,) holds how many negatives outscore each positive. ``tails[i]`` (P + 1,) is the score that the
    positives from i on win with so many negatives above each of them, and ``scores[i]`` (P + 1,) is their own sum.
    """
    P = len(a)
    beaten = np.empty(P, np.int64)
    k = 0
    for x in range(P):
        while k < len(b) and b[k] > a[x]:
            k += 1
        beaten[x] = k
    tails, scores = np.zeros(P + 1, np.float64), np.zeros(P + 1, np.float64)
    for x in range(P - 1, -1, -1):
        tails[x] = tails[x + 1] + sums[beaten[x]] - beaten[x] * a[x]
        scores[x] = scores[x + 1] + a[x]
    return beaten, tails, scores


@kernel
def split_classes(items: Array, labels: Array, starts: Array, positives: Array) -> Array:
    """``items`` with the positives of each set before its negatives, both in the order in which they came; O(m)."""
    out = np.empty(len(items), np.int64)
    for n in range(len(starts) - 1):
        a, b = starts[n], starts[n] + positives[n]
        for j in range(starts[n], starts[n + 1]):
            if labels[j]:
                out[a] = items[j]
                a += 1
            else:
                out[b] = items[j]
                b += 1
    return out


@kernel
def worst_rankings(
    scores: Array,
    places: Array,
    P: Array,
    offsets: Array,
    weight: Array,
    drop: Array,
    c: Array,
    depth: int,
    swaps: Array,
    values: Array,
) -> None:
    """Values (n,) and swapped pairs (total,) of ``max sum over swapped pairs of weight_i drop_(i+j) + c (b_j - a_i)``.

    ``places`` (total,) holds for each set the flat positions of its positives, then of its negatives, scores falling
    in each; ``weight`` and ``drop`` are flat with the offsets of the sets; a negative ``depth`` means that all ranks
    count. ``swaps`` counts for each decision the swapped pairs in which it stands; a set of one class has none.
    """
    for n in range(len(offsets) - 1):
        start, middle, stop = offsets[n], offsets[n] + P[n], offsets[n + 1]
        for j in range(start, stop):
            swaps[places[j]] = 0
        if start == middle or middle == stop:
            continue
        a, b = scores[places[start:middle]], scores[places[middle:stop]]
        above = np.empty(len(a), np.int64)
        w, d = weight[start:middle], drop[start:stop]
        if depth < 0 or depth >= len(d):
            worst_monotone(a, b, w, d, c[n], above)
        else:
            worst_truncated(a, b, w, d, c[n], depth, above)
        lost = np.zeros(len(d) + 1, np.float64)
        for r in range(len(d)):
            lost[r + 1] = lost[r] + d[r]
        below = np.zeros(len(b) + 1, np.int64)
        total = 0.0
        for i in range(len(a)):
            k = above[i]
            total += w[i] * (lost[i + k] - lost[i]) - c[n] * k * a[i]
            swaps[places[start + i]] = k
            below[k] += 1
        # A negative stands above every positive that has more negatives above it than the negative's own place.
        under = 0
        for j in range(len(b) - 1, -1, -1):
            under += below[j + 1]
            total += c[n] * under * b[j]
            swaps[places[middle + j]] = under
        values[n] = total


def ranking_losses(swaps: Array, labels: Array, offsets: Array, weight: Array, drop: Array) -> Array:
    """``sum_i weight_i sum_(j < k_i) drop_(i+j)`` of every set, (n,); ``swaps`` (total,) as :func:`worst_rankings` has
    them.
    """
    out = np.zeros(len(offsets) - 1)
    for n, (first, last) in enumerate(pairwise(offsets.tolist())):
        above = np.sort(swaps[first:last][labels[first:last]])
        lost = np.concatenate(([0.0], np.cumsum(drop[first:last])))
        i = np.arange(len(above))
        out[n] = float(weight[first : first + len(above)] @ (lost[i + above] - lost[i]))
    return out
