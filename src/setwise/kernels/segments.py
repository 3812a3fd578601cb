"""Sums and differences inside the segments of a flat array; segment ``i`` is ``offsets[i]:offsets[i+1]``, or empty.

Products of a dense matrix of rows, float32 or float64, with weights and with gradients, in float64. Means over
decisions that nothing tells apart.
"""

from typing import Any

import numpy as np

from setwise.kernels.jit import Array, bare, kernel, plain_first, reordered, source

SHORTER = "an array is shorter than the sets whose entries it should hold"


@bare
def require_length(array: Any, offsets: Any) -> None:
    """Raises ValueError where the segments of ``offsets`` end beyond the array: kernels do not check their indices."""
    if len(offsets) == 0 or offsets[0] < 0 or offsets[-1] > len(array):
        raise ValueError(SHORTER)


plain_require_length = source(require_length)


@bare
def require_size(array: Any, n: int) -> None:
    """Raises ValueError where the array has fewer than n entries, as :func:`require_length` does."""
    if n > len(array):
        raise ValueError(SHORTER)


def owners_of(offsets: Array) -> Array:
    """Returns the number of the segment of each entry, (total,) int64."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def plain_count_true(mask: Array, offsets: Array) -> Array:
    """:func:`count_true` by NumPy."""
    plain_require_length(mask, offsets)
    before = np.concatenate([[0], np.cumsum(mask, dtype=np.int64)])
    return before[offsets[1:]] - before[offsets[:-1]]


@plain_first(plain_count_true)
@kernel
def count_true(mask: Array, offsets: Array) -> Array:
    """Returns the number of true entries of each segment, (n,) int64; O(total)."""
    require_length(mask, offsets)
    n = len(offsets) - 1
    out = np.zeros(n, np.int64)
    for i in range(n):
        count = 0
        for j in range(offsets[i], offsets[i + 1]):
            count += mask[j]
        out[i] = count
    return out


def _plain_segment_sums(x: Array, offsets: Array) -> Array:
    plain_require_length(x, offsets)
    # It adds one entry after another, as the kernel does.
    inside = x[offsets[0] : offsets[-1]]
    return np.bincount(owners_of(offsets), inside, minlength=len(offsets) - 1).astype(np.float64)


@plain_first(_plain_segment_sums)
@kernel
def segment_sums(x: Array, offsets: Array) -> Array:
    """Returns the sum of each segment, (n,) float64; O(total)."""
    require_length(x, offsets)
    n = len(offsets) - 1
    out = np.zeros(n, np.float64)
    for i in range(n):
        total = 0.0
        for j in range(offsets[i], offsets[i + 1]):
            total += x[j]
        out[i] = total
    return out


@kernel
def least_of_caps(bases: Array, gains: Array, margins: Array, weights: Array, offsets: Array) -> Array:
    """Returns ``min_c max_A weights_i (bases_ci + gains_c(A)) - margins(A)`` of each segment i, (n,).

    Each entry enters A where it pays. The k modular terms are ``bases`` (k, n) and ``gains`` (k, total); O(k total).
    """
    require_length(margins, offsets)
    require_length(gains[0], offsets)
    n = len(offsets) - 1
    out = np.full(n, np.inf)
    for c in range(len(gains)):
        for i in range(n):
            total = weights[i] * bases[c, i]
            for j in range(offsets[i], offsets[i + 1]):
                total += max(gains[c, j] * weights[i] - margins[j], 0.0)
            if total < out[i]:
                out[i] = total
    return out


@kernel
def masked_sums(x: Array, mask: Array, offsets: Array) -> Array:
    """Returns the sum of the entries of each segment where ``mask`` is true, (n,) float64; O(total).

    All entries must be finite.
    """
    require_length(x, offsets)
    require_length(mask, offsets)
    n = len(offsets) - 1
    out = np.zeros(n, np.float64)
    for i in range(n):
        total = 0.0
        for j in range(offsets[i], offsets[i + 1]):
            total += x[j] * mask[j]
        out[i] = total
    return out


@kernel
def running_sums(x: Array, offsets: Array) -> Array:
    """Returns the running sums inside each segment, each with its own entry, (total,) float64; O(total)."""
    require_length(x, offsets)
    out = np.empty(len(x), np.float64)
    for i in range(len(offsets) - 1):
        total = 0.0
        for j in range(offsets[i], offsets[i + 1]):
            total += x[j]
            out[j] = total
    return out


@kernel
def differences(values: Array, offsets: Array, start: Array) -> Array:
    """Returns the differences of consecutive entries of each segment, (total,), the first from ``start``; O(total)."""
    require_length(values, offsets)
    out = np.empty(len(values), np.float64)
    for i in range(len(offsets) - 1):
        before = start[i]
        for j in range(offsets[i], offsets[i + 1]):
            out[j] = values[j] - before
            before = values[j]
    return out


def _plain_segment_argmax(x: Array, offsets: Array) -> Array:
    plain_require_length(x, offsets)
    if len(offsets) == 1:
        return np.empty(0, np.int64)
    first, inside = offsets[0], x[offsets[0] : offsets[-1]]
    # Nothing is above NaN, and NaN is above nothing.
    odd = np.isnan(inside)
    filled = np.where(odd, -np.inf, inside) if odd.any() else inside
    starts, owners = offsets[:-1] - first, owners_of(offsets)
    hits = np.flatnonzero(filled == np.maximum.reduceat(filled, starts)[owners])
    found = hits[np.searchsorted(owners[hits], np.arange(len(starts)))]
    return np.asarray(np.where(odd[starts], starts, found) + first, np.int64)


@plain_first(_plain_segment_argmax)
@kernel
def segment_argmax(x: Array, offsets: Array) -> Array:
    """Returns the flat place of the first largest entry of each segment, (n,) int64; no segment is empty; O(total)."""
    require_length(x, offsets)
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
    """Returns the flat places of chosen segments, (places,) int64, and whether the segments follow one another.

    Where they do, a slice serves the caller better, and no places are returned. O(places). Raises IndexError where
    there is no such segment.
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
    """Returns the offsets of chosen segments laid side by side, (len(parts) + 1,) int64.

    Raises IndexError where there is no such segment.
    """
    out = np.zeros(len(parts) + 1, np.int64)
    for k in range(len(parts)):
        if parts[k] < 0 or parts[k] >= len(offsets) - 1:
            raise IndexError("parts must be numbers of segments, from 0 up")
        out[k + 1] = out[k] + offsets[parts[k] + 1] - offsets[parts[k]]
    return out


