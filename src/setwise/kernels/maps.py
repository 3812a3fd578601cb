"""One label for each pixel of a map, by prices of the classes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]


@kernel
def assign(probabilities: Array, gains: Array, prices: Array, labels: Array, sizes: Array, hits: Array) -> None:
    """Gives each pixel i the class c of the largest ``gains[c] probabilities[i, c] - prices[c]``; O(p k).

    Writes the ``labels`` (p,), the number of pixels of each class and the sums of their probabilities, (k,) each.
    """
    p, k = probabilities.shape
    if len(gains) != k or len(prices) != k or len(labels) != p or len(sizes) != k or len(hits) != k:
        raise ValueError("there must be one label for each pixel, and one gain, price, size and sum for each class")
    sizes[:], hits[:] = 0.0, 0.0
    for i in range(p):
        best, value = 0, -np.inf
        for c in range(k):
            worth = gains[c] * probabilities[i, c] - prices[c]
            if worth > value:
                best, value = c, worth
        labels[i] = best
        sizes[best] += 1.0
        hits[best] += probabilities[i, best]


@kernel
def divide(before: Array, values: Array, taken: Array) -> Array:
    """Returns the least ``before[s - t] + values[t]`` of every set s over its parts t, (2^p,), as bits; O(3^p).

    Writes the best part of each set to ``taken`` (2^p,).
    """
    if len(values) != len(before) or len(taken) != len(before):
        raise ValueError("there must be one value and one part for each set")
    out = np.empty(len(before))
    for s in range(len(before)):
        part, best = s, np.inf
        while True:
            value = before[s ^ part] + values[part]
            if value < best:
                best, taken[s] = value, part
            if part == 0:
                break
            part = (part - 1) & s
        out[s] = best
    return out
