"""The master problem of a sum of parts: one simplex for each part, climbed one block after another.

The state is a set of arrays. Part i keeps ``counts[i]`` planes with weights in the simplex:

    slopes (n, K, d), offsets (n, K), grams (n, K, K), alpha (n, K), counts (n,), v = -C sum_i sum_t alpha_it a_it (d,)

and ``w = v`` but for the weights at ``places`` (r,), which have least values ``low`` (r,): there v is kept as ``free``
(r,), and ``w = max(v, low)`` as in :mod:`setwise.kernels.simplex`. No step lets the dual value fall.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel
from setwise.kernels.simplex import pair_steps

Array = NDArray[Any]


@kernel
def climb(
    slopes: Array,
    offsets: Array,
    grams: Array,
    alpha: Array,
    counts: Array,
    w: Array,
    C: float,
    places: Array,
    low: Array,
    free: Array,
    parts: Array,
    gaps: Array,
) -> None:
    """Maximizes the dual over each of ``parts`` in turn, the others being fixed; O(k d) for k planes of a part.

    ``gaps[i]`` becomes the part's share ``C sum_t alpha_t (max v - v_t)``, ``v = b + A w``, of the gap before its step.
    """
    values, before = np.empty(alpha.shape[1]), np.empty(alpha.shape[1])
    for i in parts:
        k = counts[i]
        for t in range(k):
            values[t] = offsets[i, t] + np.dot(slopes[i, t], w)
        gaps[i] = C * _block_gap(alpha[i, :k], values[:k])
        _climb_block(slopes[i], grams[i], alpha[i, :k], values[:k], before[:k], w, C, places, low, free)


@kernel
def climb_with(
    slopes: Array,
    offsets: Array,
    grams: Array,
    alpha: Array,
    counts: Array,
    w: Array,
    C: float,
    places: Array,
    low: Array,
    free: Array,
    parts: Array,
    gaps: Array,
    new_offsets: Array,
    new_slopes: Array,
) -> int:
    """The same with one new plane, (b,) and (b, d), for each of ``parts``; one that is not violated is left out.

    The first plane of a part has all its weight. A part that is full gives up a plane without weight, or else replaces
    its two lightest planes by their weighted mean, which changes neither w nor the dual value. With K = 2 the step is
    that of Lacoste-Julien et al. (2013) with exact line search, between the mean of all planes so far and the new one.
    Returns the number of planes taken in.
    """
    room = alpha.shape[1]
    values, before = np.empty(room), np.empty(room)
    taken = 0
    for b in range(len(parts)):
        i = parts[b]
        k = counts[i]
        top = -np.inf
        for t in range(k):
            values[t] = offsets[i, t] + np.dot(slopes[i, t], w)
            top = max(top, values[t])
        inner = np.dot(new_slopes[b], w)
        value = new_offsets[b] + inner
        if k == 0 or value > top + 1e-13 * (abs(new_offsets[b]) + abs(inner)):
            t = k
            if k < room:
                counts[i] = k = k + 1
            else:
                t = _free_slot(slopes[i], offsets[i], grams[i], alpha[i], values)
            slopes[i, t], offsets[i, t], values[t] = new_slopes[b], new_offsets[b], value
            _fill_gram(slopes[i], grams[i], t, k)
            taken += 1
            if k == 1:
                alpha[i, 0] = 1.0
                _shift(w, -C, slopes[i, 0], places, low, free)
                continue
        gaps[i] = C * _block_gap(alpha[i, :k], values[:k])
        _climb_block(slopes[i], grams[i], alpha[i, :k], values[:k], before[:k], w, C, places, low, free)
    return taken


@kernel
def weigh(slopes: Array, alpha: Array, counts: Array, C: float, w: Array) -> None:
    """``w = -C sum_i sum_t alpha_it a_it`` afresh, without bounds and without the rounding of many steps; O(n k d)."""
    w[:] = 0.0
    for i in range(len(counts)):
        for t in range(counts[i]):
            if alpha[i, t] > 0.0:
                factor = -C * alpha[i, t]
                for c in range(len(w)):
                    w[c] += factor * slopes[i, t, c]


@kernel
def plane_maxima(slopes: Array, offsets: Array, counts: Array, w: Array, parts: Array) -> Array:
    """``max_t b_it + <a_it, w>`` of the chosen parts, (b,); O(b k d)."""
    out = np.full(len(parts), -np.inf)
    for b in range(len(parts)):
        i = parts[b]
        for t in range(counts[i]):
            out[b] = max(out[b], offsets[i, t] + np.dot(slopes[i, t], w))
    return out


@kernel
def _block_gap(alpha: Array, values: Array) -> float:
    top, out = -np.inf, 0.0
    for t in range(len(alpha)):
        top = max(top, values[t])
    for t in range(len(alpha)):
        out += alpha[t] * (top - values[t])
    return out


@kernel
def _climb_block(
    slopes: Array,
    gram: Array,
    alpha: Array,
    values: Array,
    before: Array,
    w: Array,
    C: float,
    places: Array,
    low: Array,
    free: Array,
) -> None:
    """The exact step of one part: its simplex is climbed with all other parts fixed."""
    before[:] = alpha
    bounded = np.empty((len(alpha), len(places)))
    for t in range(len(alpha)):
        for j in range(len(places)):
            bounded[t, j] = slopes[t, places[j]]
    # The steps move v at the bounded weights; it is moved once more with w below, so they get a copy.
    pair_steps(gram, C, alpha, values, bounded, low, free.copy(), 0.0, 2 * len(alpha))
    for t in range(len(alpha)):
        if alpha[t] != before[t]:
            _shift(w, C * (before[t] - alpha[t]), slopes[t], places, low, free)


@kernel
def _shift(w: Array, factor: float, slope: Array, places: Array, low: Array, free: Array) -> None:
    """Moves v by ``factor slope`` and w with it, which stays at the least values where v is below them."""
    for c in range(len(w)):
        w[c] += factor * slope[c]
    for j in range(len(places)):
        free[j] += factor * slope[places[j]]
        w[places[j]] = max(free[j], low[j])


@kernel
def _fill_gram(slopes: Array, gram: Array, t: int, k: int) -> None:
    for c in range(k):
        gram[t, c] = gram[c, t] = np.dot(slopes[t], slopes[c])


@kernel
def _free_slot(slopes: Array, offsets: Array, gram: Array, alpha: Array, values: Array) -> int:
    """A slot without weight, the one of lowest value; where there is none the two lightest planes become one."""
    room, free = len(alpha), -1
    a, b = -1, -1
    for t in range(room):
        if alpha[t] == 0.0 and (free < 0 or values[t] < values[free]):
            free = t
        if a < 0 or alpha[t] < alpha[a]:
            a, b = t, a
        elif b < 0 or alpha[t] < alpha[b]:
            b = t
    if free >= 0:
        return free
    total = alpha[a] + alpha[b]
    share = alpha[a] / total
    for c in range(slopes.shape[1]):
        slopes[b, c] += share * (slopes[a, c] - slopes[b, c])
    offsets[b] += share * (offsets[a] - offsets[b])
    values[b] += share * (values[a] - values[b])
    alpha[b], alpha[a] = total, 0.0
    _fill_gram(slopes, gram, b, room)
    return a
