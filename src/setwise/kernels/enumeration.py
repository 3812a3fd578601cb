"""The best of all subsets, by their table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]


@kernel
def best_subsets(table: Array, margins: Array, offsets: Array, members: Array, slack: bool, mistakes: Array) -> None:
    """Marks for each member set the A that maximizes ``table_A - m(A)``, or ``table_A (1 - m(A))``; O(2^p) a set.

    ``table`` (2^p,) is indexed by the bits of A. Sums ``m(A)`` come from A without its highest decision, by doubling.
    """
    size = len(table)
    sums = np.zeros(size, np.float64)
    for i in members:
        width, bit = 1, offsets[i]
        while width < size:
            for a in range(width):
                sums[width + a] = sums[a] + margins[bit]
            width *= 2
            bit += 1
        best, at = -np.inf, 0
        for a in range(size):
            value = table[a] * (1.0 - sums[a]) if slack else table[a] - sums[a]
            if value > best:
                best = value
                at = a
        for j in range(offsets[i], offsets[i + 1]):
            mistakes[j] = (at >> (j - offsets[i])) & 1
