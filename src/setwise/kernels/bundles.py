"""Sums over the slopes of a bundle of planes, whose entries are mostly 0."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]


@kernel
def slope_products(slopes: Array, slope: Array, out: Array) -> None:
    """Writes ``out[t] = <slopes[t], slope>`` for the first ``len(out)`` of the slopes (t, n).

    O(n), and O(len(out)) for each entry of the slope that is not 0.
    """
    if len(out) > slopes.shape[0] or len(slope) != slopes.shape[1]:
        raise ValueError("slopes must be as long as the slope, and one for each product")
    at = np.flatnonzero(slope)
    for t in range(len(out)):
        total = 0.0
        row = slopes[t]
        for i in at:
            total += row[i] * slope[i]
        out[t] = total


@kernel
def add_slopes(slopes: Array, weights: Array, out: Array) -> None:
    """Adds ``sum_t weights_t slopes[t]`` to ``out`` (n,); O(n) for each weight that is not 0."""
    if len(weights) > slopes.shape[0] or len(out) != slopes.shape[1]:
        raise ValueError("there must be a slope for each weight, and all must be as long as the sum")
    for t in range(len(weights)):
        weight = weights[t]
        if weight != 0.0:
            row = slopes[t]
            for i in range(len(out)):
                out[i] += weight * row[i]
