"""The master problem of a risk that is a sum of n parts, solved by block-coordinate ascent on its dual.

Part i keeps ``counts[i]`` of at most K planes ``b_it + <a_it, w>``, with weights ``alpha_i`` in a simplex of its own.
The state is a set of arrays:

    slopes (n, K, d), offsets (n, K), grams (n, K, K), alpha (n, K), counts (n,), v = -C sum_i sum_t alpha_it a_it (d,)

and ``w = v``, except for the weights at ``places`` (r,), which have the least values ``low`` (r,): there v is kept as
``free`` (r,), and ``w = max(v, low)`` as in :mod:`setwise.kernels.simplex`. No update lets the dual value fall.
"""

import numpy as np

from setwise.kernels.jit import Array, kernel
from setwise.kernels.simplex import pair_steps, simplex_gap


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
    new_offsets: Array,
    new_slopes: Array,
) -> int:
    """Maximizes the dual over each of ``parts`` in turn while the others are fixed; O(k d) for a part with k planes.

    ``gaps[i]`` becomes the share of part i in the duality gap before its update, ``C sum_t alpha_t (max_s u_s - u_t)``,
    where ``u_t = b_t + <a_t, w>`` are the values of its planes. Each part takes one new plane before, (b,) offsets and
    (b, d) slopes; without any offsets none does.

    A plane that is not violated at w is left out. The first plane of a part gets all the weight of the part. A part
    that is full gives up a plane without weight, or else replaces its two lightest planes by their weighted mean, which
    changes neither w nor the dual value. With K = 2 the update is that of Lacoste-Julien et al. (2013) with exact line
    search, between the mean of all earlier planes and the new one. Returns the number of planes that were taken.
    """
    room, taken = alpha.shape[1], 0
    values = np.empty(room)
    for b in range(len(parts)):
        i = parts[b]
        k, top, value, slip = counts[i], -np.inf, -np.inf, 0.0
        # The parts visited before have moved w, so the values of the planes are computed afresh.
        for t in range(k):
            values[t] = offsets[i, t] + np.dot(slopes[i, t], w)
            top = max(top, values[t])
        if len(new_offsets) > 0:
            inner = np.dot(new_slopes[b], w)
            value, slip = new_offsets[b] + inner, 1e-13 * (abs(new_offsets[b]) + abs(inner))
        # An excess within the rounding of the new plane is no violation.
        if len(new_offsets) > 0 and (k == 0 or value > top + slip):
            t = k
            if k < room:
                counts[i] = k = k + 1
            else:
                t = _free_slot(slopes[i], offsets[i], grams[i], alpha[i], values)
            for c in range(len(w)):
                slopes[i, t, c] = new_slopes[b, c]
            offsets[i, t], values[t] = new_offsets[b], value
            _fill_gram(slopes[i], grams[i], t, k)
            taken += 1
            if k == 1:
                # A simplex of one plane is a point: there is nothing to climb.
                alpha[i, 0] = 1.0
                _shift(w, -C, slopes[i, 0], places, low, free)
                continue
        # The new plane counts in the gap, although its weight is still 0.
        own = alpha[i, :k]
        gaps[i] = C * simplex_gap(values[:k], own)
        _climb_block(slopes[i], grams[i], own, values[:k], w, C, places, low, free)
    return taken


@kernel
def weigh(slopes: Array, alpha: Array, counts: Array, C: float, w: Array) -> None:
    """Computes ``w = -C sum_i sum_t alpha_it a_it`` afresh, without bounds; O(n k d).

    This removes the rounding errors that many updates have left in w.
    """
    w[:] = 0.0
    for i in range(len(counts)):
        for t in range(counts[i]):
            # Most planes have no weight, and each that is skipped spares d products.
            if alpha[i, t] > 0.0:
                factor = -C * alpha[i, t]
                for c in range(len(w)):
                    w[c] += factor * slopes[i, t, c]


@kernel
def plane_maxima(slopes: Array, offsets: Array, counts: Array, w: Array, parts: Array) -> Array:
    """Returns ``max_t b_it + <a_it, w>`` of the chosen parts, (b,), -inf for a part without planes; O(b k d)."""
    out = np.full(len(parts), -np.inf)
    for b in range(len(parts)):
        i = parts[b]
        for t in range(counts[i]):
            out[b] = max(out[b], offsets[i, t] + np.dot(slopes[i, t], w))
    return out


@kernel
def _climb_block(
    slopes: Array, gram: Array, alpha: Array, values: Array, w: Array, C: float, places: Array, low: Array, free: Array
) -> None:
    """Climbs the simplex of one part while all other parts are fixed, and moves w accordingly; O(k^2 + k d)."""
    before = alpha.copy()
    # Pairwise steps need the slopes at the bounded weights only; all else they read from the Gram matrix.
    bounded = np.empty((len(alpha), len(places)))
    for t in range(len(alpha)):
        for j in range(len(places)):
            bounded[t, j] = slopes[t, places[j]]
    # Pairwise steps move v at the bounded weights. They get a copy, for below v moves together with w.
    pair_steps(gram, C, alpha, values, bounded, low, free.copy(), 0.0, 2 * len(alpha))
    # w is moved once for each plane whose weight changed, not once for each pairwise step.
    for t in range(len(alpha)):
        if alpha[t] != before[t]:
            _shift(w, C * (before[t] - alpha[t]), slopes[t], places, low, free)


@kernel
def _shift(w: Array, factor: float, slope: Array, places: Array, low: Array, free: Array) -> None:
    """Moves v by ``factor slope`` and w with it; w stays at its least values where v is below them; O(d)."""
    for c in range(len(w)):
        w[c] += factor * slope[c]
    # At the bounded weights the sum above is overwritten: w follows from v there.
    for j in range(len(places)):
        free[j] += factor * slope[places[j]]
        w[places[j]] = max(free[j], low[j])


@kernel
def _fill_gram(slopes: Array, gram: Array, t: int, k: int) -> None:
    """Writes row and column t of the Gram matrix of the first k slopes; O(k d)."""
    for c in range(k):
        gram[t, c] = gram[c, t] = np.dot(slopes[t], slopes[c])


@kernel
def _free_slot(slopes: Array, offsets: Array, gram: Array, alpha: Array, values: Array) -> int:
    """Returns a slot for a new plane: of the slots without weight the one whose plane has the lowest value.

    If all planes have weight, the two lightest ones are merged into their weighted mean first.
    """
    room, slot = len(alpha), -1
    lightest, second = np.int64(-1), np.int64(-1)
    for t in range(room):
        if alpha[t] == 0.0 and (slot < 0 or values[t] < values[slot]):
            slot = t
        if lightest < 0 or alpha[t] < alpha[lightest]:
            lightest, second = t, lightest
        elif second < 0 or alpha[t] < alpha[second]:
            second = t
    if slot >= 0:
        return slot
    # The mean carries the weight of both planes, so neither w nor the dual value changes.
    total = alpha[lightest] + alpha[second]
    share = alpha[lightest] / total
    for c in range(slopes.shape[1]):
        slopes[second, c] += share * (slopes[lightest, c] - slopes[second, c])
    offsets[second] += share * (offsets[lightest] - offsets[second])
    values[second] += share * (values[lightest] - values[second])
    alpha[second], alpha[lightest] = total, 0.0
    _fill_gram(slopes, gram, second, room)
    return lightest
