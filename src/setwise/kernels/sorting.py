"""Sorting decisions by float value: packed 64-bit keys, sorted inside each set of a ragged batch.

The upper half of a key holds a float32 as bits that preserve its order, the lower half ``2 * place + label``, so one
sort of integers orders the values and carries all that is needed later. Large arrays are made by NumPy, not inside the
kernels, because its allocator asks for huge pages. Values in float64 are sorted by their float32 rounding first and
then put in exact order.

Sorting many packed 64-bit keys, fast on every processor and on as many threads as are available.

NumPy's sort of integers is vectorized: on some processors it takes half the time of a radix sort, on others four times
as long. So both are timed once in a process, and the faster one sorts from then on; both give the same order. Where
several threads are available, the keys are divided among them by value, and each thread sorts its share.
"""

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from setwise.kernels.jit import Array, kernel, plain_first
from setwise.kernels.segments import owners_of, plain_require_length, require_length
from setwise.kernels.threads import available, map_units

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


VALUES, ERRORS, MARGINS = 0, 1, 2
"""What keys hold: falling values, falling margin errors ``1 - s (2 y - 1)``, or rising margins ``s (2 y - 1)``."""

BLOCK = 512
"""Decisions are processed in blocks of this size, whose arrays fit the first-level cache."""

INSERTION = 48
"""Up to this number of keys, insertion sort is the fastest."""

MIDDLE = 4096
"""Segments of up to this number of keys are sorted inside one kernel, larger ones one by one."""


def plain_falling_bits(values: Array) -> Array:
    """:func:`falling_bits` of each value, (m,) uint32."""
    bits = values.astype(np.float32).view(np.uint32)
    return np.where(bits >> np.uint32(31), bits, ~bits & np.uint32(0x7FFFFFFF))


@kernel
def falling_bits(value: Any) -> Any:
    """Returns the float32 of ``value`` as a uint32 that falls as the value rises; without branches."""
    bits = np.uint32(np.float32(value).view(np.uint32))
    negative = np.uint32(np.int32(bits) >> np.int32(31))
    # The bits of a negative number fall already; of a positive one all but the sign are flipped.
    return np.uint32(bits ^ np.uint32(~negative & np.uint32(0x7FFFFFFF)))


def pack(
    values: Array, labels: Array, offsets: Array, errors: bool = False, above_zero: bool = False
) -> tuple[Array, Array]:
    """Returns keys that rise as ``values`` (total,) fall, (m,) uint64, and their segment offsets (n+1,); O(total).

    With ``errors`` the values are scores s, and the keys rise as their margin errors ``1 - s (2 y - 1)`` (LH Eq. 34)
    fall; of float32 scores they hold these errors less 1, which are not rounded. With ``above_zero`` only what is above
    0 gets a key. The ``labels`` (total,) bool are stored in the keys.
    """
    keys, starts = np.empty(len(values), np.uint64), np.zeros(len(offsets), np.int64)
    _pack(values, labels, offsets, errors, above_zero, keys, starts)
    return keys[: starts[-1]], starts


def _plain_pack(
    values: Array, labels: Array, offsets: Array, errors: bool, above_zero: bool, keys: Array, starts: Array
) -> None:
    plain_require_length(values, offsets)
    plain_require_length(labels, offsets)
    kind, owners = values.dtype.type, owners_of(offsets)
    inside = slice(offsets[0], offsets[-1])
    values, labels = values[inside], labels[inside]
    least = np.zeros(1)
    if errors:
        level = kind(1) if values.itemsize == 8 else kind(0)
        values = level - values * (kind(2) * labels.astype(kind) - kind(1))
        least = least if values.itemsize == 8 else least - 1.0
    bits = plain_falling_bits(values)
    kept = bits < plain_falling_bits(least)[0] if above_zero else slice(None)
    places = np.arange(offsets[0], offsets[-1]) - offsets[owners]
    found = (bits.astype(np.uint64) << np.uint64(32) | (2 * places + labels).astype(np.uint64))[kept]
    keys[: len(found)] = found
    starts[1:] = np.cumsum(np.bincount(owners[kept], minlength=len(offsets) - 1))


