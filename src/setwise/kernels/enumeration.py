"""Maximization over all subsets of a small set, from the table of a set function."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel, require_length, require_size

Array = NDArray[Any]


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
