"""The best sets of nodes of a forest that hold the parent of each of their nodes."""

import numpy as np

from setwise.kernels.jit import Array, kernel
from setwise.kernels.segments import require_size


@kernel
def best_closed_sets(scores: Array, parents: Array, order: Array, K: int) -> tuple[Array, Array]:
    """Returns the K closed sets Y of each row with the largest ``sum_(y in Y) s_y``, the empty one among them.

    By lists of the K best sets below each node, which are merged child by child; O(p K^1.5) for a row of p nodes. Of
    equal sums the same one comes first for every K.

    Parameters
    ----------
    scores : (n, p) finite
    parents : (p,) int64 the parent of each node, p for none
    order : (p,) int64 the nodes, each before its parent
    K : how many, 1 or more

    Returns
    -------
    sets : (n, K, p) bool, the best first; empty beyond the last set
    sums : (n, K) in falling order; -inf beyond the last set
    """
    n, p = scores.shape
    require_size(parents, p)
    require_size(order, p)
    sets, sums = np.zeros((n, K, p), np.bool_), np.full((n, K), -np.inf)
    # The best sets at and below a node that hold it, whose children so far are counted; p is above all roots.
    best, sizes = np.empty((p + 1, K)), np.empty(p + 1, np.int64)
    # Where a set comes from, once child c is counted: a set without c and those below, and one of c, or none below it.
    rest, below, source = np.empty((p, K), np.int64), np.empty((p, K), np.int64), np.empty((p, K), np.int64)
    child, merged, heads, ranks = np.empty(K), np.empty(K), np.empty(K, np.int64), np.empty(p + 1, np.int64)
    for i in range(n):
        for v in range(p):
            best[v, 0] = scores[i, v]
        best[p, 0] = 0.0
        sizes[:] = 1
        for c in order:
            size, taken, without = 0, 0, True
            while size < K and (without or taken < sizes[c]):
                # Of equal sums the set without c comes first.
                if without and (taken == sizes[c] or best[c, taken] <= 0.0):
                    child[size], source[c, size], without = 0.0, -1, False
                else:
                    child[size], source[c, size] = best[c, taken], taken
                    taken += 1
                size += 1
            v = parents[c]
            heads[: sizes[v]] = 0
            many = 0
            while many < K:
                top, value = -1, -np.inf
                for a in range(sizes[v]):
                    if heads[a] < size and (top < 0 or best[v, a] + child[heads[a]] > value):
                        top, value = a, best[v, a] + child[heads[a]]
                    # The set after this one is no better with the same child.
                    if heads[a] == 0:
                        break
                if top < 0:
                    break
                merged[many], rest[c, many], below[c, many] = value, top, heads[top]
                heads[top] += 1
                many += 1
            best[v, :many] = merged[:many]
            sizes[v] = many
        for r in range(sizes[p]):
            sums[i, r] = best[p, r]
            ranks[:] = -1
            ranks[p] = r
            for j in range(p - 1, -1, -1):
                c = order[j]
                v = parents[c]
                if ranks[v] >= 0:
                    ranks[c] = source[c, below[c, ranks[v]]]
                    ranks[v] = rest[c, ranks[v]]
                sets[i, r, c] = ranks[c] >= 0
    return sets, sums
