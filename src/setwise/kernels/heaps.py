"""A heap of numbers that stand for entries of large value first."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import bare

Array = NDArray[Any]


@bare
def sift_down(heap: Array, size: int, values: Array, at: int) -> None:
    """Restores the order below a place of ``heap``, whose first ``size`` numbers have their value in ``values``."""
    entry = heap[at]
    value = values[entry]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and values[heap[child + 1]] > values[heap[child]]:
            child += 1
        if not values[heap[child]] > value:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = entry


@bare
def heapify(heap: Array, size: int, values: Array) -> None:
    """Orders the first ``size`` numbers, so that the first one has the largest value; O(size)."""
    for at in range(size // 2 - 1, -1, -1):
        sift_down(heap, size, values, at)


@bare
def push(heap: Array, size: int, values: Array, entry: Any) -> Any:
    """Adds a number to the heap, which must have room, and returns the new size; O(log size)."""
    at, value = size, values[entry]
    while at > 0:
        above = (at - 1) // 2
        if not value > values[heap[above]]:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = entry
    return np.int64(size + 1)


@bare
def pop(heap: Array, size: int, values: Array) -> Any:
    """Takes the number of the largest value from the heap; returns it and the new size; O(log size)."""
    entry, last = heap[0], np.int64(size - 1)
    heap[0] = heap[last]
    if last > 0:
        sift_down(heap, last, values, np.int64(0))
    return entry, last