def _plain_class_costs(costs: Array, labels: Array, offsets: Array) -> tuple[Array, bool]:
    plain_require_length(costs, offsets)
    plain_require_length(labels, offsets)
    n = len(offsets) - 1
    inside, out = costs[offsets[0] : offsets[-1]], np.zeros(2 * n)
    sides = 2 * owners_of(offsets) + np.where(labels[offsets[0] : offsets[-1]], 0, 1)
    places, firsts = np.arange(len(sides)), np.zeros(2 * n, np.int64)
    # Of several that are written to one place the last one stays.
    firsts[sides[::-1]] = places[::-1]
    firsts = firsts[sides]
    wrong = (inside[firsts] != inside) & (firsts != places)
    end = wrong.argmax() if wrong.any() else len(sides)
    out[sides[:end]] = inside[:end]
    return out.reshape(n, 2), not wrong.any()


@plain_first(_plain_class_costs)
@kernel
def class_costs(costs: Array, labels: Array, offsets: Array) -> tuple[Array, bool]:
    """Returns the costs (n, 2) of a mistake on a positive and on a negative of each set, and whether there are such.

    They exist where all mistakes on one class of a set cost the same. A class without decisions costs 0. O(total)
    """
    require_length(costs, offsets)
    require_length(labels, offsets)
    n = len(offsets) - 1
    out = np.zeros((n, 2), np.float64)
    for i in range(n):
        seen = np.zeros(2, np.bool_)
        for j in range(offsets[i], offsets[i + 1]):
            side = 0 if labels[j] else 1
            if seen[side] and out[i, side] != costs[j]:
                return out, False
            out[i, side] = costs[j]
            seen[side] = True
    return out, True


RUN = 1024
"""So many rows are summed before their sum joins that of the others, which keeps rounding small."""


@reordered
def row_products(X: Array, w: Array, constant: float, out: Array) -> None:
    """Writes ``X w + constant``, (m,), for X (m, d) and w (d,); O(m d)."""
    m, d = X.shape
    if len(w) != d or len(out) != m:
        raise ValueError("there must be one weight for each column, and one product for each row")
    for i in range(m):
        total = 0.0
        for j in range(d):
            total += X[i, j] * w[j]
        out[i] = total + constant


@reordered
def column_products(X: Array, g: Array, out: Array, run: Array) -> None:
    """Writes ``X^T g``, (d,), for X (m, d) and g (m,); ``run`` (d,) is room for the sum of some rows. O(m d)."""
    m, d = X.shape
    if len(g) != m or len(out) != d or len(run) != d:
        raise ValueError("there must be one entry of the gradient for each row, and one sum for each column")
    out[:] = 0.0
    for first in range(0, m, RUN):
        run[:] = 0.0
        for i in range(first, min(m, first + RUN)):
            if g[i] != 0.0:
                for j in range(d):
                    run[j] += g[i] * X[i, j]
        for j in range(d):
            out[j] += run[j]


@reordered
def row_lengths(X: Array, constant: float, out: Array) -> None:
    """Writes the Euclidean length of each row with a constant feature, (m,), for X (m, d); O(m d)."""
    m, d = X.shape
    if len(out) != m:
        raise ValueError("there must be one length for each row")
    for i in range(m):
        total = constant * constant
        for j in range(d):
            total += X[i, j] * X[i, j]
        out[i] = total**0.5


@kernel
def tied_means(values: Array, items: Array, labels: Array, scores: Array, starts: Array) -> Array:
    """Returns ``values`` (total,) with their mean over decisions of one set with equal scores and labels; O(total).

    ``items``, ``labels`` and ``scores`` (total,) are the decisions of each set in the order of their scores; set ``i``
    owns ``starts[i]:starts[i+1]``.
    """
    require_length(values, starts)
    require_length(items, starts)
    require_length(labels, starts)
    require_length(scores, starts)
    out = values.copy()
    for i in range(len(starts) - 1):
        a = starts[i]
        while a < starts[i + 1]:
            b = a + 1
            while b < starts[i + 1] and scores[b] == scores[a]:
                b += 1
            if b > a + 1:
                _of_run(values, items[a:b], labels[a:b], out)
            a = b
    return out


@kernel
def _of_run(values: Array, items: Array, labels: Array, out: Array) -> None:
    """Writes the means of one run of equal scores, one for each label."""
    sums, counts = np.zeros(2), np.zeros(2)
    for j in range(len(items)):
        sums[int(labels[j])] += values[items[j]]
        counts[int(labels[j])] += 1.0
    for j in range(len(items)):
        out[items[j]] = sums[int(labels[j])] / counts[int(labels[j])]
