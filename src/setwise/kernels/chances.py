"""Histograms of probabilities: how many there are between edges, and the mean and variance of their positives."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.guide import cell_of, edges_up_to, guide_of
from setwise.kernels.jit import kernel

Array = NDArray[Any]

BLOCK = 1 << 14
"""So many probabilities are added one by one; the sums of blocks are added then, so rounding hardly gathers."""


class Chances(NamedTuple):
    """What bins hold, (k,) each: ``counts`` int64, sums of q and of q (1 - q), and the least and the largest q.

    An empty bin has the sums 0, the least value inf and the largest -inf.
    """

    counts: Array
    means: Array
    variances: Array
    least: Array
    most: Array


def chances(q: Array, edges: Array) -> Chances:
    """Returns what the bins ``edges[j] <= q < edges[j + 1]`` hold; O(m log k), and mostly O(m) for even edges.

    Probabilities outside of all bins are left out.

    Parameters
    ----------
    q : (m,) float32 or float64 in [0, 1], which are binned and added as float64
    edges : (k + 1,) finite float64 that rise, not strictly
    """
    k = len(edges) - 1
    found = Chances(np.zeros(k, np.int64), np.zeros(k), np.zeros(k), np.full(k, np.inf), np.full(k, -np.inf))
    if k > 0 and len(q):
        _fill(q, edges, *guide_of(edges), *found)
    return found


@kernel
def _fill(
    q: Array,
    edges: Array,
    guide: Array,
    first: float,
    inverse: float,
    counts: Array,
    means: Array,
    variances: Array,
    least: Array,
    most: Array,
) -> None:
    k, cells = len(edges) - 1, len(guide) - 1
    sums = np.zeros((k, 2))
    for begin in range(0, len(q), BLOCK):
        for i in range(begin, min(begin + BLOCK, len(q))):
            x = np.float64(q[i])
            if not (edges[0] <= x < edges[k]):
                continue
            cell = cell_of(x, first, inverse, cells)
            j = edges_up_to(x, edges, guide[cell], guide[cell + 1]) - 1
            counts[j] += 1
            sums[j, 0] += x
            sums[j, 1] += x * (1.0 - x)
            least[j], most[j] = min(least[j], x), max(most[j], x)
        for j in range(k):
            means[j] += sums[j, 0]
            variances[j] += sums[j, 1]
            sums[j, :] = 0.0
