"""Means over decisions that nothing tells apart."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel, require_length

Array = NDArray[Any]


@kernel
def tied_means(values: Array, items: Array, labels: Array, scores: Array, starts: Array) -> Array:
    """Returns ``values`` (total,) with their mean over decisions of one set with equal scores and labels; O(total).

    ``items``, ``labels`` and ``scores`` (total,) are the decisions of each set in the order of their scores; set ``i``
    owns ``starts[i]:starts[i+1]``.
    """
    require_length(values, starts)
    require_length(items, starts)
    require_length(labels, starts)
    require_length(scores, starts)
    out = values.copy()
    for i in range(len(starts) - 1):
        a = starts[i]
        while a < starts[i + 1]:
            b = a + 1
            while b < starts[i + 1] and scores[b] == scores[a]:
                b += 1
            if b > a + 1:
                _of_run(values, items[a:b], labels[a:b], out)
            a = b
    return out


@kernel
def _of_run(values: Array, items: Array, labels: Array, out: Array) -> None:
    """Writes the means of one run of equal scores, one for each label."""
    sums, counts = np.zeros(2), np.zeros(2)
    for j in range(len(items)):
        sums[int(labels[j])] += values[items[j]]
        counts[int(labels[j])] += 1.0
    for j in range(len(items)):
        out[items[j]] = sums[int(labels[j])] / counts[int(labels[j])]
