"""Losses along a falling threshold, and the best cut points of sorted scores.

The arrays are those of decisions in falling order of their scores, in segments. A cut after ``k`` decisions of a
segment predicts these ``k`` to be positive; it may not separate equal scores.
"""

import numpy as np

from setwise.kernels.jit import Array, kernel, plain_first, source
from setwise.kernels.segments import owners_of, plain_require_length, require_length

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


def _plain_falling_counts(
    labels: Array, offsets: Array, positives: Array, weights: Array | None
) -> tuple[Array, Array]:
    plain_require_length(labels, offsets)
    a, b, owners = offsets[0], offsets[-1], owners_of(offsets)
    times = np.ones(len(labels)) if weights is None else weights
    found = times * labels
    # Counts are whole numbers, so the differences of running sums through all segments are exact.
    sums = np.cumsum([np.append(0.0, found), np.append(0.0, times - found)], axis=1)
    inside = sums[:, a + 1 : b + 1] - sums[:, offsets[:-1]][:, owners]
    fn, fp = np.empty(len(labels)), np.empty(len(labels))
    fn[a:b], fp[a:b] = positives[owners] - inside[0], inside[1]
    return fn, fp


@plain_first(_plain_falling_counts)
@kernel
def falling_counts(labels: Array, offsets: Array, positives: Array, weights: Array | None) -> tuple[Array, Array]:
    """Returns (fn, fp) once each decision and those before it are predicted positive, (m,) float64 each; O(m).

    Decision j counts ``weights[j]`` times, a whole number, or once where the weights are None. ``positives`` (n,) are
    the numbers of positives of the segments, counted so.
    """
    require_length(labels, offsets)
    m = len(labels)
    fn, fp = np.empty(m, np.float64), np.empty(m, np.float64)
    for i in range(len(offsets) - 1):
        missed, alarms = np.float64(positives[i]), 0.0
        for j in range(offsets[i], offsets[i + 1]):
            times = 1.0 if weights is None else weights[j]
            found = times * labels[j]
            missed -= found
            alarms += times - found
            fn[j], fp[j] = missed, alarms
    return fn, fp


def _plain_falling_quotient(
    labels: Array, offsets: Array, positives: Array, weights: Array | None, top: Array, bottom: Array, origin: Array
) -> Array:
    fn, fp = _plain_falling_counts(labels, offsets, positives, weights)
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
    labels: Array, offsets: Array, positives: Array, weights: Array | None, top: Array, bottom: Array, origin: Array
) -> Array:
    """Returns ``(t0 + t1 fn + t2 fp) / (b0 + b1 fn + b2 fp)`` once each decision is predicted too, (m,) float64; O(m).

    The counts are those of :func:`falling_counts`. ``top`` and ``bottom`` (n, 3) hold the coefficients of each segment,
    ``origin`` (n,) the value at fn = fp = 0, where the formula may be 0/0.
    """
    require_length(labels, offsets)
    out = np.empty(len(labels), np.float64)
    for i in range(len(offsets) - 1):
        t0, t1, t2 = top[i, 0], top[i, 1], top[i, 2]
        b0, b1, b2 = bottom[i, 0], bottom[i, 1], bottom[i, 2]
        fn, fp = np.float64(positives[i]), 0.0
        for j in range(offsets[i], offsets[i + 1]):
            times = 1.0 if weights is None else weights[j]
            found = times * labels[j]
            fn -= found
            fp += times - found
            out[j] = (t0 + t1 * fn + t2 * fp) / (b0 + b1 * fn + b2 * fp) if fn + fp > 0.0 else origin[i]
    return out


def _plain_mean_along(values: Array, start: Array, owners: Array, places: Array, weights: Array | None) -> Array:
    # Python is quick with lists of numbers.
    add, last, n = source(_add), start.tolist(), len(start)
    by = [1.0] * n if weights is None else weights.tolist()
    total, rest, out = 0.0, 0.0, []
    for weight, value in zip(by, last, strict=True):
        total, rest = add(total, rest, weight * value)
    for i, value in zip(owners.tolist(), values[places].tolist(), strict=True):
        total, rest = add(total, rest, by[i] * (value - last[i]))
        last[i] = value
        out.append(total + rest)
    found = np.array(out, dtype=np.float64)
    return found / n if weights is None else found


@plain_first(_plain_mean_along)
@kernel
def mean_along(values: Array, start: Array, owners: Array, places: Array, weights: Array | None) -> Array:
    """Returns the mean loss of all sets after each decision of their common order, (m,) float64; O(m).

    ``start`` (n,) holds the losses at first. Decision j changes the loss of set ``owners[j]`` to ``values[places[j]]``.
    ``weights`` (n,) sum to 1; None weighs all sets alike. The sum is compensated (Neumaier 1974), so its error does not
    grow with m.
    """
    last, n = start.copy(), len(start)
    total, rest = 0.0, 0.0
    out = np.empty(len(owners), np.float64)
    for i in range(n):
        total, rest = _add(total, rest, last[i] if weights is None else weights[i] * last[i])
    for j in range(len(owners)):
        i, value = owners[j], values[places[j]]
        total, rest = _add(total, rest, value - last[i] if weights is None else weights[i] * (value - last[i]))
        last[i] = value
        out[j] = (total + rest) / n if weights is None else total + rest
    return out


@kernel
def _add(total: float, rest: float, x: float) -> tuple[float, float]:
    """Returns the rounded sum of ``total`` and ``x``, and ``rest`` with what rounding has lost."""
    whole = total + x
    # The smaller of the two numbers is the one that lost digits.
    lost = (total - whole) + x if abs(total) >= abs(x) else (x - whole) + total
    return whole, rest + lost


def _plain_best_cuts(
    scores: Array, losses: Array, start: Array, offsets: Array, equal: float
) -> tuple[Array, Array, Array]:
    plain_require_length(scores, offsets)
    plain_require_length(losses, offsets)
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


def _plain_falling_sums(steps: Array, first: Array, weights: Array) -> tuple[float, Array]:
    start = np.cumsum(weights * first)[-1]
    return start, start + np.cumsum(weights * steps)


@plain_first(_plain_falling_sums)
@kernel
def falling_sums(steps: Array, first: Array, weights: Array) -> tuple[float, Array]:
    """Returns ``sum_j weights[j] first[j]``, and to it the running sums of ``weights[j] steps[j]``, (m,); O(m).

    ``first`` (m,) are the costs of decisions where none is predicted, and ``steps`` (m,) what each adds once it is.
    """
    start, sum_ = 0.0, 0.0
    for j in range(len(steps)):
        start += weights[j] * first[j]
    out = np.empty(len(steps), np.float64)
    for j in range(len(steps)):
        sum_ += weights[j] * steps[j]
        out[j] = start + sum_
    return start, out


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
