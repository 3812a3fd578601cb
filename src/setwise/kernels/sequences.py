"""The best labelings of sequences, and at each distance from a given one; the best assignments of rows to columns."""

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count

import numpy as np

from setwise.kernels.jit import Array, kernel
from setwise.kernels.segments import require_length, require_size


@kernel
def best_sequences(unary: Array, pairs: Array, offsets: Array, K: int) -> tuple[Array, Array]:
    """Returns the K labelings y of each sequence with the largest ``sum_t u_t[y_t] + sum_t P[y_t, y_t+1]``.

    By lists of the K best beginnings that end in each label; O(T k^2 K) for a sequence of length T. Of equal sums the
    same one comes first for every K.

    Parameters
    ----------
    unary : (total, k) the scores of the labels at each place
    pairs : (n, k, k) the scores of neighboring labels, one table for each sequence
    offsets : (n+1,) int64; sequence i has the places ``offsets[i]:offsets[i+1]``, one or more
    K : how many, 1 or more

    Returns
    -------
    labels : (K, total) int64, the best first; -1 in the rows beyond the last labeling
    sums : (K, n) in falling order; -inf beyond the last labeling
    """
    require_length(unary, offsets)
    require_size(offsets[1:], len(pairs))
    n, k = len(offsets) - 1, unary.shape[1]
    labels, sums = np.full((K, len(unary)), -1, np.int64), np.full((K, n), -np.inf)
    for i in range(n):
        low, T = offsets[i], offsets[i + 1] - offsets[i]
        # Where the r-th best beginning that ends in b at place t comes from: rank * k + label at place t - 1.
        back = np.empty((T, k, K), np.int64)
        best, found = np.empty((k, K)), np.ones(k, np.int64)
        for b in range(k):
            best[b, 0] = unary[low, b]
        ends, heads = np.empty(K), np.empty(k, np.int64)
        for t in range(1, T):
            longer = np.empty((k, K))
            counts = np.empty(k, np.int64)
            for b in range(k):
                heads[:] = 0
                counts[b] = _merged(best, found, pairs[i, :, b], heads, longer[b], back[t, b])
                for r in range(counts[b]):
                    longer[b, r] += unary[low + t, b]
            best, found = longer, counts
        last = np.empty(K, np.int64)
        heads[:] = 0
        many = _merged(best, found, np.zeros(k), heads, ends, last)
        for r in range(many):
            sums[r, i] = ends[r]
            at = last[r]
            for t in range(T - 1, -1, -1):
                rank, label = at // k, at % k
                labels[r, low + t] = label
                if t > 0:
                    at = back[t, label, rank]
    return labels, sums


@kernel
def _merged(lists: Array, sizes: Array, added: Array, heads: Array, out: Array, sources: Array) -> int:
    """Merges falling lists, to each of which a number is added, and returns the length of the merged one.

    Writes its largest numbers and where they come from, ``rank * k + list``. ``heads`` must be 0.
    """
    k, count = len(lists), 0
    while count < len(out):
        top, value = -1, -np.inf
        for a in range(k):
            if heads[a] < sizes[a] and (top < 0 or lists[a, heads[a]] + added[a] > value):
                top, value = a, lists[a, heads[a]] + added[a]
        if top < 0:
            break
        out[count], sources[count] = value, heads[top] * k + top
        heads[top] += 1
        count += 1
    return count


@kernel
def best_by_distance(unary: Array, pairs: Array, truth: Array) -> tuple[Array, Array]:
    """Returns the best labeling of one sequence among those that differ from ``truth`` at d places, for d = 0..T.

    The sum of a labeling is that of :func:`best_sequences`. O(T^2 k^2) time and O(T^2 k) memory.

    Parameters
    ----------
    unary : (T, k)
    pairs : (k, k)
    truth : (T,) labels in 0..k-1

    Returns
    -------
    sums : (T+1,) the largest sum at each distance; -inf where there is no such labeling, as with one label
    labels : (T+1, T) int64, the labelings; -1 where there is none
    """
    T, k = unary.shape
    if len(truth) != T:
        raise ValueError("truth must have a label for each place of the sequence")
    best = np.full((k, T + 1), -np.inf)
    for b in range(k):
        best[b, 0 if b == truth[0] else 1] = unary[0, b]
    back = np.full((T, k, T + 1), -1, np.int32)
    for t in range(1, T):
        longer = np.full((k, T + 1), -np.inf)
        for b in range(k):
            wrong = 0 if b == truth[t] else 1
            for a in range(k):
                # After t places at most t of them differ.
                for d in range(t + 1):
                    value = best[a, d] + pairs[a, b]
                    if value > longer[b, d + wrong]:
                        longer[b, d + wrong] = value
                        back[t, b, d + wrong] = a
            for d in range(t + 2):
                longer[b, d] += unary[t, b]
        best = longer
    sums, labels = np.full(T + 1, -np.inf), np.full((T + 1, T), -1, np.int64)
    for d in range(T + 1):
        label = np.argmax(best[:, d])
        sums[d] = best[label, d]
        if sums[d] == -np.inf:
            continue
        left = d
        for t in range(T - 1, -1, -1):
            labels[d, t] = label
            if t > 0:
                before = back[t, label, left]
                left -= 0 if label == truth[t] else 1
                label = before
    return sums, labels


def best_assignments(scores: Array) -> Iterator[tuple[float, Array]]:
    """Yields ``sum_r S[r, y_r]`` and the columns y (n,) of all assignments, the largest sum first (Murty 1968).

    An assignment gives each of n rows a column of its own, out of m >= n. All but the best one are divided by the first
    row in which they differ from it; the best of each part is an assignment problem again. So each next assignment
    costs n problems of O(n^2 m) at most.

    Parameters
    ----------
    scores : (n, m) finite, n <= m

    Raises
    ------
    ValueError : for more rows than columns
    """
    n, m = scores.shape
    if n > m:
        raise ValueError(f"scores must have as many columns as rows or more, a column for each row; got {n} x {m}.")
    scores = scores.astype(np.float64)
    # Tickets break ties of the heap, which cannot compare arrays.
    ticket = count()
    heap: list[tuple[float, int, Array, int, Array]] = []

    def push(columns: Array, first: int, banned: Array) -> None:
        """The best assignment that has the columns of the rows before ``first``, and not the banned ones there."""
        found = _completed(scores, columns, first, banned)
        if found is not None:
            rest = float(scores[np.arange(n), found].sum())
            heappush(heap, (-rest, next(ticket), found, first, banned))

    push(np.zeros(n, dtype=np.int64), 0, np.zeros(m, dtype=bool))
    while heap:
        value, _, columns, first, banned = heappop(heap)
        yield -value, columns
        for row in range(first, n):
            # Rows before this one agree with the assignment, and this one does not.
            others = banned.copy() if row == first else np.zeros(m, dtype=bool)
            others[columns[row]] = True
            push(columns, row, others)


def _completed(scores: Array, columns: Array, first: int, banned: Array) -> Array | None:
    """The best assignment with given columns of the first rows, where row ``first`` has none of the banned columns."""
    # To import it takes longer than most calls of the library.
    from scipy.optimize import linear_sum_assignment

    free = np.ones(scores.shape[1], dtype=bool)
    free[columns[:first]] = False
    if not (free & ~banned).any():
        return None
    left = np.flatnonzero(free)
    part = scores[first:, left]
    part[0, banned[left]] = -np.inf
    out = columns.copy()
    out[first:] = left[linear_sum_assignment(part, maximize=True)[1]]
    return out
