"""Histograms of scores, of probabilities and of keys between given edges, for sets that are not sorted.

A histogram says how many lie between two edges, their sum, and the least and the largest; of probabilities the mean and
the variance of their positives. Row 0 of all arrays belongs to the negatives and row 1 to the positives. A guide to the
bin of a value has even cells over the range of the edges, and how many edges lie before each.

Keys lie on a line, each linear in its score. The ``line`` (2, 2) holds offset and slope of the keys of negatives and of
positives. The ``edges`` (k+1,) of k bins rise strictly: bin i holds the keys in ``(edges[i], edges[i + 1]]``. Other
keys are in no bin.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from setwise.kernels.jit import Array, inlined, kernel

CELLS = 8
"""The grid in which the bin of a key is looked up has about this number of cells for each edge."""

BIN_BLOCK = 512
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
    counts, keys = np.zeros((2, 2), np.int64), np.empty(BIN_BLOCK)
    bits, odd = keys.view(np.int64), np.int64(0)
    keys[0] = floor
    bound = _rising(bits[0])
    low, high, other_low, other_high = LARGEST, -LARGEST, LARGEST, -LARGEST
    for begin in range(0, len(scores), BIN_BLOCK):
        end = min(begin + BIN_BLOCK, len(scores))
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
    keys, places = np.empty(BIN_BLOCK), np.empty(BIN_BLOCK, np.uint32)
    for begin in range(0, len(scores), BIN_BLOCK):
        end = min(begin + BIN_BLOCK, len(scores))
        _block_keys(scores[begin:end], truth[begin:end], line, keys)
        for j in range(_places_inside(keys, end - begin, edges, places)):
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
    keys, places = np.empty(BIN_BLOCK), np.empty(BIN_BLOCK, np.uint32)
    for begin in range(0, len(scores), BIN_BLOCK):
        end = min(begin + BIN_BLOCK, len(scores))
        _block_keys(scores[begin:end], truth[begin:end], line, keys)
        for j in range(_places_inside(keys, end - begin, edges, places)):
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
    keys, places = np.empty(BIN_BLOCK), np.empty(BIN_BLOCK, np.uint32)
    for begin in range(0, len(scores), BIN_BLOCK):
        end = min(begin + BIN_BLOCK, len(scores))
        _block_keys(scores[begin:end], truth[begin:end], line, keys)
        for j in range(_places_inside(keys, end - begin, edges, places)):
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
def _places_inside(keys: Array, size: int, edges: Array, places: Array) -> Any:
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
    # Keys beyond the grid belong to its first or its last cell.
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


GUIDE_CELLS = 4
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
    cells = GUIDE_CELLS * (len(edges) - 1)
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


ADDED = 1 << 14
"""So many scores or probabilities are added one by one; then sums of blocks are added, so rounding hardly gathers."""

FEW = 4
"""With up to this number of bins all edges are compared."""


class Histograms(NamedTuple):
    """What bins of values hold, (2, k) each: ``counts`` int64, ``sums``, and the least and the largest value.

    An empty bin has the sum 0, the least value inf and the largest -inf.
    """

    counts: Array
    sums: Array
    least: Array
    most: Array


def class_histograms(scores: Array, truth: Array, signs: ArrayLike, edges: Array) -> Histograms:
    """Returns what the bins of ``sign * score`` hold for each class; O(m log k), and mostly O(m) for even edges.

    ``edges`` (2, k + 1) float64 rise, not strictly; bin j holds ``edges[c, j] <= value < edges[c, j + 1]``. Values
    outside of all bins are left out. Edges may be infinite, so that ``[-inf, inf]`` is one bin of all finite values.

    Parameters
    ----------
    scores : (m,) finite float32 or float64, which are binned and added as float64
    truth : (m,) bool
    signs : (2,) 1 or -1, the factor of the scores of each class: (-1, 1) makes margins of scores
    """
    if scores.shape != truth.shape:
        raise ValueError(f"scores and truth must be equally long; got shapes {scores.shape} and {truth.shape}.")
    k = edges.shape[1] - 1
    found = Histograms(np.zeros((2, k), np.int64), np.zeros((2, k)), np.full((2, k), np.inf), np.full((2, k), -np.inf))
    if k > 0:
        _fill(scores, truth, np.asarray(signs, dtype=np.float64), edges, *found)
    return found


@kernel
def _guides(edges: Array) -> tuple[Array, Array, Array]:
    """The guides to the edges of both classes, (2, cells + 1), and the offsets and the factors of their cells."""
    first, low, inverse = guide_of(edges[0])
    second, other_low, other = guide_of(edges[1])
    return np.stack((first, second)), np.array([low, other_low]), np.array([inverse, other])


@kernel
def _fill(
    scores: Array, truth: Array, signs: Array, edges: Array, counts: Array, sums: Array, least: Array, most: Array
) -> None:
    guides, lows, inverses = _guides(edges)
    k, cells = edges.shape[1] - 1, guides.shape[1] - 1
    # What a bin holds lies side by side, so that an update touches one line of memory.
    bins = np.zeros((2 * k, 4))
    for j in range(2 * k):
        bins[j, 2], bins[j, 3] = np.inf, -np.inf
    values, classes, places = np.empty(ADDED), np.empty(ADDED, np.int64), np.empty(ADDED, np.int64)
    flat_edges, flat_guides, flat_sums = edges.ravel(), guides.ravel(), sums.ravel()
    for begin in range(0, len(scores), ADDED):
        stop = min(begin + ADDED, len(scores))
        n = _inside(scores[begin:stop], truth[begin:stop], signs, edges, values, classes)
        if k <= FEW:
            _count_edges(values[:n], classes[:n], edges, places)
        else:
            for i in range(n):
                c = classes[i]
                places[i] = cell_of(values[i], lows[c], inverses[c], cells) + c * (cells + 1)
            for i in range(n):
                c, cell = classes[i], places[i]
                own = flat_edges[c * (k + 1) : (c + 1) * (k + 1)]
                places[i] = edges_up_to(values[i], own, flat_guides[cell], flat_guides[cell + 1])
        for i in range(n):
            j, x = classes[i] * k + places[i] - 1, values[i]
            bins[j, 0] += 1.0
            bins[j, 1] += x
            bins[j, 2] = min(bins[j, 2], x)
            bins[j, 3] = max(bins[j, 3], x)
        for j in range(2 * k):
            flat_sums[j] += bins[j, 1]
            bins[j, 1] = 0.0
    for c in range(2):
        for j in range(k):
            counts[c, j], least[c, j], most[c, j] = bins[c * k + j, 0], bins[c * k + j, 2], bins[c * k + j, 3]


@kernel
def _inside(scores: Array, truth: Array, signs: Array, edges: Array, values: Array, classes: Array) -> int:
    """Moves the values of a block that lie in any bin to the front, and their classes, and returns how many there are.

    There are no branches on the data, for no processor could predict them.
    """
    n, last = 0, edges.shape[1] - 1
    negative, positive = signs[0], signs[1]
    low_negative, low_positive, high_negative, high_positive = edges[0, 0], edges[1, 0], edges[0, last], edges[1, last]
    for i in range(len(scores)):
        c = truth[i]
        x = np.float64(scores[i]) * (positive if c else negative)
        values[n], classes[n] = x, c
        n += (x >= (low_positive if c else low_negative)) & (x < (high_positive if c else high_negative))
    return n


@kernel
def _count_edges(values: Array, classes: Array, edges: Array, places: Array) -> None:
    """Writes the number of edges up to each value."""
    for i in range(len(values)):
        below = 0
        for edge in edges[classes[i]]:
            below += edge <= values[i]
        places[i] = below


def values_between(scores: Array, truth: Array, signs: ArrayLike, edges: Array, sizes: ArrayLike) -> list[Array]:
    """Returns the sorted values ``sign * score`` of each class in every other bin, two float64 arrays; O(m log k).

    ``edges`` (2, w) float64 rise; the bins are those from an edge of even number to the next, up to the last edge.
    There are at most ``sizes`` (2,) such values of each class.
    """
    if scores.shape != truth.shape:
        raise ValueError(f"scores and truth must be equally long; got shapes {scores.shape} and {truth.shape}.")
    room = np.minimum(np.asarray(sizes, dtype=np.int64), len(scores))
    out = np.empty((2, int(room.max())))
    counts = _between(scores, truth, np.asarray(signs, dtype=np.float64), edges, room, out)
    return [np.sort(out[c, : counts[c]]) for c in range(2)]


@kernel
def _between(scores: Array, truth: Array, signs: Array, edges: Array, room: Array, out: Array) -> Array:
    counts, last = np.zeros(2, np.int64), edges.shape[1] - 1
    for i in range(len(scores)):
        c = np.int64(truth[i])
        x = signs[c] * np.float64(scores[i])
        if x >= edges[c, 0] and x < edges[c, last] and edges_up_to(x, edges[c], np.int64(0), last + 1) % 2 == 1:
            if counts[c] == room[c]:
                raise ValueError("there are more values than sizes tell")
            out[c, counts[c]] = x
            counts[c] += 1
    return counts


@kernel
def count_equal(scores: Array, truth: Array, signs: Array, levels: Array) -> Array:
    """Returns how many values ``sign * score`` of each class equal its level, (2,) int64; O(m)."""
    counts = np.zeros(2, np.int64)
    for i in range(len(scores)):
        c = np.int64(truth[i])
        counts[c] += signs[c] * scores[i] == levels[c]
    return counts


@kernel
def write_below(
    scores: Array, truth: Array, signs: Array, levels: Array, ties: Array, steps: Array, out: Array
) -> None:
    """Writes the step of its class, (2,), for each value below the level of its class, and 0 for the others; O(m).

    Of the values that equal the level the first ``ties`` (2,) count as below it.
    """
    used = np.zeros(2, np.int64)
    for i in range(len(scores)):
        c = np.int64(truth[i])
        x = signs[c] * np.float64(scores[i])
        tied = x == levels[c] and used[c] < ties[c]
        used[c] += tied
        out[i] = steps[c] if tied or x < levels[c] else 0.0


class Chances(NamedTuple):
    """What bins hold, (k,) each: ``counts`` int64, sums of q and of q (1 - q), and the least and the largest q.

    An empty bin has the sums 0, the least value inf and the largest -inf.
    """

    counts: Array
    means: Array
    variances: Array
    least: Array
    most: Array


def chances(q: Array, edges: Array) -> Chances:
    """Returns what the bins ``edges[j] <= q < edges[j + 1]`` hold; O(m log k), and mostly O(m) for even edges.

    Probabilities outside of all bins are left out.

    Parameters
    ----------
    q : (m,) float32 or float64 in [0, 1], which are binned and added as float64
    edges : (k + 1,) finite float64 that rise, not strictly
    """
    k = len(edges) - 1
    found = Chances(np.zeros(k, np.int64), np.zeros(k), np.zeros(k), np.full(k, np.inf), np.full(k, -np.inf))
    if k > 0 and len(q):
        _fill_chances(q, edges, *found)
    return found


@kernel
def _fill_chances(
    q: Array, edges: Array, counts: Array, means: Array, variances: Array, least: Array, most: Array
) -> None:
    guide, first, inverse = guide_of(edges)
    k, cells = len(edges) - 1, len(guide) - 1
    sums = np.zeros((k, 2))
    for begin in range(0, len(q), ADDED):
        for i in range(begin, min(begin + ADDED, len(q))):
            x = np.float64(q[i])
            if not (edges[0] <= x < edges[k]):
                continue
            cell = cell_of(x, first, inverse, cells)
            j = edges_up_to(x, edges, guide[cell], guide[cell + 1]) - 1
            counts[j] += 1
            sums[j, 0] += x
            sums[j, 1] += x * (1.0 - x)
            least[j], most[j] = min(least[j], x), max(most[j], x)
        for j in range(k):
            means[j] += sums[j, 0]
            variances[j] += sums[j, 1]
            sums[j, :] = 0.0
