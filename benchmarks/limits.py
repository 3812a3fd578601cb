"""What a method that sorts can not beat by much: a plain radix sort of its keys, one gather and one scatter of them."""

from collections.abc import Callable

import numpy as np
from numba import njit

Array = np.ndarray


def packed(values: Array, places: Array) -> Array:
    """Keys that sort as the float32 of ``values`` do: its order-preserving bits above, the place below."""
    bits = values.astype(np.float32).view(np.uint32)
    rising = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
    return rising.astype(np.uint64) << np.uint64(32) | places.astype(np.uint64)


def plain_limit(values: Array, active: Array) -> Callable[[], Array]:
    """Radix sort of the keys of ``active`` places, gather of their values, and scatter of them into zeros."""
    places = np.flatnonzero(active)
    keys = packed(values[places], places)
    room, sorted_keys, gathered, scattered = np.empty_like(keys), keys.copy(), values[places], np.zeros_like(values)

    def run() -> Array:
        sorted_keys[:] = keys
        _radix(sorted_keys, room)
        _gather(sorted_keys, values, gathered)
        _scatter(sorted_keys, gathered, scattered)
        return scattered

    return run


def numpy_sort(values: Array, active: Array) -> Callable[[], Array]:
    """``numpy.sort`` of the same keys."""
    keys = packed(values[active], np.flatnonzero(active))
    return lambda: np.sort(keys)


@njit(cache=True, nogil=True)
def _radix(keys: Array, other: Array) -> None:
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
    for d in range(4):
        source, target = (keys, other) if d % 2 == 0 else (other, keys)
        for key in source:
            b = (key >> np.uint64(32 + 8 * d)) & np.uint64(255)
            target[counts[d, b]] = key
            counts[d, b] += 1


@njit(cache=True, nogil=True)
def _gather(keys: Array, values: Array, out: Array) -> None:
    for j in range(len(keys)):
        out[j] = values[keys[j] & np.uint64(0xFFFFFFFF)]


@njit(cache=True, nogil=True)
def _scatter(keys: Array, values: Array, out: Array) -> None:
    for j in range(len(keys)):
        out[keys[j] & np.uint64(0xFFFFFFFF)] = values[j]
