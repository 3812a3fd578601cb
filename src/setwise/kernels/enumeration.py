"""Maximization over all subsets of a small set, from the table of a set function."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel, require_length

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
