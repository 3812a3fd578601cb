"""The best of all subsets, by their table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]


@kernel
def best_subsets(
    table: Array, costs: Array, margins: Array, offsets: Array, members: Array, slack: bool, mistakes: Array
) -> None:
    """Marks for each member set the A that maximizes ``l_A - m(A)``, or ``l_A (1 - m(A))``; O(2^p) a set.

    ``l_A`` is ``table_A`` plus the costs in A; ``table`` (2^p,) is indexed by the bits of A, and -inf where A is not
    allowed. Sums over A come from A without its highest decision, by doubling.
    """
    size = len(table)
    sums, paid = np.zeros(size, np.float64), np.zeros(size, np.float64)
    for i in members:
        width, bit = 1, offsets[i]
        while width < size:
            for a in range(width):
                sums[width + a] = sums[a] + margins[bit]
                paid[width + a] = paid[a] + costs[bit]
            width *= 2
            bit += 1
        best, at = -np.inf, 0
        for a in range(size):
            loss = table[a] + paid[a]
            value = loss * (1.0 - sums[a]) if slack else loss - sums[a]
            # A set that is not allowed would turn into +inf where the score is negative.
            if value > best and loss > -np.inf:
                best = value
                at = a
        for j in range(offsets[i], offsets[i + 1]):
            mistakes[j] = (at >> (j - offsets[i])) & 1
