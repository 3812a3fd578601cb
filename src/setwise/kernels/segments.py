"""Sums and differences inside the segments of a flat array; segment ``i`` is ``offsets[i]:offsets[i+1]``, or empty."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]


@kernel
def count_true(mask: Array, offsets: Array) -> Array:
    """Number of true entries of each segment, (n,) int64; O(total)."""
    n = len(offsets) - 1
    out = np.zeros(n, np.int64)
    for i in range(n):
        c = 0
        for j in range(offsets[i], offsets[i + 1]):
            c += mask[j]
        out[i] = c
    return out


@kernel
def segment_sums(x: Array, offsets: Array) -> Array:
    """Sum of each segment, (n,) float64; O(total)."""
    n = len(offsets) - 1
    out = np.zeros(n, np.float64)
    for i in range(n):
        t = 0.0
        for j in range(offsets[i], offsets[i + 1]):
            t += x[j]
        out[i] = t
    return out


@kernel
def masked_sums(x: Array, mask: Array, offsets: Array) -> Array:
    """Sum of the chosen entries of each segment, (n,) float64; O(total)."""
    n = len(offsets) - 1
    out = np.zeros(n, np.float64)
    for i in range(n):
        t = 0.0
        for j in range(offsets[i], offsets[i + 1]):
            t += x[j] * mask[j]
        out[i] = t
    return out


@kernel
def running_sums(x: Array, offsets: Array) -> Array:
    """Inclusive running sum inside each segment, (total,) float64; O(total)."""
    out = np.empty(len(x), np.float64)
    for i in range(len(offsets) - 1):
        t = 0.0
        for j in range(offsets[i], offsets[i + 1]):
            t += x[j]
            out[j] = t
    return out


@kernel
def differences(values: Array, offsets: Array, start: Array) -> Array:
    """Differences of consecutive entries inside each segment, the first against ``start[i]``; (total,), O(total)."""
    out = np.empty(len(values), np.float64)
    for i in range(len(offsets) - 1):
        before = start[i]
        for j in range(offsets[i], offsets[i + 1]):
            out[j] = values[j] - before
            before = values[j]
    return out


@kernel
def segment_argmax(x: Array, offsets: Array) -> Array:
    """Flat position of the first largest entry of each segment, none of them empty; (n,) int64, O(total)."""
    n = len(offsets) - 1
    out = np.empty(n, np.int64)
    for i in range(n):
        best = offsets[i]
        for j in range(offsets[i] + 1, offsets[i + 1]):
            if x[j] > x[best]:
                best = j
        out[i] = best
    return out


@kernel
def segment_places(parts: Array, offsets: Array) -> tuple[Array, bool]:
    """Flat places of chosen segments, (places,) int64, or none where they are neighbours, and whether they are.

    O(places); IndexError where there is no such segment.
    """
    total, adjacent = 0, len(parts) > 0
    for k in range(len(parts)):
        if parts[k] < 0 or parts[k] >= len(offsets) - 1:
            raise IndexError("parts must be numbers of segments, from 0 up")
        total += offsets[parts[k] + 1] - offsets[parts[k]]
        adjacent &= k == 0 or parts[k] == parts[k - 1] + 1
    out = np.empty(0 if adjacent else total, np.int64)
    if not adjacent:
        place = 0
        for part in parts:
            for j in range(offsets[part], offsets[part + 1]):
                out[place] = j
                place += 1
    return out, adjacent


@kernel
def chosen_offsets(parts: Array, offsets: Array) -> Array:
    """Offsets of chosen segments laid side by side, (len(parts) + 1,) int64; IndexError where there is none such."""
    out = np.zeros(len(parts) + 1, np.int64)
    for k in range(len(parts)):
        if parts[k] < 0 or parts[k] >= len(offsets) - 1:
            raise IndexError("parts must be numbers of segments, from 0 up")
        out[k + 1] = out[k] + offsets[parts[k] + 1] - offsets[parts[k]]
    return out


@kernel
def class_costs(costs: Array, labels: Array, offsets: Array) -> tuple[Array, bool]:
    """Costs (n, 2) of a mistake on a positive and on a negative of each set, and whether all cost so; O(total).

    A class that is not there costs 0.
    """
    n = len(offsets) - 1
    out = np.zeros((n, 2), np.float64)
    for i in range(n):
        found = np.zeros(2, np.bool_)
        for j in range(offsets[i], offsets[i + 1]):
            side = 0 if labels[j] else 1
            if found[side] and out[i, side] != costs[j]:
                return out, False
            out[i, side] = costs[j]
            found[side] = True
    return out, True
