"""Sorting decisions by float value: packed 64-bit keys, sorted inside each set of a ragged batch.

A key holds the order-preserving bits of a float32 above and ``2 * place + label`` below, so one integer sort orders the
values and carries everything that later steps need. Large arrays are made by NumPy, not inside the kernels: its
allocator asks for huge pages. Values in float64 are sorted by their float32 rounding first and then repaired, so the
order is exact for them too.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]

INSERTION = 48
VECTORIZED = 4096


@kernel
def falling_bits(value: Any) -> Any:
    """The float32 of ``value`` as a uint32 that falls as the value rises; without branches."""
    bits = np.uint32(np.float32(value).view(np.uint32))
    negative = np.uint32(np.int32(bits) >> np.int32(31))
    return np.uint32(bits ^ np.uint32(~negative & np.uint32(0x7FFFFFFF)))


def pack(values: Array, labels: Array, offsets: Array, above_zero: bool = False) -> tuple[Array, Array]:
    """Keys that sort upwards as ``values`` (total,) fall: (m,) uint64, and their segment offsets (n+1,); O(total).

    With ``above_zero`` only values > 0 enter. ``labels`` (total,) bool travel along in the keys.
    """
    keys, starts = np.empty(len(values), np.uint64), np.zeros(len(offsets), np.int64)
    _pack(values, labels, offsets, above_zero, keys, starts)
    return keys[: starts[-1]], starts


@kernel
def _pack(values: Array, labels: Array, offsets: Array, above_zero: bool, keys: Array, starts: Array) -> None:
    above = np.uint64(falling_bits(0.0)) << np.uint64(32) if above_zero else ~np.uint64(0)
    m = 0
    for i in range(len(offsets) - 1):
        a, b = offsets[i], offsets[i + 1]
        _pack_set(values[a:b], labels[a:b], keys[a:b])
        for key in keys[a:b]:
            keys[m] = key
            m += key < above
        starts[i + 1] = m


@kernel
def _pack_set(values: Array, labels: Array, keys: Array) -> None:
    """Plain indices and no branches: this loop compiles to vector instructions."""
    for j in range(len(values)):
        keys[j] = np.uint64(falling_bits(values[j])) << np.uint64(32) | np.uint64(2 * j + labels[j])


@kernel
def _sort_segments(keys: Array, starts: Array, small: int, large: int) -> None:
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
            _radix(keys[starts[i] : starts[i + 1]], other[:size])


@kernel
def _insertion(keys: Array) -> None:
    for j in range(1, len(keys)):
        key = keys[j]
        k = j - 1
        while k >= 0 and keys[k] > key:
            keys[k + 1] = keys[k]
            k -= 1
        keys[k + 1] = key


@kernel
def _radix(keys: Array, other: Array) -> None:
    """Least significant digit first, four digits of 8 bits over the upper half of the key; the lower half is sorted."""
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


def sort_packed(keys: Array, starts: Array) -> None:
    """Sort every segment of ``keys`` upwards, in place.

    Small segments by insertion, middle ones by radix, large ones by NumPy's vectorized sort: the loop over those in
    Python is short because they are large.
    """
    _sort_segments(keys, starts, INSERTION, VECTORIZED)
    for i in np.flatnonzero(np.diff(starts) > VECTORIZED):
        keys[starts[i] : starts[i + 1]].sort()


def unpack(keys: Array, starts: Array, offsets: Array) -> tuple[Array, Array, Array]:
    """Flat items (m,) int32, labels (m,) bool and rounded values (m,) float32 of sorted keys; O(m)."""
    m = len(keys)
    items, labels, rounded = np.empty(m, np.int32), np.empty(m, np.bool_), np.empty(m, np.float32)
    _unpack(keys, starts, offsets, items, labels, rounded.view(np.uint32))
    return items, labels, rounded


def sort_falling(
    values: Array, labels: Array, offsets: Array, above_zero: bool = False
) -> tuple[Array, Array, Array, Array]:
    """Every set of ``values`` (total,) sorted downwards: items (m,), their labels and values, segment offsets (n+1,).

    Exact for float32 and float64; O(m log m) in the number m of values that enter (see :func:`pack`).
    """
    keys, exact, starts = sort_keys(values, labels, offsets, above_zero)
    items, tags, rounded = unpack(keys, starts, offsets)
    return items, tags, rounded if exact is None else exact, starts


def sort_keys(
    values: Array, labels: Array, offsets: Array, above_zero: bool = False
) -> tuple[Array, Array | None, Array]:
    """The same as sorted keys (m,), the values (m,) where the keys do not hold them (float64), and segment offsets."""
    keys, starts = pack(values, labels, offsets, above_zero)
    sort_packed(keys, starts)
    if values.dtype == np.float32:
        return keys, None, starts
    falling = np.empty(len(keys), np.float64)
    _gather_negated(values, keys, starts, offsets, falling)
    mend_runs(falling, keys, starts)
    return keys, np.negative(falling, out=falling), starts


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
        negative = np.uint32(np.int32(falling) >> np.int32(31))
        bits[j] = np.uint32(falling ^ np.uint32(~negative & np.uint32(0x7FFFFFFF)))


@kernel
def _gather_negated(values: Array, keys: Array, starts: Array, offsets: Array, out: Array) -> None:
    for i in range(len(starts) - 1):
        for j in range(starts[i], starts[i + 1]):
            out[j] = -values[offsets[i] + np.int64((keys[j] & np.uint64(0xFFFFFFFF)) >> np.uint64(1))]


def mend_runs(values: Array, keys: Array, starts: Array) -> None:
    """Put float64 ``values`` (m,), and their sorted ``keys`` with them, in exact upward order; O(m) but for long ties.

    The keys know values by their float32 rounding, so only runs of equal upper halves can be out of order: short ones
    are mended by insertion, long ones by NumPy's sort. Equal values stay in the order of their places.
    """
    long = np.empty(len(values) // INSERTION, np.int64), np.empty(len(values) // INSERTION, np.int64)
    count = _mend_short(values, keys, starts, *long)
    for a, b in zip(long[0][:count].tolist(), long[1][:count].tolist(), strict=True):
        order = np.argsort(values[a:b], kind="stable")
        values[a:b], keys[a:b] = values[a:b][order], keys[a:b][order]


@kernel
def _mend_short(values: Array, keys: Array, starts: Array, first: Array, last: Array) -> int:
    """Mends short runs, and notes where long ones that are out of order begin and end; returns their number."""
    count = 0
    for i in range(len(starts) - 1):
        a = starts[i]
        while a < starts[i + 1]:
            b = a + 1
            ordered = True
            while b < starts[i + 1] and keys[b] >> np.uint64(32) == keys[a] >> np.uint64(32):
                ordered &= values[b] >= values[b - 1]
                b += 1
            if not ordered and b - a > INSERTION:
                first[count], last[count] = a, b
                count += 1
            elif not ordered:
                _insert_pairs(values[a:b], keys[a:b])
            a = b
    return count


@kernel
def _insert_pairs(values: Array, keys: Array) -> None:
    for j in range(1, len(values)):
        value, key = values[j], keys[j]
        k = j - 1
        while k >= 0 and values[k] > value:
            values[k + 1], keys[k + 1] = values[k], keys[k]
            k -= 1
        values[k + 1], keys[k + 1] = value, key
