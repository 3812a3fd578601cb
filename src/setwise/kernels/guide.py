"""A guide to the bin of a value: even cells over the range of the edges, and how many edges lie before each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]

CELLS = 4
"""The cells per bin."""


@kernel
def cell_of(x: float, low: float, inverse: float, cells: int) -> int:
    """The cell of a value. It never falls as the value rises, whatever is rounded."""
    at = (0.5 * x - low) * inverse
    if at >= cells - 1:
        return cells - 1
    return int(at) if at > 0.0 else 0


@kernel
def guide_of(edges: Array) -> tuple[Array, float, float]:
    """The numbers of edges whose cells are before each cell, (cells + 1,), and the offset and the factor of cells.

    ``edges`` (k + 1,) rise, not strictly, and may be infinite. Edges in cells before that of a value are below it, and
    those in later cells are above it: only those of its own cell are compared.
    """
    cells = CELLS * (len(edges) - 1)
    guide = np.zeros(cells + 1, np.int64)
    low, high, offset, inverse = np.inf, -np.inf, 0.0, 0.0
    for edge in edges:
        if np.isfinite(edge):
            # Halved, for the range of float64 is no float64.
            low, high = min(low, 0.5 * edge), max(high, 0.5 * edge)
    # A range without width, or too small for its inverse, is one cell.
    if high > low and np.isfinite(cells / (high - low)):
        offset, inverse = low, cells / (high - low)
    for edge in edges:
        # An infinite edge times a factor of 0 has no cell.
        guide[(cell_of(edge, offset, inverse, cells) if inverse > 0.0 else 0) + 1] += 1
    for cell in range(cells):
        guide[cell + 1] += guide[cell]
    return guide, offset, inverse


@kernel
def edges_up_to(x: float, edges: Array, low: int, high: int) -> int:
    """The number of edges up to x, which is between ``low`` and ``high``."""
    while low < high:
        middle = (low + high) >> 1
        if edges[middle] <= x:
            low = middle + 1
        else:
            high = middle
    return low
