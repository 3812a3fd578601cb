"""Set functions ``sum_i gamma_i min(|A ∩ {1..i}|, i / 2)`` over the prefixes of a sequence (LH Eq. 50-51)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]


@kernel
def prefix_values(mistakes: Array, offsets: Array, gamma: Array) -> Array:
    """The function of each set, (n,); ``mistakes`` (total,) bool in time order; O(total)."""
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
    """Gain of each decision that is not yet a mistake, (total,), 0 for the others; O(total)."""
    out = np.zeros(len(mistakes), np.float64)
    for i in range(len(offsets) - 1):
        first, last = offsets[i], offsets[i + 1]
        count = 0
        for j in range(first, last):
            count += mistakes[j]
        gain = 0.0
        for j in range(last - 1, first - 1, -1):
            t = j - first
            gain += gamma[t] * min(1.0, max(0.0, 0.5 * (t + 1) - count))
            if mistakes[j]:
                count -= 1
            else:
                out[j] = gain
    return out


@kernel
def prefix_gains(items: Array, starts: Array, offsets: Array, gamma: Array) -> Array:
    """Gains along each order of mistakes, (m,); O(p log p) a set.

    Time t gains 1 while fewer than floor((t+1)/2) mistakes lie in its prefix, then 1/2 once if t+1 is odd, then 0. The
    rank at which it stops is the k-th smallest among the ranks up to t; taking times away from the last backwards
    in a linked list of ranks moves that place by one at most. A Fenwick tree sums the gamma of the live times.
    """
    out = np.empty(len(items), np.float64)
    for i in range(len(starts) - 1):
        p = offsets[i + 1] - offsets[i]
        order = items[starts[i] : starts[i + 1]] - offsets[i]
        _gains(order, p, gamma, out[starts[i] : starts[i + 1]])
    return out


@kernel
def _gains(order: Array, p: int, gamma: Array, out: Array) -> None:
    m = len(order)
    full, half = _last_ranks(order, p)
    by_rank = _by_rank(full, m)
    tree = np.zeros(p + 1, np.float64)
    for t in range(p):
        _add(tree, t, gamma[t])
    at_half = np.zeros(m, np.float64)
    for t in range(p):
        if half[t] < m:
            # The rank that takes the last half step gains gamma_t / 2 if its place lies in the prefix, and it does.
            at_half[half[t]] += 0.5 * gamma[t]
    a = 0
    for r in range(m):
        while a < p and full[by_rank[a]] < r:
            _add(tree, by_rank[a], -gamma[by_rank[a]])
            a += 1
        out[r] = max(0.0, _suffix(tree, order[r])) + at_half[r]


@kernel
def _by_rank(full: Array, m: int) -> Array:
    """Times by their last rank (-1..m), in a counting sort."""
    first = np.zeros(m + 3, np.int64)
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
    """For each time t: the rank of its last whole step (-1 if none), and of its half step (m if none)."""
    m = len(order)
    rank = np.full(p, -1, np.int64)
    for r in range(m):
        rank[order[r]] = r
    after, before = np.empty(m + 1, np.int64), np.empty(m + 1, np.int64)
    for r in range(m + 1):
        after[r], before[r] = r + 1, r - 1
    full, half = np.empty(p, np.int64), np.full(p, m, np.int64)
    # ``at`` is the k-th smallest live rank (k from 1; k = 0 stands before the first), m when fewer are left.
    k = p // 2
    head = 0
    live = m
    at = -1 if k == 0 else (m if k > m else k - 1)
    for t in range(p - 1, -1, -1):
        if k > live:
            full[t] = m
        else:
            full[t] = at
            if (t + 1) % 2:
                nxt = head if at == -1 else after[at]
                half[t] = nxt
        r = rank[t]
        if r >= 0:
            # Take rank r out; the k-th smallest moves right if r was at or before it.
            if r == head:
                head = after[r]
            if before[r] >= 0:
                after[before[r]] = after[r]
            before[after[r]] = before[r]
            if k > 0 and k <= live and r <= at:
                at = after[at]
            live -= 1
        if (t + 1) % 2 == 0:
            # The prefix 1..t needs one fewer whole step than 1..t+1.
            k -= 1
            if k == 0:
                at = -1
            elif k <= live:
                at = before[at]
    return full, half


@kernel
def _add(tree: Array, t: int, x: float) -> None:
    k = t + 1
    while k < len(tree):
        tree[k] += x
        k += k & -k


@kernel
def _suffix(tree: Array, t: int) -> float:
    """Sum over times >= t."""
    total, k = 0.0, len(tree) - 1
    while k > 0:
        total += tree[k]
        k -= k & -k
    k = t
    while k > 0:
        total -= tree[k]
        k -= k & -k
    return total
