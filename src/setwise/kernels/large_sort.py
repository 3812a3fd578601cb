"""Sorting many packed 64-bit keys, fast on every processor and on as many threads as are available.

NumPy's sort of integers is vectorized: on some processors it takes half the time of a radix sort, on others four times
as long. So both are timed once in a process, and the faster one sorts from then on; both give the same order. Where
several threads are available, the keys are divided among them by value, and each thread sorts its share.
"""

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel
from setwise.kernels.threads import available, map_units

Array = NDArray[Any]

SHARED = 1 << 18
"""From this number of keys on, sorting them takes so long that threads are worth their start."""

SAMPLE = 1 << 10
"""The number of keys that are looked at to find one near the median."""

Unit = tuple[Array, Array]
"""Keys (m,), and an array of the same size to move them to."""


def sort_large(keys: Array) -> Array:
    """Returns the keys (m,) uint64 sorted upwards, in this array or in a new one; O(m log m).

    Keys must be distinct, and those with equal upper halves must be in rising order already.
    """
    alone, sort = len(keys) < SHARED or available() == 1, numpy_sort if numpy_is_faster() else radix_sort
    # Only here is no other array needed.
    room = keys if alone and sort is numpy_sort else np.empty_like(keys)
    if alone:
        sort((keys, room))
        return keys
    units = [(keys, room)]
    # Each round halves all units, so there are as many units as the largest power of two up to the number of threads.
    for _ in range(available().bit_length() - 1):
        units = [half for halves in map_units(halved, units) for half in halves]
        # The halves were moved to the other array.
        keys, room = room, keys
    map_units(sort, units)
    return keys


def numpy_sort(unit: Unit) -> None:
    """Sort the keys upwards, in place; O(m log m)."""
    unit[0].sort()


def radix_sort(unit: Unit) -> None:
    """Sort the keys upwards by their upper halves, in place and stable; O(m)."""
    radix(*unit)


@cache
def numpy_is_faster() -> bool:
    """Whether NumPy sorts 262,144 keys faster than the radix sort does; timed once, in some hundredths of a second."""
    # With fewer keys both can be so close to each other that chance would decide, also about many keys.
    keys = np.random.default_rng(0).integers(0, 1 << 63, 1 << 18, dtype=np.uint64)
    radix_sort((keys.copy(), np.empty_like(keys)))  # the first call compiles
    seconds: dict[Callable[[Unit], None], list[float]] = {numpy_sort: [], radix_sort: []}
    # They take turns, and the shortest of three runs is the one that other processes disturbed least.
    for _ in range(3):
        for sort, runs in seconds.items():
            unit = keys.copy(), np.empty_like(keys)
            begin = time.perf_counter()
            sort(unit)
            runs.append(time.perf_counter() - begin)
    return min(seconds[numpy_sort]) < min(seconds[radix_sort])


def halved(unit: Unit) -> tuple[Unit, Unit]:
    """Moves the smaller and the larger keys, about half each, to the room of the unit; their order is kept; O(m)."""
    keys, room = unit
    sample = np.sort(keys[:: max(len(keys) // SAMPLE, 1)])
    middle = _halve(keys, sample[len(sample) // 2], room)
    return (room[:middle], keys[:middle]), (room[middle:], keys[middle:])


@kernel
def _halve(keys: Array, cut: int, out: Array) -> int:
    """Moves the keys below ``cut`` to the front of ``out`` and the others behind them, and returns how many are below.

    There are no branches on the data, for no processor could predict them.
    """
    # Count first: then both halves are written in one pass, each in its order.
    below = 0
    for key in keys:
        below += key < cut
    low, high = np.uint64(0), np.uint64(below)
    for key in keys:
        is_low = np.uint64(key < cut)
        out[low if is_low else high] = key
        low += is_low
        high += np.uint64(1) - is_low
    return below


@kernel
def radix(keys: Array, other: Array) -> None:
    """Sorts the keys upwards by their upper halves, in place and stable; ``other`` is an array of the same size. O(m).

    The least significant digit comes first, in four digits of 8 bits.
    """
    counts = np.zeros((4, 256), np.int64)
    # Count the values of all four digits in one pass over the keys.
    for key in keys:
        for digit in range(4):
            counts[digit, (key >> np.uint64(32 + 8 * digit)) & np.uint64(255)] += 1
    # Turn the counts into the place of the first key with each value.
    for digit in range(4):
        total = 0
        for value in range(256):
            count = counts[digit, value]
            counts[digit, value] = total
            total += count
    # The keys change arrays with each digit; after four they are back in the first.
    source, target = keys, other
    for digit in range(4):
        shift = np.uint64(32 + 8 * digit)
        for key in source:
            value = (key >> shift) & np.uint64(255)
            target[counts[digit, value]] = key
            counts[digit, value] += 1
        source, target = target, source