@plain_first(_plain_pack)
@kernel
def _pack(
    values: Array, labels: Array, offsets: Array, errors: bool, above_zero: bool, keys: Array, starts: Array
) -> None:
    require_length(values, offsets)
    require_length(labels, offsets)
    above = (
        np.uint64(falling_bits(-1.0 if errors and values.itemsize == 4 else 0.0)) << np.uint64(32)
        if above_zero
        else ~np.uint64(0)
    )
    kept = 0
    for i in range(len(offsets) - 1):
        a, b = offsets[i], offsets[i + 1]
        if errors:
            _pack_errors(values[a:b], labels[a:b], keys[a:b])
        else:
            _pack_values(values[a:b], labels[a:b], keys[a:b])
        # Close the gaps without a branch: a key that is not kept is overwritten by the next.
        for key in keys[a:b]:
            keys[kept] = key
            kept += key < above
        starts[i + 1] = kept


@kernel
def _pack_values(values: Array, labels: Array, keys: Array) -> None:
    """Writes the keys of the values of one set."""
    # Plain indices and no branches: this loop compiles to vector instructions.
    for j in range(len(values)):
        keys[j] = np.uint64(falling_bits(values[j])) << np.uint64(32) | np.uint64(2 * j + labels[j])


@kernel
def _pack_errors(scores: Array, labels: Array, keys: Array) -> None:
    """Writes the keys of the margin errors of one set; of float32 scores they are less 1."""
    one, two = scores.dtype.type(1), scores.dtype.type(2)
    # A sum with 1 would round small scores to the same float32; with 0 it turns -0 into 0, whose bits differ.
    level = one if scores.itemsize == 8 else scores.dtype.type(0)
    for j in range(len(scores)):
        error = level - scores[j] * (two * scores.dtype.type(labels[j]) - one)
        keys[j] = np.uint64(falling_bits(error)) << np.uint64(32) | np.uint64(2 * j + labels[j])


@kernel
def _sort_segments(keys: Array, starts: Array, small: int, large: int) -> None:
    """Sorts the segments of up to ``large`` keys upwards, in place; those of up to ``small`` keys by insertion."""
    # One array for all radix sorts.
    longest = 0
    for i in range(len(starts) - 1):
        size = starts[i + 1] - starts[i]
        if small < size <= large:
            longest = max(longest, size)
    other = np.empty(longest, np.uint64)
    for i in range(len(starts) - 1):
        size = starts[i + 1] - starts[i]
        if size <= small:
            _insertion(keys[starts[i] : starts[i + 1]])
        elif size <= large:
            radix(keys[starts[i] : starts[i + 1]], other[:size])


@kernel
def _insertion(keys: Array) -> None:
    for j in range(1, len(keys)):
        key = keys[j]
        k = j - 1
        while k >= 0 and keys[k] > key:
            keys[k + 1] = keys[k]
            k -= 1
        keys[k + 1] = key


def _plain_sort_packed(keys: Array, starts: Array) -> Array:
    if len(starts) == 2:
        return np.sort(keys)
    return keys[np.lexsort((keys, owners_of(starts)))]


@plain_first(_plain_sort_packed)
def sort_packed(keys: Array, starts: Array) -> Array:
    """Returns every segment of ``keys`` sorted upwards, in this array or, for one large segment, maybe in a new one.

    Small segments are sorted by insertion, middle ones by radix, large ones as in :mod:`setwise.kernels.sorting`.
    """
    if len(starts) == 2 and len(keys) > MIDDLE:
        return sort_large(keys)
    _sort_segments(keys, starts, INSERTION, MIDDLE)
    if len(keys) <= MIDDLE:
        return keys
    # Large segments are few, so this loop may run in Python.
    for i in np.flatnonzero(np.diff(starts) > MIDDLE):
        keys[starts[i] : starts[i + 1]] = sort_large(keys[starts[i] : starts[i + 1]])
    return keys


