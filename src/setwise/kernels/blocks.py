"""The master problem of a sum of parts: one simplex for each part, climbed one block after another.

The state is a set of arrays. Part i keeps ``counts[i]`` planes with weights in the simplex:

    slopes (n, K, d), offsets (n, K), grams (n, K, K), alpha (n, K), counts (n,), w = -C sum_i sum_t alpha_it a_it (d,)

The dual value ``C sum alpha b - 0.5 |w|^2`` lies below ``min_w 0.5 |w|^2 + C risk(w)``, and no step lets it fall.
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
        _climb_block(slopes[i], grams[i], alpha[i, :k], values[:k], before[:k], w, C)


@kernel
def climb_with(
    slopes: Array,
    offsets: Array,
    grams: Array,
    alpha: Array,
    counts: Array,
    w: Array,
    C: float,
    parts: Array,
    gaps: Array,
    new_offsets: Array,
    new_slopes: Array,
) -> int:
    """The same with one new plane, (b,) and (b, d), for each of ``parts``; one that is not violated is left out.

    A part that is full gives up a plane without weight, or else replaces its two lightest planes by their weighted
    mean, which changes neither w nor the dual value. With K = 2 the step is that of Lacoste-Julien et al. (2013) with
    exact line search, between the mean of all planes so far and the new one. Returns the number of planes taken in, or
    -1 where a plane is too large.
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
        if value > top + 1e-13 * (abs(new_offsets[b]) + abs(inner)):
            t = k
            if k < room:
                counts[i] = k = k + 1
            else:
                t = _free_slot(slopes[i], offsets[i], grams[i], alpha[i], values)
            slopes[i, t], offsets[i, t], values[t] = new_slopes[b], new_offsets[b], value
            _fill_gram(slopes[i], grams[i], t, k)
            if not np.isfinite(4.0 * C * C * grams[i, t, t] + C * new_offsets[b]):
                return -1
            taken += 1
        gaps[i] = C * _block_gap(alpha[i, :k], values[:k])
        _climb_block(slopes[i], grams[i], alpha[i, :k], values[:k], before[:k], w, C)
    return taken


@kernel
def weigh(slopes: Array, alpha: Array, counts: Array, C: float, w: Array) -> None:
    """``w = -C sum_i sum_t alpha_it a_it`` afresh, free of the rounding that many small steps leave; O(n k d)."""
    w[:] = 0.0
    for i in range(len(counts)):
        for t in range(counts[i]):
            if alpha[i, t] > 0.0:
                _shift(w, -C * alpha[i, t], slopes[i, t])


@kernel
def tops(slopes: Array, offsets: Array, counts: Array, w: Array, parts: Array) -> Array:
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
def _climb_block(slopes: Array, gram: Array, alpha: Array, values: Array, before: Array, w: Array, C: float) -> None:
    before[:] = alpha
    pair_steps(gram, C, alpha, values, 0.0, 2 * len(alpha))
    for t in range(len(alpha)):
        if alpha[t] != before[t]:
            _shift(w, C * (before[t] - alpha[t]), slopes[t])


@kernel
def _shift(w: Array, factor: float, slope: Array) -> None:
    for c in range(len(w)):
        w[c] += factor * slope[c]


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
