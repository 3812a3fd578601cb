"""The code of a labeling of networks: what it takes of the scores of nodes and edges."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel, require_length

Array = NDArray[Any]


@kernel
def two_label_code(positive: Array, edges: Array, offsets: Array, edge_offsets: Array) -> Array:
    """Returns for each set the nodes that are ``positive``, then the edges whose ends are equal, float64; O(n + m)."""
    require_length(positive, offsets)
    require_length(edges, edge_offsets)
    out, at = np.empty(offsets[-1] + edge_offsets[-1], np.float64), 0
    for s in range(len(offsets) - 1):
        for i in range(offsets[s], offsets[s + 1]):
            out[at] = positive[i]
            at += 1
        for e in range(edge_offsets[s], edge_offsets[s + 1]):
            out[at] = positive[edges[e, 0]] == positive[edges[e, 1]]
            at += 1
    return out
