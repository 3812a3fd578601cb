"""Totals of decisions in bins of a line on which their keys lie, each key linear in its score.

The ``line`` (2, 2) holds offset and slope of the keys of negatives and of positives. The ``edges`` (k+1,) of k bins
rise strictly: bin i holds the keys in ``(edges[i], edges[i + 1]]``. Other keys are in no bin.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import inlined, kernel

Array = NDArray[Any]

CELLS = 8
"""The grid in which the bin of a key is looked up has about this number of cells for each edge."""

BLOCK = 512
"""The keys of blocks of this size stay in the first-level cache."""

LARGEST: Any = np.int64(0x7FFFFFFFFFFFFFFF)
"""All bits of a float64 but its sign."""

INFINITE = np.int64(0x7FF0000000000000)
"""The bits of infinity; those of NaN are larger, but for the sign."""


@kernel
def key_range(scores: Array, truth: Array, line: Array, floor: float) -> tuple[Array, Array, bool]:
    """Returns the numbers of decisions (2, 2), lowest and highest keys (2, 2), and whether all keys are finite; O(m).

    The first row is of the negatives. The first column counts all of them, the second those above the ``floor``, of
    which alone the keys are; they are inf and -inf if there are none.
    """
    _require_same(scores, truth)
    counts, keys = np.zeros((2, 2), np.int64), np.empty(BLOCK)
    bits, odd = keys.view(np.int64), np.int64(0)
    keys[0] = floor
    bound = _rising(bits[0])
    low, high, other_low, other_high = LARGEST, -LARGEST, LARGEST, -LARGEST
    for begin in range(0, len(scores), BLOCK):
        end = min(begin + BLOCK, len(scores))
        part = truth[begin:end]
        _block_keys(scores[begin:end], part, line, keys)
        positives, above, others = np.int64(0), np.int64(0), np.int64(0)
        # Bits are compared, and not floats, and without branches: this loop compiles to vector instructions.
        for j in range(end - begin):
            key, y = _rising(bits[j]), np.int64(part[j])
            odd += np.int64((bits[j] & LARGEST) >= INFINITE)
            taken, other = (key > bound) & (y == 1), (key > bound) & (y == 0)
            low, high = min(low, key if taken else LARGEST), max(high, key if taken else -LARGEST)
            other_low = min(other_low, key if other else LARGEST)
            other_high = max(other_high, key if other else -LARGEST)
            positives += y
            above += np.int64(taken)
            others += np.int64(other)
        counts[0, 0] += end - begin - positives
        counts[0, 1] += others
        counts[1, 0] += positives
        counts[1, 1] += above
    ends = np.empty((2, 2))
    bits[0], bits[1], bits[2], bits[3] = _rising(other_low), _rising(other_high), _rising(low), _rising(high)
    for c in range(2):
        some = counts[c, 1] > 0
        ends[c, 0], ends[c, 1] = keys[2 * c] if some else np.inf, keys[2 * c + 1] if some else -np.inf
    return counts, ends, odd == 0


@inlined
def _rising(bits: Any) -> Any:
    """The bits of a float64 as a whole number that rises with it; the same function leads back."""
    return bits ^ ((bits >> np.int64(63)) & LARGEST)


@kernel
def bin_totals(scores: Array, truth: Array, line: Array, edges: Array) -> Array:
    """Returns the totals of every bin, (k, 6); O(m) if the edges are spread evenly, O(m log k) else.

    They are the numbers of negatives and of positives, the sums of their keys less the upper edge, and the lowest and
    the highest key. So sums of many keys are rounded no more than the width of the bin.
    """
    _require_same(scores, truth)
    out = np.zeros((max(len(edges) - 1, 0), 6))
    for b in range(len(out)):
        out[b, 4], out[b, 5] = np.inf, -np.inf
    base, scale, first = _grid(edges)
    keys, places = np.empty(BLOCK), np.empty(BLOCK, np.uint32)
    for begin in range(0, len(scores), BLOCK):
        end = min(begin + BLOCK, len(scores))
        _block_keys(scores[begin:end], truth[begin:end], line, keys)
        for j in range(_inside(keys, end - begin, edges, places)):
            key, y = keys[places[j]], np.uint32(truth[begin + places[j]])
            b = _bin_of(key, edges, base, scale, first)
            out[b, y] += 1.0
            out[b, np.uint32(y + np.uint32(2))] += key - edges[b + 1]
            out[b, 4] = min(out[b, 4], key)
            out[b, 5] = max(out[b, 5], key)
    return out


@kernel
def bin_keys(scores: Array, truth: Array, line: Array, edges: Array, chosen: Array) -> tuple[Array, Array]:
    """Returns the keys and the labels of the decisions in the bins where ``chosen`` (k,) is true, in their order."""
    _require_same(scores, truth)
    base, scale, first = _grid(edges)
    found, labels, kept = np.empty(len(scores)), np.empty(len(scores), np.bool_), 0
    keys, places = np.empty(BLOCK), np.empty(BLOCK, np.uint32)
    for begin in range(0, len(scores), BLOCK):
        end = min(begin + BLOCK, len(scores))
        _block_keys(scores[begin:end], truth[begin:end], line, keys)
        for j in range(_inside(keys, end - begin, edges, places)):
            key = keys[places[j]]
            if chosen[_bin_of(key, edges, base, scale, first)]:
                found[kept], labels[kept] = key, truth[begin + places[j]]
                kept += 1
    return found[:kept].copy(), labels[:kept].copy()


@kernel
def bin_slopes(scores: Array, truth: Array, line: Array, edges: Array, slopes: Array, gradient: Array) -> None:
    """Writes what ``slopes`` (k, 2) hold for the bin and class of each decision to ``gradient`` (m,), else 0; O(m)."""
    _require_same(scores, truth)
    _require_same(scores, gradient)
    base, scale, first = _grid(edges)
    gradient[:] = 0.0
    keys, places = np.empty(BLOCK), np.empty(BLOCK, np.uint32)
    for begin in range(0, len(scores), BLOCK):
        end = min(begin + BLOCK, len(scores))
        _block_keys(scores[begin:end], truth[begin:end], line, keys)
        for j in range(_inside(keys, end - begin, edges, places)):
            b = _bin_of(keys[places[j]], edges, base, scale, first)
            gradient[begin + places[j]] = slopes[b, np.uint32(truth[begin + places[j]])]


@kernel
def _grid(edges: Array) -> tuple[float, float, Array]:
    """Returns base and scale of a grid of cells, and how many edges lie in the cells before each, (cells + 1,)."""
    k = len(edges)
    cells, base, scale = CELLS * k + 1, 0.0, 0.0
    if k > 1:
        base, high, low, most = edges[0], edges[-1], edges[k // 64], edges[k - 1 - k // 64]
        # Few edges far away from the others would make the cells wide, so they share the first and the last cell.
        if high - base > 4.0 * (most - low):
            base, high = low, most
        scale = cells / (high - base)
        # Edges that lie closer than float64 can divide share one cell.
        scale = scale if scale < np.inf else 0.0
    first = np.zeros(cells + 1, np.uint32)
    for edge in edges:
        first[_cell(edge, base, scale, cells) + 1] += 1
    for c in range(cells):
        first[c + 1] += first[c]
    return base, scale, first


@kernel
def _block_keys(scores: Array, truth: Array, line: Array, keys: Array) -> None:
    """Writes the keys of a block of decisions."""
    # Without branches, so that the loop compiles to vector instructions.
    for j in range(len(scores)):
        offset, slope = line[1, 0] if truth[j] else line[0, 0], line[1, 1] if truth[j] else line[0, 1]
        keys[j] = offset + slope * scores[j]


@kernel
def _inside(keys: Array, size: int, edges: Array, places: Array) -> Any:
    """Writes the places of those of the first ``size`` keys that are in a bin, and returns their number."""
    kept = np.uint32(0)
    if len(edges) > 1:
        for j in range(size):
            # Close the gaps without a branch: a place that is not kept is overwritten by the next.
            places[kept] = j
            kept += np.uint32((keys[j] > edges[0]) & (keys[j] <= edges[-1]))
    return kept


@inlined
def _cell(key: float, base: float, scale: float, cells: int) -> Any:
    """The cell of a key, which never falls as the key rises."""
    return np.uint32(np.int64(min(max((key - base) * scale, 0.0), cells - 1.0)))


@inlined
def _bin_of(key: float, edges: Array, base: float, scale: float, first: Array) -> Any:
    """The bin of a key that is in one: the number of edges below it, less 1."""
    c = _cell(key, base, scale, len(first) - 1)
    # All edges of earlier cells are below the key, and none of the later ones is.
    a, b = first[c], first[np.uint32(c + np.uint32(1))]
    while a < b:
        middle = np.uint32((a + b) >> np.uint32(1))
        if edges[middle] < key:
            a = np.uint32(middle + np.uint32(1))
        else:
            b = middle
    return np.uint32(a - np.uint32(1))


@kernel
def _require_same(a: Array, b: Array) -> None:
    if len(a) != len(b):
        raise ValueError("arrays of decisions must have the same length")