def unpack(keys: Array, starts: Array, offsets: Array) -> tuple[Array, Array, Array]:
    """Returns the flat items (m,) int32, labels (m,) bool and rounded values (m,) float32 of sorted keys; O(m)."""
    m = len(keys)
    items, labels, rounded = np.empty(m, np.int32), np.empty(m, np.bool_), np.empty(m, np.float32)
    _unpack(keys, starts, offsets, items, labels, rounded.view(np.uint32))
    return items, labels, rounded


def sort_falling(
    values: Array, labels: Array, offsets: Array, errors: bool = False, above_zero: bool = False
) -> tuple[Array, Array, Array, Array]:
    """Sorts every set of ``values`` (total,) downwards: returns items, labels and values (m,), segment offsets (n+1,).

    The order is exact for float32 and float64. O(m log m) for the m values that get a key (see :func:`pack`).
    """
    keys, starts = pack(values, labels, offsets, errors, above_zero)
    keys = sort_packed(keys, starts)
    if values.dtype == np.float32:
        items, sorted_labels, found = unpack(keys, starts, offsets)
        return items, sorted_labels, np.add(found, 1.0, dtype=np.float64) if errors else found, starts
    exact = exact_order(keys, values, starts, offsets[:-1], ERRORS if errors else VALUES)
    items, sorted_labels, _ = unpack(keys, starts, offsets)
    return items, sorted_labels, np.negative(exact, out=exact), starts


def _plain_unpack(keys: Array, starts: Array, offsets: Array, items: Array, labels: Array, bits: Array) -> None:
    low, falling = keys & np.uint64(0xFFFFFFFF), (keys >> np.uint64(32)).astype(np.uint32)
    items[:] = offsets[owners_of(starts)] + (low >> np.uint64(1)).astype(np.int64)
    labels[:] = low & np.uint64(1)
    bits[:] = np.where(falling >> np.uint32(31), falling, ~falling & np.uint32(0x7FFFFFFF))


@plain_first(_plain_unpack)
@kernel
def _unpack(keys: Array, starts: Array, offsets: Array, items: Array, labels: Array, bits: Array) -> None:
    for i in range(len(starts) - 1):
        a, b = starts[i], starts[i + 1]
        _unpack_set(keys[a:b], np.int32(offsets[i]), items[a:b], labels[a:b], bits[a:b])


@kernel
def _unpack_set(keys: Array, first: np.int32, items: Array, labels: Array, bits: Array) -> None:
    for j in range(len(keys)):
        low, falling = np.uint32(keys[j]), np.uint32(keys[j] >> np.uint64(32))
        items[j] = np.int32(first) + np.int32(low >> np.uint32(1))
        labels[j] = np.bool_(low & np.uint32(1))
        # The inverse of ``falling_bits``.
        negative = np.uint32(np.int32(falling) >> np.int32(31))
        bits[j] = np.uint32(falling ^ np.uint32(~negative & np.uint32(0x7FFFFFFF)))


def exact_order(keys: Array, values: Array, starts: Array, firsts: Array, kind: int) -> Array:
    """Puts sorted ``keys`` (m,) in the exact order of their float64 ``values``, in place; returns what rises with them.

    ``firsts`` (n,) says where the places of each segment begin in ``values``, and ``kind`` what the keys hold. O(m),
    except for long runs of values that are equal in float32.
    """
    rising = np.empty(len(keys))
    _exact_order(keys, values, starts, firsts, kind, rising)
    return rising


