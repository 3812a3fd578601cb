"""Totals of decisions in bins of a line on which their keys lie, each key linear in its score.

The ``line`` (2, 2) holds offset and slope of the keys of negatives and of positives. The ``tops`` (k,) of bins rise
strictly: bin i holds the keys in ``(tops[i - 1], tops[i]]``, bin 0 all up to the first top, and bin k all above the
last one.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import inlined, kernel

Array = NDArray[Any]

CELLS = 8
"""The grid in which the bin of a key is looked up has about this number of cells for each bin."""

BLOCK = 512
"""The keys of blocks of this size stay in the first-level cache."""


@kernel
def key_range(scores: Array, truth: Array, line: Array, floor: float) -> tuple[Array, Array, bool]:
    """Returns the numbers of decisions (2, 2), lowest and highest keys (2, 2), and whether all keys are finite; O(m).

    The first row is of the negatives. The first column counts all of them, the second those above the ``floor``, of
    which alone the keys are; they are inf and -inf if there are none.
    """
    _require_same(scores, truth)
    counts, ends, proper = np.zeros((2, 2), np.int64), np.empty((2, 2)), True
    ends[:, 0], ends[:, 1] = np.inf, -np.inf
    keys, cells = np.empty(BLOCK), np.empty(BLOCK, np.int64)
    for begin in range(0, len(scores), BLOCK):
        end = min(begin + BLOCK, len(scores))
        part = truth[begin:end]
        _block_cells(scores[begin:end], part, line, 0.0, 0.0, 1, keys, cells)
        for y in range(2):
            many, above, low, high = 0, 0, np.inf, -np.inf
            # Without branches: what does not count is replaced by what changes nothing.
            for j in range(end - begin):
                own = np.int64(part[j]) == y
                taken = own & (keys[j] > floor)
                many += own
                above += taken
                low = min(low, keys[j] if taken else np.inf)
                high = max(high, keys[j] if taken else -np.inf)
                proper &= abs(keys[j]) < np.inf
            counts[y, 0] += many
            counts[y, 1] += above
            ends[y, 0] = min(ends[y, 0], low)
            ends[y, 1] = max(ends[y, 1], high)
    return counts, ends, proper


@kernel
def bin_totals(scores: Array, truth: Array, line: Array, tops: Array) -> Array:
    """Returns the totals of the bins below each top, (k, 6); O(m) if the tops are spread evenly, O(m log k) else.

    They are the numbers of negatives and of positives, the sums of their keys less the top, and the lowest and the
    highest key. So sums of many keys are rounded no more than the width of the bin.
    """
    _require_same(scores, truth)
    out = np.zeros((len(tops) + 1, 6))
    out[:, 4], out[:, 5] = np.inf, -np.inf
    base, scale, first = _grid(tops)
    keys, cells, last = np.empty(BLOCK), np.empty(BLOCK, np.int64), np.int64(len(tops))
    for begin in range(0, len(scores), BLOCK):
        end = min(begin + BLOCK, len(scores))
        _block_cells(scores[begin:end], truth[begin:end], line, base, scale, len(first) - 1, keys, cells)
        for j in range(end - begin):
            key = keys[j]
            b = _bin_of(key, cells[j], tops, first)
            if b < last:
                y, row = np.int64(truth[begin + j]), out[b]
                row[y] += 1.0
                row[2 + y] += key - tops[b]
                row[4] = min(row[4], key)
                row[5] = max(row[5], key)
    return out[:-1]


@kernel
def bin_keys(scores: Array, truth: Array, line: Array, tops: Array, chosen: Array) -> tuple[Array, Array]:
    """Returns the keys and the labels of the decisions in the bins where ``chosen`` (k+1,) is true, in their order."""
    _require_same(scores, truth)
    base, scale, first = _grid(tops)
    keys, labels, kept = np.empty(len(scores)), np.empty(len(scores), np.bool_), 0
    for j in range(len(scores)):
        y = np.int64(truth[j])
        key = line[y, 0] + line[y, 1] * scores[j]
        if chosen[_bin_of(key, _cell(key, base, scale, len(first) - 1), tops, first)]:
            keys[kept], labels[kept] = key, truth[j]
            kept += 1
    return keys[:kept].copy(), labels[:kept].copy()


@kernel
def bin_slopes(scores: Array, truth: Array, line: Array, tops: Array, slopes: Array, gradient: Array) -> None:
    """Writes for each decision what ``slopes`` (k+1, 2) hold for its bin and class to ``gradient`` (m,); O(m)."""
    _require_same(scores, truth)
    _require_same(scores, gradient)
    base, scale, first = _grid(tops)
    keys, cells = np.empty(BLOCK), np.empty(BLOCK, np.int64)
    for begin in range(0, len(scores), BLOCK):
        end = min(begin + BLOCK, len(scores))
        _block_cells(scores[begin:end], truth[begin:end], line, base, scale, len(first) - 1, keys, cells)
        for j in range(end - begin):
            gradient[begin + j] = slopes[_bin_of(keys[j], cells[j], tops, first), np.int64(truth[begin + j])]


@kernel
def _grid(tops: Array) -> tuple[float, float, Array]:
    """Returns base and scale of a grid of cells, and how many tops lie in the cells before each, (cells + 1,)."""
    k = len(tops)
    cells, base, scale = CELLS * k + 1, 0.0, 0.0
    if k > 1:
        base, high, low, most = tops[0], tops[-1], tops[k // 64], tops[k - 1 - k // 64]
        # Few tops far away from the others would make the cells wide, so they share the first and the last cell.
        if high - base > 4.0 * (most - low):
            base, high = low, most
        scale = cells / (high - base)
        # Tops that lie closer than float64 can divide share one cell.
        scale = scale if scale < np.inf else 0.0
    first = np.zeros(cells + 1, np.int64)
    for top in tops:
        first[_cell(top, base, scale, cells) + 1] += 1
    for c in range(cells):
        first[c + 1] += first[c]
    return base, scale, first


@kernel
def _block_cells(
    scores: Array, truth: Array, line: Array, base: float, scale: float, cells: int, keys: Array, found: Array
) -> None:
    """Writes the keys of a block of decisions and their cells."""
    # Without branches, so that the loop compiles to vector instructions.
    for j in range(len(scores)):
        offset, slope = line[1, 0] if truth[j] else line[0, 0], line[1, 1] if truth[j] else line[0, 1]
        keys[j] = offset + slope * scores[j]
        found[j] = np.int64(min(max((keys[j] - base) * scale, 0.0), cells - 1.0))


@inlined
def _cell(key: float, base: float, scale: float, cells: int) -> Any:
    """The cell of a key, which never falls as the key rises."""
    return np.int64(min(max((key - base) * scale, 0.0), cells - 1.0))


@inlined
def _bin_of(key: float, c: int, tops: Array, first: Array) -> Any:
    """The number of tops below the key, which lies in the cell c."""
    # All tops of earlier cells are below the key, and none of the later ones is.
    a, b = first[c], first[c + 1]
    while a < b:
        middle = (a + b) >> 1
        if tops[middle] < key:
            a = middle + 1
        else:
            b = middle
    return a


@kernel
def _require_same(a: Array, b: Array) -> None:
    if len(a) != len(b):
        raise ValueError("arrays of decisions must have the same length")
