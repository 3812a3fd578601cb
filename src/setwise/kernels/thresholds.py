"""Losses along a falling threshold, and the best cut points of sorted scores.

The arrays are those of decisions in falling order of their scores, in segments. A cut after ``k`` decisions of a
segment predicts these ``k`` to be positive; it may not separate equal scores.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel, plain_first, require_length, source
from setwise.kernels.segments import owners_of

Array = NDArray[Any]

EQUAL = 1e-12
"""Losses that differ by less, relative to the largest loss of their segment, are taken for equal: it is rounding."""


def _plain_group_places(owners: Array, starts: Array) -> Array:
    order = np.argsort(owners, kind="stable")
    sizes = np.bincount(owners, minlength=len(starts))
    out = np.empty(len(owners), np.int64)
    out[order] = np.repeat(starts - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes) + np.arange(len(owners))
    return out


@plain_first(_plain_group_places)
@kernel
def group_places(owners: Array, starts: Array) -> Array:
    """Returns the place of each decision among those of its own set, laid side by side, (m,) int64; O(m).

    ``owners`` (m,) are in the order of all decisions, which is kept inside each set; set ``i`` begins at ``starts[i]``.
    """
    following = starts.copy()
    out = np.empty(len(owners), np.int64)
    for j in range(len(owners)):
        out[j] = following[owners[j]]
        following[owners[j]] += 1
    return out


def _plain_falling_counts(labels: Array, offsets: Array, positives: Array) -> tuple[Array, Array]:
    source(require_length)(labels, offsets)
    a, b, owners = offsets[0], offsets[-1], owners_of(offsets)
    fn, fp = np.empty(len(labels)), np.empty(len(labels))
    found = np.cumsum(labels, dtype=np.float64)
    before = np.concatenate([[0.0], found])[offsets[:-1]][owners]
    fn[a:b] = positives[owners] - (found[a:b] - before)
    fp[a:b] = (np.arange(a, b) - offsets[owners] + 1) - (found[a:b] - before)
    return fn, fp


@plain_first(_plain_falling_counts)
@kernel
def falling_counts(labels: Array, offsets: Array, positives: Array) -> tuple[Array, Array]:
    """Returns (fn, fp) once each decision and those before it are predicted positive, (m,) float64 each; O(m)."""
    require_length(labels, offsets)
    m = len(labels)
    fn, fp = np.empty(m, np.float64), np.empty(m, np.float64)
    for i in range(len(offsets) - 1):
        missed, alarms = np.float64(positives[i]), 0.0
        for j in range(offsets[i], offsets[i + 1]):
            missed -= labels[j]
            alarms += 1.0 - labels[j]
            fn[j], fp[j] = missed, alarms
    return fn, fp


def _plain_falling_quotient(
    labels: Array, offsets: Array, positives: Array, top: Array, bottom: Array, origin: Array
) -> Array:
    fn, fp = _plain_falling_counts(labels, offsets, positives)
    # The coefficients of a single segment are numbers.
    at = owners_of(offsets) if len(offsets) > 2 else 0
    inside = slice(offsets[0], offsets[-1])
    fn, fp, t, b = fn[inside], fp[inside], top[at].T, bottom[at].T
    out = np.empty(len(labels))
    value = (t[0] + t[1] * fn + t[2] * fp) / (b[0] + b[1] * fn + b[2] * fp)
    out[inside] = np.where(fn + fp > 0.0, value, origin[at])
    return out


@plain_first(_plain_falling_quotient)
@kernel
def falling_quotient(
    labels: Array, offsets: Array, positives: Array, top: Array, bottom: Array, origin: Array
) -> Array:
    """Returns ``(t0 + t1 fn + t2 fp) / (b0 + b1 fn + b2 fp)`` once each decision is predicted too, (m,) float64; O(m).

    ``top`` and ``bottom`` (n, 3) hold the coefficients of each segment, ``origin`` (n,) the value at fn = fp = 0.
    """
    require_length(labels, offsets)
    out = np.empty(len(labels), np.float64)
    for i in range(len(offsets) - 1):
        t0, t1, t2 = top[i, 0], top[i, 1], top[i, 2]
        b0, b1, b2 = bottom[i, 0], bottom[i, 1], bottom[i, 2]
        fn, fp = np.float64(positives[i]), 0.0
        for j in range(offsets[i], offsets[i + 1]):
            fn -= labels[j]
            fp += 1.0 - labels[j]
            out[j] = (t0 + t1 * fn + t2 * fp) / (b0 + b1 * fn + b2 * fp) if fn + fp > 0.0 else origin[i]
    return out


def _plain_mean_along(values: Array, start: Array, owners: Array, places: Array) -> Array:
    return _compensated(values, start, owners, places, None)


@plain_first(_plain_mean_along)
@kernel
def mean_along(values: Array, start: Array, owners: Array, places: Array) -> Array:
    """Returns the mean loss of all sets after each decision of their common order, (m,) float64; O(m).

    ``start`` (n,) holds the losses at first. Decision j changes the loss of set ``owners[j]`` to ``values[places[j]]``.
    The sum is compensated (Neumaier 1974), so its error does not grow with m.
    """
    last, n = start.copy(), len(start)
    total, rest = 0.0, 0.0
    out = np.empty(len(owners), np.float64)
    for i in range(n):
        total, rest = _add(total, rest, last[i])
    for j in range(len(owners)):
        i, value = owners[j], values[places[j]]
        total, rest = _add(total, rest, value - last[i])
        last[i] = value
        out[j] = (total + rest) / n
    return out


def _compensated(values: Array, start: Array, owners: Array, places: Array, weights: Array | None) -> Array:
    """What :func:`mean_along` and :func:`weighted_mean_along` return; Python is quick with lists of numbers."""
    add, n = source(_add), len(start)
    last, by = start.tolist(), [1.0] * n if weights is None else weights.tolist()
    total, rest, out = 0.0, 0.0, []
    for weight, value in zip(by, last, strict=True):
        total, rest = add(total, rest, weight * value)
    for i, value in zip(owners.tolist(), values[places].tolist(), strict=True):
        total, rest = add(total, rest, by[i] * (value - last[i]))
        last[i] = value
        out.append(total + rest)
    found = np.array(out, dtype=np.float64)
    return found / n if weights is None else found


@kernel
def _add(total: float, rest: float, x: float) -> tuple[float, float]:
    """Returns the rounded sum of ``total`` and ``x``, and ``rest`` with what rounding has lost."""
    whole = total + x
    lost = (total - whole) + x if abs(total) >= abs(x) else (x - whole) + total
    return whole, rest + lost


def _plain_best_cuts(
    scores: Array, losses: Array, start: Array, offsets: Array, equal: float
) -> tuple[Array, Array, Array]:
    source(require_length)(scores, offsets)
    source(require_length)(losses, offsets)
    found = np.zeros((3, len(offsets) - 1), np.int64)
    for i, (a, b) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        found[:, i] = _plain_best_cut(scores[a:b], losses[a:b], start[i], equal)
    return found[0], found[1], found[2]


def _plain_best_cut(scores: Array, losses: Array, start: float, equal: float) -> tuple[int, int, int]:
    m = len(scores)
    inner = np.flatnonzero(scores[1:] != scores[:-1]) + 1
    cuts = np.concatenate([[0], inner, [m]]) if m else np.zeros(1, np.int64)
    values = np.concatenate([[start], losses])[cuts]
    largest = np.abs(values[values < np.inf]).max(initial=0.0)
    good = np.concatenate([[False], values <= values.min() + equal * largest, [False]])
    first = np.flatnonzero(good[1:] & ~good[:-1])
    last = np.flatnonzero(good[:-1] & ~good[1:]) - 1
    # The cuts of each run that have a score on both sides.
    low, high = first + (cuts[first] == 0), last - (cuts[last] == m)
    many = np.maximum(high - low + 1, 0)
    span = np.full(len(first), -1.0)
    has = np.flatnonzero(many)
    span[has] = scores[cuts[low[has]] - 1].astype(np.float64) - scores[cuts[high[has]]].astype(np.float64)
    run = span.argmax()
    at = low[run] + (many[run] - 1) // 2 if many[run] else first[run]
    return cuts[at], cuts[first[run]], cuts[last[run]]


@plain_first(_plain_best_cuts, patience=1.0, large=1 << 13, counted=3)
@kernel
def best_cuts(scores: Array, losses: Array, start: Array, offsets: Array, equal: float) -> tuple[Array, Array, Array]:
    """Returns the best cut of each segment, and the first and last cut of its flat run, (n,) int64 each; O(m).

    ``scores`` (m,) fall in each segment, ``losses`` (m,) are those once each decision is predicted too, and ``start``
    (n,) those of no prediction; a loss of inf is not allowed. ``equal`` is the relative difference up to which losses
    are taken for equal. Of all cuts with the least loss those next to each other
    are a run. The run that spans the widest range of scores is chosen, then the middle of its cuts. The cuts that
    predict none or all have no score on one side: they are taken only where no other cut has the least loss.
    """
    require_length(scores, offsets)
    require_length(losses, offsets)
    n = len(offsets) - 1
    best, first, last = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    for i in range(n):
        a, b = offsets[i], offsets[i + 1]
        best[i], first[i], last[i] = _best_cut(scores[a:b], losses[a:b], start[i], equal)
    return best, first, last


@kernel
def _best_cut(scores: Array, losses: Array, start: float, equal: float) -> tuple[int, int, int]:
    m = len(scores)
    least, largest = start, abs(start) if start < np.inf else 0.0
    for k in range(1, m + 1):
        if k == m or scores[k] != scores[k - 1]:
            least = min(least, losses[k - 1])
            largest = max(largest, abs(losses[k - 1])) if losses[k - 1] < np.inf else largest
    limit = least + equal * largest
    # The run so far: its first and last cut, and those of its cuts that have a score on both sides.
    found = (0, 0, 0)
    width, begin, inner, outer, many = -2.0, -1, 0, 0, 0
    previous = 0
    for k in range(m + 1):
        if 0 < k < m and scores[k] == scores[k - 1]:
            continue
        good = (start if k == 0 else losses[k - 1]) <= limit
        if good:
            if begin < 0:
                begin, many = k, 0
            if 0 < k < m:
                inner = k if many == 0 else inner
                outer, many = k, many + 1
        if begin >= 0 and (not good or k == m):
            end = k if good else previous
            span = np.float64(scores[inner - 1]) - np.float64(scores[outer]) if many else -1.0
            if span > width:
                width = span
                found = (_middle(scores, inner, many) if many else begin, begin, end)
            begin = -1
        previous = k
    return found


@kernel
def _middle(scores: Array, inner: int, many: int) -> int:
    """Returns the middle one of ``many`` cuts next to each other, the first of which is ``inner``."""
    k = inner
    for _ in range((many - 1) // 2):
        k += 1
        while scores[k] == scores[k - 1]:
            k += 1
    return k


@plain_first(_compensated)
@kernel
def weighted_mean_along(values: Array, start: Array, owners: Array, places: Array, weights: Array) -> Array:
    """Returns what :func:`mean_along` does for sets with weights (n,), which sum to 1; (m,) float64, O(m)."""
    last = start.copy()
    total, rest = 0.0, 0.0
    out = np.empty(len(owners), np.float64)
    for i in range(len(start)):
        total, rest = _add(total, rest, weights[i] * last[i])
    for j in range(len(owners)):
        i, value = owners[j], values[places[j]]
        total, rest = _add(total, rest, weights[i] * (value - last[i]))
        last[i] = value
        out[j] = total + rest
    return out


def _plain_weighted_counts(labels: Array, weights: Array, missed: float) -> tuple[Array, Array]:
    found = weights * labels
    fn = np.subtract.accumulate(np.concatenate([[missed], found]))
    return fn[1:], np.cumsum(weights - found, dtype=np.float64)


@plain_first(_plain_weighted_counts)
@kernel
def weighted_counts(labels: Array, weights: Array, missed: float) -> tuple[Array, Array]:
    """Returns what :func:`falling_counts` does for one segment whose decisions are drawn ``weights`` (m,) times; O(m).

    ``missed`` is the sum of the weights of the positives.
    """
    m = len(labels)
    fn, fp = np.empty(m, np.float64), np.empty(m, np.float64)
    left, alarms = missed, 0.0
    for j in range(m):
        found = weights[j] * labels[j]
        left -= found
        alarms += weights[j] - found
        fn[j], fp[j] = left, alarms
    return fn, fp


def _plain_weighted_quotient(
    labels: Array, weights: Array, missed: float, top: Array, bottom: Array, origin: float
) -> Array:
    fn, fp = _plain_weighted_counts(labels, weights, missed)
    value = (top[0] + top[1] * fn + top[2] * fp) / (bottom[0] + bottom[1] * fn + bottom[2] * fp)
    return np.where(fn + fp > 0.0, value, origin)


@plain_first(_plain_weighted_quotient)
@kernel
def weighted_quotient(labels: Array, weights: Array, missed: float, top: Array, bottom: Array, origin: float) -> Array:
    """Returns what :func:`falling_quotient` does for such a segment, with coefficients (3,); (m,) float64, O(m)."""
    m = len(labels)
    out = np.empty(m, np.float64)
    fn, fp = missed, 0.0
    for j in range(m):
        found = weights[j] * labels[j]
        fn -= found
        fp += weights[j] - found
        value = (top[0] + top[1] * fn + top[2] * fp) / (bottom[0] + bottom[1] * fn + bottom[2] * fp)
        out[j] = value if fn + fp > 0.0 else origin
    return out


def _plain_drawn_only(scores: Array, losses: Array, drawn: Array) -> tuple[Array, Array]:
    return scores[drawn], losses[drawn]


@plain_first(_plain_drawn_only)
@kernel
def drawn_only(scores: Array, losses: Array, drawn: Array) -> tuple[Array, Array]:
    """Returns the scores and losses (m,) of the drawn decisions alone; O(m), without branches on random data."""
    s, out = np.empty_like(scores), np.empty_like(losses)
    k = 0
    for j in range(len(drawn)):
        s[k], out[k] = scores[j], losses[j]
        k += drawn[j]
    return s[:k], out[:k]
