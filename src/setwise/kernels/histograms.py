"""Histograms of the scores of each class: how many there are between two edges, their sum, the least and the largest.

Row 0 of all arrays belongs to the negatives and row 1 to the positives.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.kernels.guide import cell_of, edges_up_to, guide_of
from setwise.kernels.jit import kernel

Array = NDArray[Any]

BLOCK = 1 << 14
"""The number of scores that are added one by one; the sums of blocks are added then, so rounding hardly gathers."""

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
        factors = np.asarray(signs, dtype=np.float64)
        _fill(scores, truth, factors, edges, *_guides(edges), found.counts, found.sums, found.least, found.most)
    return found


@kernel
def _guides(edges: Array) -> tuple[Array, Array, Array]:
    """The guides to the edges of both classes, (2, cells + 1), and the offsets and the factors of their cells."""
    first, low, inverse = guide_of(edges[0])
    second, other_low, other = guide_of(edges[1])
    guides, lows, inverses = np.empty((2, len(first)), np.int64), np.empty(2), np.empty(2)
    lows[0], lows[1], inverses[0], inverses[1] = low, other_low, inverse, other
    for cell in range(len(first)):
        guides[0, cell], guides[1, cell] = first[cell], second[cell]
    return guides, lows, inverses


@kernel
def _fill(
    scores: Array,
    truth: Array,
    signs: Array,
    edges: Array,
    guides: Array,
    lows: Array,
    inverses: Array,
    counts: Array,
    sums: Array,
    least: Array,
    most: Array,
) -> None:
    k, cells = edges.shape[1] - 1, guides.shape[1] - 1
    # What a bin holds lies side by side, so that an update touches one line of memory.
    bins = np.zeros((2 * k, 4))
    for j in range(2 * k):
        bins[j, 2], bins[j, 3] = np.inf, -np.inf
    values, classes, places = np.empty(BLOCK), np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    flat_edges, flat_guides, flat_sums = edges.ravel(), guides.ravel(), sums.ravel()
    for begin in range(0, len(scores), BLOCK):
        stop = min(begin + BLOCK, len(scores))
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
        x, below = signs[c] * np.float64(scores[i]), False
        if x < levels[c]:
            below = True
        elif x == levels[c] and used[c] < ties[c]:
            below = True
            used[c] += 1
        out[i] = steps[c] if below else 0.0
