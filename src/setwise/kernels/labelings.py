"""All labelings of a small set, in an order in which each differs from the one before by one label."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]


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
