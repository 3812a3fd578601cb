"""Sorting many packed 64-bit keys, fast on every processor and on as many threads as are available.

NumPy's sort of integers is vectorized: on some processors it takes half the time of a radix sort, on others four times
as long. So both are timed once in a process, and the faster one sorts from then on; the order that they give is the
same. Several threads share the keys out by value and sort a part each.
"""

import time
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel
from setwise.kernels.threads import available, map_units

Array = NDArray[Any]

SHARED = 1 << 18
"""Threads are worth their start from so many keys."""

SAMPLE = 1 << 10
"""So many keys are looked at to find one that halves them."""

Unit = tuple[Array, Array]
"""Keys, and room for as many."""


def sort_large(keys: Array) -> Array:
    """The keys (m,) uint64 sorted upwards, in this array or in a new one; O(m log m).

    Keys must be distinct, and where their upper halves are equal they must rise already.
    """
    room = np.empty_like(keys)
    units = [(keys, room)]
    for _ in range(available().bit_length() - 1 if len(keys) >= SHARED else 0):
        units = [half for halves in map_units(halved, units) for half in halves]
        keys, room = room, keys
    map_units(numpy_sort if numpy_is_faster() else radix_sort, units)
    return keys


def numpy_sort(unit: Unit) -> None:
    """Sort the keys upwards, in place; O(m log m)."""
    unit[0].sort()


def radix_sort(unit: Unit) -> None:
    """Sort the keys upwards by their upper halves, in place and stable; O(m)."""
    radix(*unit)


@cache
def numpy_is_faster() -> bool:
    """Whether NumPy sorts 65,536 keys faster than a radix sort does; timed once, in some milliseconds."""
    keys = np.random.default_rng(0).integers(0, 1 << 63, 1 << 16, dtype=np.uint64)
    seconds = []
    for sort in (numpy_sort, radix_sort):
        sort((keys.copy(), np.empty_like(keys)))  # the first call compiles
        runs = []
        for _ in range(3):
            unit = keys.copy(), np.empty_like(keys)
            begin = time.perf_counter()
            sort(unit)
            runs.append(time.perf_counter() - begin)
        seconds.append(min(runs))
    return seconds[0] < seconds[1]


def halved(unit: Unit) -> tuple[Unit, Unit]:
    """The smaller and the larger keys, about half each, in the room of the unit and in their order; O(m)."""
    keys, room = unit
    sample = np.sort(keys[:: max(len(keys) // SAMPLE, 1)])
    k = _halve(keys, sample[len(sample) // 2], room)
    return (room[:k], keys[:k]), (room[k:], keys[k:])


@kernel
def _halve(keys: Array, cut: int, out: Array) -> int:
    """Without branches on the data, which nothing could predict; returns how many keys are below ``cut``."""
    below = 0
    for key in keys:
        below += key < cut
    low, high = np.uint64(0), np.uint64(below)
    for key in keys:
        first = np.uint64(key < cut)
        out[low if first else high] = key
        low += first
        high += np.uint64(1) - first
    return below


@kernel
def radix(keys: Array, other: Array) -> None:
    """Least significant digit first, four digits of 8 bits over the upper half of the keys; ``other`` is room for m."""
    counts = np.zeros((4, 256), np.int64)
    for key in keys:
        for d in range(4):
            counts[d, (key >> np.uint64(32 + 8 * d)) & np.uint64(255)] += 1
    for d in range(4):
        total = 0
        for b in range(256):
            c = counts[d, b]
            counts[d, b] = total
            total += c
    source, target = keys, other
    for d in range(4):
        shift = np.uint64(32 + 8 * d)
        for key in source:
            b = (key >> shift) & np.uint64(255)
            target[counts[d, b]] = key
            counts[d, b] += 1
        source, target = target, source
