"""The largest cost of the mistakes of each set: its running maxima, and mistakes that maximize it with a score."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel, require_length

Array = NDArray[Any]


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
