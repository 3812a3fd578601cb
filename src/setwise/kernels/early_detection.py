"""Set functions ``sum_i gamma_i min(|A ∩ {1..i}|, i / 2)`` over the prefixes of a sequence (LH Eq. 50-51).

The loops count times t from 0, so the prefix of time t holds t + 1 decisions and its term is at most (t + 1) / 2.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel, require_length

Array = NDArray[Any]


@kernel
def prefix_values(mistakes: Array, offsets: Array, gamma: Array) -> Array:
    """Returns the function of each set, (n,); ``mistakes`` (total,) bool are in the order of time; O(total)."""
    require_length(mistakes, offsets)
    n = len(offsets) - 1
    out = np.zeros(n, np.float64)
    for i in range(n):
        count = 0
        for t in range(offsets[i + 1] - offsets[i]):
            count += mistakes[offsets[i] + t]
            out[i] += gamma[t] * min(float(count), 0.5 * (t + 1))
    return out


@kernel
def prefix_marginals(mistakes: Array, offsets: Array, gamma: Array) -> Array:
    """Returns the gain of each decision as one more mistake, (total,), 0 for those that are mistakes; O(total)."""
    require_length(mistakes, offsets)
    out = np.zeros(len(mistakes), np.float64)
    for i in range(len(offsets) - 1):
        first, last = offsets[i], offsets[i + 1]
        count = 0
        for j in range(first, last):
            count += mistakes[j]
        # From the last time backwards, ``gain`` sums what one more mistake adds to all prefixes from t on.
        gain = 0.0
        for j in range(last - 1, first - 1, -1):
            t = j - first
            # It adds 1, or what is left of the bound of this prefix.
            gain += gamma[t] * min(1.0, max(0.0, 0.5 * (t + 1) - count))
            if mistakes[j]:
                count -= 1
            else:
                out[j] = gain
    return out


@kernel
def prefix_gains(items: Array, starts: Array, offsets: Array, gamma: Array) -> Array:
    """Returns the gains along each order of mistakes, (m,); O(p log p) for a set.

    The first k = floor((t+1)/2) mistakes in the prefix of time t gain gamma_t each, the next one gains gamma_t / 2 if
    t+1 is odd, and later ones gain nothing. The last mistake that gains in full has the k-th smallest rank among the
    mistakes of the prefix. Where the prefix loses its last time, that place moves by at most one in a linked list of
    the ranks. A Fenwick tree then sums gamma over the times that still gain in full.
    """
    out = np.empty(len(items), np.float64)
    for i in range(len(starts) - 1):
        p = offsets[i + 1] - offsets[i]
        order = items[starts[i] : starts[i + 1]] - offsets[i]
        _gains(order, p, gamma, out[starts[i] : starts[i + 1]])
    return out


@kernel
def _gains(order: Array, p: int, gamma: Array, out: Array) -> None:
    """Writes the gains along the order of one set with p decisions, (m,)."""
    m = len(order)
    full, half = _last_ranks(order, p)
    by_rank = _by_rank(full, m)
    tree = np.zeros(p + 1, np.float64)
    for t in range(p):
        _add(tree, t, gamma[t])
    at_half = np.zeros(m, np.float64)
    for t in range(p):
        if half[t] < m:
            # The mistake of this rank lies in the prefix of t, so it does gain the half.
            at_half[half[t]] += 0.5 * gamma[t]
    a = 0
    for r in range(m):
        # Take out the times whose last full gain lies before this rank.
        while a < p and full[by_rank[a]] < r:
            _add(tree, by_rank[a], -gamma[by_rank[a]])
            a += 1
        # The mistake lies in the prefixes of its own and all later times. Removals may leave a sum just below 0.
        out[r] = max(0.0, _suffix(tree, order[r])) + at_half[r]


@kernel
def _by_rank(full: Array, m: int) -> Array:
    """Returns the times in the order of the rank (-1..m) of their last full gain, by a counting sort."""
    first = np.zeros(m + 3, np.int64)
    # Count one place further on, so that the running sums are where each rank begins.
    for r in full:
        first[r + 2] += 1
    for r in range(m + 2):
        first[r + 1] += first[r]
    out = np.empty(len(full), np.int64)
    for t in range(len(full)):
        out[first[full[t] + 1]] = t
        first[full[t] + 1] += 1
    return out


@kernel
def _last_ranks(order: Array, p: int) -> tuple[Array, Array]:
    """Returns for each time the ranks of its last full gain (-1 if none) and of its half gain (m if none); O(p)."""
    m = len(order)
    rank = np.full(p, -1, np.int64)
    for r in range(m):
        rank[order[r]] = r
    # A doubly linked list of all ranks, with m behind the last.
    after, before = np.empty(m + 1, np.int64), np.empty(m + 1, np.int64)
    for r in range(m + 1):
        after[r], before[r] = r + 1, r - 1
    full, half = np.empty(p, np.int64), np.full(p, m, np.int64)
    # ``at`` is the k-th smallest rank in the list: -1 for k = 0, and m where fewer than k are left.
    k = p // 2
    head = 0
    live = m
    at = -1 if k == 0 else (m if k > m else k - 1)
    for t in range(p - 1, -1, -1):
        if k > live:
            # With fewer than k mistakes in the prefix, each of them gains in full.
            full[t] = m
        else:
            full[t] = at
            if (t + 1) % 2:
                nxt = head if at == -1 else after[at]
                half[t] = nxt
        r = rank[t]
        if r >= 0:
            # The next prefix is without time t: take its rank out of the list.
            if r == head:
                head = after[r]
            if before[r] >= 0:
                after[before[r]] = after[r]
            before[after[r]] = before[r]
            # The k-th smallest is the next one where a rank up to it was taken out.
            if k > 0 and k <= live and r <= at:
                at = after[at]
            live -= 1
        if (t + 1) % 2 == 0:
            # The next prefix has one full gain less.
            k -= 1
            if k == 0:
                at = -1
            elif k <= live:
                at = before[at]
    return full, half


@kernel
def _add(tree: Array, t: int, x: float) -> None:
    """Adds x at time t of a Fenwick tree; O(log p)."""
    k = t + 1
    while k < len(tree):
        tree[k] += x
        k += k & -k


@kernel
def _suffix(tree: Array, t: int) -> float:
    """Returns the sum over the times >= t of a Fenwick tree; O(log p)."""
    # The sum over all times, less the sum over those before t.
    total, k = 0.0, len(tree) - 1
    while k > 0:
        total += tree[k]
        k -= k & -k
    k = t
    while k > 0:
        total -= tree[k]
        k -= k & -k
    return total
