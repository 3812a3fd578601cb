"""Functions of the number of chosen entries in each region: the best choice, and all its max-marginals."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel, require_length

Array = NDArray[Any]


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
