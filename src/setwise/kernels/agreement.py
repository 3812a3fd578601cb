"""Scores of labelings of networks: nodes win their score with label 1, edges where both ends have the same label."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel, require_length

Array = NDArray[Any]


@kernel
def network_won(scores: Array, labels: Array, truth: Array, edges: Array, offsets: Array, edge_offsets: Array) -> Array:
    """The score of the ``labels`` (total,) of each set less that of the ``truth`` (total,), (n,); O(total + m).

    Both are bool. The scores of set i begin at ``offsets[i] + edge_offsets[i]``, those of its nodes first.
    """
    require_length(labels, offsets)
    require_length(truth, offsets)
    require_length(edges, edge_offsets)
    require_length(scores, offsets + edge_offsets)
    out = np.zeros(len(offsets) - 1)
    for k in range(len(out)):
        won = 0.0
        shift = edge_offsets[k]
        for i in range(offsets[k], offsets[k + 1]):
            # Labels are mixed, so a product is faster than a branch.
            won += scores[i + shift] * (np.int64(labels[i]) - np.int64(truth[i]))
        shift = offsets[k + 1]
        for e in range(edge_offsets[k], edge_offsets[k + 1]):
            a, b = edges[e, 0], edges[e, 1]
            won += scores[e + shift] * (np.int64(labels[a] == labels[b]) - np.int64(truth[a] == truth[b]))
        out[k] = won
    return out
