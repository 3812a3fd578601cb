"""Graphs without cycles: which segments of nodes are such, and in which order messages pass there."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel, require_length

Array = NDArray[Any]


@kernel
def forests(first: Array, heads: Array, offsets: Array) -> Array:
    """Returns whether each segment of nodes has no cycle of edges, (k,) bool; O(n + m).

    The arcs of node i are ``first[i]:first[i + 1]``, and lead to ``heads``: see :func:`setwise.kernels.networks.arcs`.
    """
    require_length(heads, first)
    require_length(first[1:], offsets)
    out = np.empty(len(offsets) - 1, np.bool_)
    seen, queue = np.zeros(len(first) - 1, np.bool_), np.empty(len(first) - 1, np.int64)
    for s in range(len(offsets) - 1):
        trees = 0
        for root in range(offsets[s], offsets[s + 1]):
            if seen[root]:
                continue
            trees += 1
            seen[root], queue[0], begin, end = True, root, 0, 1
            while begin < end:
                i = queue[begin]
                begin += 1
                for arc in range(first[i], first[i + 1]):
                    j = heads[arc]
                    if not seen[j]:
                        seen[j] = True
                        queue[end] = j
                        end += 1
        # Each edge is two arcs; a forest has as many edges as nodes, less one for each tree.
        edges = (first[offsets[s + 1]] - first[offsets[s]]) // 2
        out[s] = edges == offsets[s + 1] - offsets[s] - trees
    return out