def _plain_exact_order(keys: Array, values: Array, starts: Array, firsts: Array, kind: int, rising: Array) -> None:
    owners, low, upper = owners_of(starts), keys & np.uint64(0xFFFFFFFF), keys >> np.uint64(32)
    s = values[firsts[owners] + (low >> np.uint64(1)).astype(np.int64)]
    margins = s * (2.0 * (low & np.uint64(1)).astype(np.float64) - 1.0)
    rising[:] = -s if kind == VALUES else margins - 1.0 if kind == ERRORS else margins
    if ((rising[1:] < rising[:-1]) & (upper[1:] == upper[:-1]) & (owners[1:] == owners[:-1])).any():
        order = np.lexsort((rising, upper, owners))
        keys[:], rising[:] = keys[order], rising[order]


@plain_first(_plain_exact_order)
@kernel
def _exact_order(keys: Array, values: Array, starts: Array, firsts: Array, kind: int, rising: Array) -> None:
    for i in range(len(starts) - 1):
        a = starts[i]
        while a < starts[i + 1]:
            b = block_end(keys, a, starts[i + 1])
            order_block(keys[a:b], values, firsts[i], kind, rising[a:b])
            a = b


@kernel
def block_end(keys: Array, first: int, stop: int) -> int:
    """Returns the end of the block that begins at ``first``; no run of keys with equal upper halves is cut."""
    last = min(first + BLOCK, stop)
    while last < stop and keys[last] >> np.uint64(32) == keys[last - 1] >> np.uint64(32):
        last += 1
    return last


@kernel
def order_block(keys: Array, values: Array, first: int, kind: int, rising: Array) -> None:
    """Writes what rises with the keys of a block to ``rising``, and puts both in exact order; O(m) without long runs.

    That is ``-value``, or ``-u = s (2 y - 1) - 1``, or the margin ``s (2 y - 1)``, of the values whose places begin at
    ``first``. The keys hold values rounded to float32, so only runs of equal upper halves can be out of order. Equal
    values stay in the order of their places.
    """
    m = len(keys)
    # Read all values first, in a loop without branches: the processor then waits for many reads at a time.
    for j in range(m):
        low = keys[j] & np.uint64(0xFFFFFFFF)
        s = values[first + np.int64(low >> np.uint64(1))]
        margin = s * (2.0 * np.float64(low & np.uint64(1)) - 1.0)
        rising[j] = -s if kind == VALUES else margin - 1.0 if kind == ERRORS else margin
    order_runs(keys, rising)


@kernel
def order_runs(keys: Array, rising: Array) -> None:
    """Sorts each run of keys with equal upper halves by the float64 in ``rising``, which it sorts as well; stable."""
    a, m = 0, len(keys)
    while a < m:
        b = a + 1
        ordered = True
        while b < m and keys[b] >> np.uint64(32) == keys[a] >> np.uint64(32):
            ordered &= rising[b] >= rising[b - 1]
            b += 1
        if not ordered:
            _sort_pairs(rising[a:b], keys[a:b])
        a = b


@kernel
def _sort_pairs(values: Array, keys: Array) -> None:
    """Sorts both upwards by the values; stable. Pieces are sorted by insertion, then merged in pairs; O(m log m)."""
    m, width = len(values), INSERTION
    for a in range(0, m, width):
        _insert_pairs(values[a : a + width], keys[a : a + width])
    if m <= width:
        return
    merged_values, merged_keys = np.empty(m), np.empty(m, np.uint64)
    while width < m:
        for a in range(0, m, 2 * width):
            b, c = min(a + width, m), min(a + 2 * width, m)
            i, j = a, b
            for k in range(a, c):
                left = j >= c or (i < b and values[i] <= values[j])
                merged_values[k], merged_keys[k] = (values[i], keys[i]) if left else (values[j], keys[j])
                i += left
                j += not left
        for k in range(m):
            values[k], keys[k] = merged_values[k], merged_keys[k]
        width *= 2


@kernel
def _insert_pairs(values: Array, keys: Array) -> None:
    for j in range(1, len(values)):
        value, key = values[j], keys[j]
        k = j - 1
        while k >= 0 and values[k] > value:
            values[k + 1], keys[k + 1] = values[k], keys[k]
            k -= 1
        values[k + 1], keys[k + 1] = value, key
