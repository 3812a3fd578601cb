"""Maxima of set functions plus scores: the number of mistakes, the largest cost, regions, prefixes, tables.

A table holds all subsets of a small set; its labelings come in an order in which each differs from the one before by
one label. Prefixes have the set functions ``sum_i gamma_i min(|A ∩ {1..i}|, i / 2)`` over the prefixes of a sequence
(LH Eq. 50-51).

The loops count times t from 0, so the prefix of time t holds t + 1 decisions and its term is at most (t + 1) / 2.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from setwise.kernels.jit import Array, bare, kernel, plain_first
from setwise.kernels.segments import require_length, require_size


def _plain_best_prefix(
    losses: Array, at_empty: Array, gains: Array, items: Array, starts: Array, slack: bool, mistakes: Array
) -> None:
    for i, (first, last) in enumerate(pairwise(starts.tolist())):
        if first == last:
            continue
        totals, own = np.cumsum(gains[first:last], dtype=np.float64), losses[first:last]
        values = own * (1.0 + totals) if slack else own + totals
        # NaN is above nothing.
        best = int(np.where(np.isnan(values), -np.inf, values).argmax())
        if values[best] > at_empty[i]:
            mistakes[items[first : first + best + 1]] = True


@plain_first(_plain_best_prefix, large=1 << 16, counted=4)
@kernel
def best_prefix(
    losses: Array, at_empty: Array, gains: Array, items: Array, starts: Array, slack: bool, mistakes: Array
) -> None:
    """Marks the first k ``items`` of each set, for the k that maximizes ``loss_k + G_k``, or ``loss_k (1 + G_k)``.

    ``G_k`` is the sum of the first k ``gains`` in score, which fall inside each set; the product is that of slack
    rescaling. ``losses`` (total,) holds the loss of 1, 2, ... mistakes and ``at_empty`` (n,) that of none. ``mistakes``
    (total,) bool must be all False on entry. O(total).
    """
    for i in range(len(starts) - 1):
        best = at_empty[i]
        stop = starts[i]
        total = 0.0
        # The gains fall, so the best set of k mistakes consists of the first k items.
        for j in range(starts[i], starts[i + 1]):
            total += gains[j]
            value = losses[j] * (1.0 + total) if slack else losses[j] + total
            # Of equal values the one with fewest mistakes is kept.
            if value > best:
                best = value
                stop = j + 1
        for j in range(starts[i], stop):
            mistakes[items[j]] = True


@kernel
def segment_maxima(x: Array, mask: Array, offsets: Array) -> Array:
    """Returns the largest entry of each segment where ``mask`` is true, or 0, (n,) float64; O(total)."""
    require_length(x, offsets)
    require_length(mask, offsets)
    out = np.zeros(len(offsets) - 1, np.float64)
    for i in range(len(out)):
        for j in range(offsets[i], offsets[i + 1]):
            if mask[j] and x[j] > out[i]:
                out[i] = x[j]
    return out


@kernel
def running_maxima(x: Array, offsets: Array) -> Array:
    """Returns the largest of 0 and the entries so far inside each segment, (total,) float64; O(total)."""
    require_length(x, offsets)
    out = np.empty(len(x), np.float64)
    for i in range(len(offsets) - 1):
        most = 0.0
        for j in range(offsets[i], offsets[i + 1]):
            most = max(most, x[j])
            out[j] = most
    return out


@kernel
def best_largest(costs: Array, gains: Array, order: Array, offsets: Array, slack: bool, single: bool) -> Array:
    """Returns the mistakes of largest ``max_A c + sum_A g``, or with slack ``(max_A c) (1 + sum_A g)``, (total,) bool.

    ``order`` (total,) lists the entries of each segment by rising costs c >= 0, and g are the gains in score. A set
    may have no mistake, which is worth 0; with ``single`` it has at most one. O(total)

    The mistake of largest cost is tried in turn: beside it stand the ones before it in the order whose gains are
    above 0.
    """
    require_length(costs, offsets)
    mistakes = np.zeros(len(costs), np.bool_)
    for i in range(len(offsets) - 1):
        best, last, before = 0.0, -1, 0.0
        for k in range(offsets[i], offsets[i + 1]):
            j = order[k]
            score = gains[j] if single else gains[j] + before
            value = costs[j] * (1.0 + score) if slack else costs[j] + score
            if value > best:
                best, last = value, k
            before += max(gains[j], 0.0)
        if last >= 0:
            mistakes[order[last]] = True
            if not single:
                for k in range(offsets[i], last):
                    mistakes[order[k]] = gains[order[k]] > 0.0
    return mistakes


@kernel
def best_counts(scores: Array, starts: Array, tables: Array, chosen: Array) -> Array:
    """``max_y f_b(sum of y) + <s, y>`` of each region b, (B,), and its best entries in ``chosen``; O(n log n).

    Region b holds the entries ``starts[b]:starts[b+1]``, n_b of them, and ``tables[starts[b] + b:]`` begins with the
    values of f_b at 0..n_b. For a given number the entries of largest score are best. Of equal maxima the smallest
    number is taken.
    """
    require_length(scores, starts)
    require_length(chosen, starts)
    if len(tables) < len(scores) + len(starts) - 1:
        raise ValueError("an array is shorter than the regions whose entries it should hold")
    out = np.empty(len(starts) - 1)
    for b in range(len(out)):
        low, high = starts[b], starts[b + 1]
        order = np.argsort(-scores[low:high], kind="mergesort")
        best, at, won = tables[low + b], 0, 0.0
        for c in range(high - low):
            won += scores[low + order[c]]
            if tables[low + b + c + 1] + won > best:
                best, at = tables[low + b + c + 1] + won, c + 1
        chosen[low:high] = False
        for c in range(at):
            chosen[low + order[c]] = True
        out[b] = best
    return out


@kernel
def region_marginals(scores: Array, starts: Array, tables: Array) -> Array:
    """``M[e, v] = max over y with y_e = v of f_b(sum of y) + <s, y>`` in the region b of entry e, (entries, 2).

    O(n log n). With an entry of rank r forced in, numbers above r have their usual best choice, and smaller ones give
    up their last entry for it; with it forced out, numbers above r take one entry more.
    """
    require_length(scores, starts)
    if len(tables) < len(scores) + len(starts) - 1:
        raise ValueError("an array is shorter than the regions whose entries it should hold")
    out = np.empty((len(scores), 2))
    for b in range(len(starts) - 1):
        low, n = starts[b], starts[b + 1] - starts[b]
        table = tables[low + b : low + b + n + 1]
        order = np.argsort(-scores[low : low + n], kind="mergesort")
        sums = np.zeros(n + 1)
        for c in range(n):
            sums[c + 1] = sums[c] + scores[low + order[c]]
        # The best of all numbers from c on as they are, and of those below n with one entry more.
        usual, more = np.full(n + 2, -np.inf), np.full(n + 2, -np.inf)
        for c in range(n, -1, -1):
            usual[c] = max(usual[c + 1], table[c] + sums[c])
            more[c] = more[c + 1] if c == n else max(more[c + 1], table[c] + sums[c + 1])
        fewer, up_to = -np.inf, -np.inf
        for r in range(n):
            e = low + order[r]
            up_to = max(up_to, table[r] + sums[r])
            if r > 0:
                fewer = max(fewer, table[r] + sums[r - 1])
            out[e, 1] = max(usual[r + 1], fewer + scores[e])
            out[e, 0] = max(up_to, more[r + 1] - scores[e])
    return out


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


@kernel
def best_subsets(
    table: Array, costs: Array, margins: Array, offsets: Array, members: Array, slack: bool, mistakes: Array
) -> None:
    """Marks the A that maximizes ``l_A - m(A)``, or ``l_A (1 - m(A))``, for each set in ``members``; O(2^p) for a set.

    ``l_A`` is ``table_A`` plus the ``costs`` (total,) in A, and ``m(A)`` is the sum of the ``margins`` (total,) in A.
    ``table`` (2^p,) is indexed by the bits of A; it is -inf where A is not allowed.
    """
    require_length(costs, offsets)
    require_length(margins, offsets)
    size = len(table)
    margin_sums, cost_sums = np.zeros(size, np.float64), np.zeros(size, np.float64)
    for i in members:
        width, bit = 1, offsets[i]
        # Double the table of sums: with one more decision, A is a smaller A plus that decision.
        while width < size:
            for a in range(width):
                margin_sums[width + a] = margin_sums[a] + margins[bit]
                cost_sums[width + a] = cost_sums[a] + costs[bit]
            width *= 2
            bit += 1
        best, at = -np.inf, 0
        for a in range(size):
            loss = table[a] + cost_sums[a]
            value = loss * (1.0 - margin_sums[a]) if slack else loss - margin_sums[a]
            # Under slack rescaling an A that is not allowed would be worth +inf where its factor is negative.
            if value > best and loss > -np.inf:
                best = value
                at = a
        # The bits of the best index are the mistakes.
        for j in range(offsets[i], offsets[i + 1]):
            mistakes[j] = (at >> (j - offsets[i])) & 1


@kernel
def best_labelings(
    table: Array, nodes: Array, pairs: Array, edges: Array, begin: int, target: float, slack: bool, labels: Array
) -> None:
    """Writes the labels ``begin:begin + p`` that maximize ``l(y) + score(y)``, or ``l(y) (1 + score(y) - target)``.

    ``table`` (k^p,) holds l, the label of the last of the p nodes changing fastest; it is -inf where a labeling is not
    allowed. Scores are those of :mod:`setwise.kernels.messages`, of ``nodes`` (p, k) and of all ``edges``; O(m k^p).
    """
    p, k = nodes.shape
    require_size(labels, begin + p)
    require_size(pairs, len(edges))
    own, sums, best, at = np.zeros(p, np.int64), np.zeros(p + 1), -np.inf, 0
    depth = 0
    for index in range(len(table)):
        # Only the sums of nodes that changed, and of those after them, are computed again.
        for i in range(depth, p):
            total = nodes[i, own[i]]
            for e in range(len(edges)):
                if max(edges[e, 0], edges[e, 1]) == begin + i:
                    u, v = own[edges[e, 0] - begin], own[edges[e, 1] - begin]
                    if pairs.shape[1] > 1:
                        total += pairs[e, u * k + v]
                    elif u == v:
                        total += pairs[e, 0]
            sums[i + 1] = sums[i] + total
        loss = table[index]
        value = loss * (1.0 + (sums[p] - target)) if slack else loss + sums[p]
        # Under slack rescaling a labeling that is not allowed would be worth +inf where its factor is negative.
        if loss > -np.inf and value > best:
            best, at = value, index
        depth = p - 1
        while depth > 0 and own[depth] == k - 1:
            own[depth] = 0
            depth -= 1
        own[depth] = (own[depth] + 1) % k
    for i in range(p - 1, -1, -1):
        labels[begin + i] = at % k
        at //= k


@kernel
def least_of_samples(truths: Array, table: Array, columns: Array, weights: Array) -> Any:
    """Returns the bits of the labeling h of least ``sum_j weights_j table[|h|, tp_j, columns_j]``, and this sum.

    ``truths`` (p, m) holds 0 and 1, one column for each sample j, and ``tp_j`` is the number of its positives in h.
    Among equal sums the first labeling in Gray's order is taken. O(2^p m).
    """
    p, m = truths.shape
    if table.shape[0] != p + 1 or table.shape[1] != p + 1 or len(columns) != m or len(weights) != m:
        raise ValueError("the table must have p + 1 rows and columns, and each sample a column and a weight")
    tp = np.zeros(m, np.int64)
    best, bits, labels, k = np.inf, 0, 0, 0
    for step in range(1 << p):
        if step > 0:
            # The bit that changes is the lowest one of the step.
            bit = 0
            while (step >> bit) & 1 == 0:
                bit += 1
            labels ^= 1 << bit
            sign = 1 if (labels >> bit) & 1 else -1
            k += sign
            for j in range(m):
                tp[j] += sign * truths[bit, j]
        total = 0.0
        for j in range(m):
            total += weights[j] * table[k, tp[j], columns[j]]
        if total < best:
            best, bits = total, labels
    return bits, best


@bare
def sift_down(heap: Array, size: int, values: Array, at: int) -> None:
    """Restores the order below a place of ``heap``, whose first ``size`` numbers have their value in ``values``."""
    entry = heap[at]
    value = values[entry]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and values[heap[child + 1]] > values[heap[child]]:
            child += 1
        if not values[heap[child]] > value:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = entry


@bare
def heapify(heap: Array, size: int, values: Array) -> None:
    """Orders the first ``size`` numbers, so that the first one has the largest value; O(size)."""
    for at in range(size // 2 - 1, -1, -1):
        sift_down(heap, size, values, at)


@bare
def push(heap: Array, size: int, values: Array, entry: Any) -> Any:
    """Adds a number to the heap, which must have room, and returns the new size; O(log size)."""
    at, value = size, values[entry]
    while at > 0:
        above = (at - 1) // 2
        if not value > values[heap[above]]:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = entry
    return np.int64(size + 1)


@bare
def pop(heap: Array, size: int, values: Array) -> Any:
    """Takes the number of the largest value from the heap; returns it and the new size; O(log size)."""
    entry, last = heap[0], np.int64(size - 1)
    heap[0] = heap[last]
    if last > 0:
        sift_down(heap, last, values, np.int64(0))
    return entry, last
