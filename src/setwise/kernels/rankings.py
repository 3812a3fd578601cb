"""Margins of every set sorted upwards, positives and negatives apart: the order in which decisions become mistakes.

A batch of n sets has 2 n segments: segment 2 i holds the positives of set i and segment 2 i + 1 its negatives. Only
decisions with ``floor < margin < cap`` are ranked; of the others the best labeling is known, for those up to the floor
are always mistakes and those from the cap on never.

Loss-augmented maximization over rankings: the best interleaving of sorted positives and sorted negatives.

The scores ``a`` of the positives and ``b`` of the negatives both fall. A ranking is given by ``above[i]``, the number
of negatives above positive i, which never falls with i. The pair (i, j) is swapped where negative j stands above
positive i, and each swapped pair adds ``weight_i drop_(i+j) + c (b_j - a_i)`` to the objective.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from setwise.kernels.jit import Array, kernel, plain_first
from setwise.kernels.segments import require_length
from setwise.kernels.sorting import MARGINS, exact_order, sort_packed


def _plain_rank_margins(scores: Array, labels: Array, offsets: Array, floor: float, caps: Array) -> tuple[Array, ...]:
    n, inside = len(offsets) - 1, slice(offsets[0], offsets[-1])
    owners = np.repeat(np.arange(n), np.diff(offsets))
    y, segments = labels[inside].astype(np.int64), 2 * owners + ~labels[inside].astype(bool)
    margins = np.where(y, scores[inside], -scores[inside])
    under = margins.astype(np.float64) <= floor
    ranked = np.flatnonzero(~under & (margins < caps[segments]))
    low = np.bincount(segments[under], minlength=2 * n)
    # Sums from left to right, as the kernel takes them.
    base = np.bincount(owners, -(margins * under).astype(np.float64), minlength=n).astype(np.float64)
    bits = margins.astype(np.float32).view(np.uint32).astype(np.uint64)
    bits ^= np.uint64(0x80000000) | (np.uint64(0x7FFFFFFF) * (bits >> np.uint64(31)))
    places = np.arange(offsets[0], offsets[-1]) - offsets[owners]
    keys = bits << np.uint64(32) | (2 * places + y).astype(np.uint64)
    ranked = ranked[np.lexsort((margins[ranked], bits[ranked], segments[ranked]))]
    starts = np.concatenate([[0], np.cumsum(np.bincount(segments[ranked], minlength=2 * n))])
    return keys[ranked], margins[ranked], starts, low, base


@kernel
def _pack(
    scores: Array, labels: Array, offsets: Array, floor: float, caps: Array,
    keys: Array, starts: Array, low: Array, base: Array,
) -> None:  # fmt: skip
    """Writes the keys of the ranked decisions, and the sums and numbers of the others; O(total).

    The positives of a set fill its part of ``keys`` from below, the negatives from above; then the gaps are closed.
    There are no branches on the data: a decision that is not ranked is written too, and the next one overwrites it.
    """
    require_length(scores, offsets)
    require_length(labels, offsets)
    for i in range(len(offsets) - 1):
        first, last = offsets[i], offsets[i + 1]
        # The next places for a positive and for a negative.
        a: Any = first
        b: Any = last - 1
        n_low: Any = 0
        n_low_positives: Any = 0
        score_won = 0.0
        for j in range(first, last):
            y = np.int64(labels[j])
            margin = scores[j] if y else -scores[j]
            under = np.int64(margin <= floor)
            ranked = (1 - under) & np.int64(margin < (caps[2 * i] if y else caps[2 * i + 1]))
            # At place a for a positive, at place b for a negative.
            keys[b + y * (a - b)] = rising_bits(margin) << np.uint64(32) | np.uint64(2 * (j - first) + y)
            a += ranked & y
            b -= ranked & (1 - y)
            n_low += under
            n_low_positives += under & y
            score_won -= margin * under
        low[2 * i], low[2 * i + 1] = n_low_positives, n_low - n_low_positives
        base[i] = score_won
        # The negatives were written from above: turn them round, so that equal margins stay in the order of places.
        left, right = b + 1, last - 1
        while left < right:
            keys[left], keys[right] = keys[right], keys[left]
            left += 1
            right -= 1
        # Close the gaps: first the positives move down to the end of the last set, then the negatives behind them.
        out = starts[2 * i]
        middle = out + a - first
        starts[2 * i + 1], starts[2 * i + 2] = middle, middle + last - 1 - b
        if out < first:
            for j in range(first, a):
                keys[out + j - first] = keys[j]
        if middle <= b:
            for j in range(b + 1, last):
                keys[middle + j - b - 1] = keys[j]


@kernel
def rising_bits(value: Any) -> Any:
    """Returns the float32 of ``value`` as a 32-bit number (in a uint64) that rises with it; without branches."""
    # A positive number gets its sign bit set; of a negative one all bits are flipped.
    bits = np.uint64(np.float32(value).view(np.uint32))
    return bits ^ (np.uint64(0x80000000) | (np.uint64(0x7FFFFFFF) * (bits >> np.uint64(31))))


@kernel
def _decode(keys: Array, bits: Array) -> None:
    """Writes the bits of the float32 in the upper half of each key: the inverse of :func:`rising_bits`."""
    for j in range(len(keys)):
        up = np.uint32(keys[j] >> np.uint64(32))
        bits[j] = up & np.uint32(0x7FFFFFFF) if up >> np.uint32(31) else np.uint32(~up)


@plain_first(_plain_rank_margins, calls=_pack)
def rank_margins(scores: Array, labels: Array, offsets: Array, floor: float, caps: Array) -> tuple[Array, ...]:
    """Sorts the margins ``m_i = s_i (2 y_i - 1)`` with ``floor < m_i < caps[segment]`` upwards in each segment.

    Returns ``keys`` (m,) uint64, whose low 32 bits are ``2 * place + label`` of a decision in its set; ``margins`` (m,)
    in that order and in the precision of ``scores``; ``starts`` (2n+1,); ``low`` (2n,), the number of margins at
    or under the floor; and ``base`` (n,), minus their sum. O(p log p).
    """
    n = len(offsets) - 1
    starts, low = np.zeros(2 * n + 1, np.int64), np.zeros(2 * n, np.int64)
    base, keys = np.zeros(n), np.empty(len(scores), np.uint64)
    _pack(scores, labels, offsets, floor, caps, keys, starts, low, base)
    keys = sort_packed(keys[: starts[-1]], starts)
    if scores.dtype == np.float32:
        margins = np.empty(len(keys), np.float32)
        _decode(keys, margins.view(np.uint32))
    else:
        margins = exact_order(keys, scores, starts, np.repeat(offsets[:-1], 2), MARGINS)
    return keys, margins, starts, low, base


@kernel
def _prefix_sums(margins: Array, starts: Array, out: Array) -> None:
    for k in range(len(starts) - 1):
        total = 0.0
        out[starts[k] + k] = 0.0
        for j in range(starts[k], starts[k + 1]):
            total += margins[j]
            out[j + k + 1] = total


def _plain_prefix_sums(margins: Array, starts: Array) -> Array:
    out = np.empty(len(margins) + len(starts) - 1)
    for k, (a, b) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        out[a + k] = 0.0
        out[a + k + 1 : b + k + 1] = margins[a:b]
        np.cumsum(out[a + k : b + k + 1], out=out[a + k : b + k + 1])
    return out


@plain_first(_plain_prefix_sums, large=1 << 16, counted=1, calls=_prefix_sums)
def prefix_sums(margins: Array, starts: Array) -> Array:
    """Returns the sums of the 0, 1, 2, ... smallest margins of each segment, (m + 2n,), in float64; O(m).

    A segment has one sum more than margins, so those of segment k begin at ``starts[k] + k``.
    """
    out = np.empty(len(margins) + len(starts) - 1)
    _prefix_sums(margins, starts, out)
    return out


@kernel
def _mark_mistakes(
    scores: Array, labels: Array, offsets: Array, floor: float, keys: Array, starts: Array, counts: Array, out: Array
) -> None:
    for j in range(len(labels)):
        out[j] = (scores[j] if labels[j] else -scores[j]) <= floor
    for k in range(len(starts) - 1):
        for j in range(starts[k], starts[k] + counts[k]):
            out[offsets[k // 2] + np.int64((keys[j] & np.uint64(0xFFFFFFFF)) >> np.uint64(1))] = True


def _plain_mark_mistakes(
    scores: Array, labels: Array, offsets: Array, floor: float, keys: Array, starts: Array, counts: Array
) -> Array:
    out = np.where(labels, scores, -scores).astype(np.float64) <= floor
    owners = np.repeat(np.arange(len(counts)), np.diff(starts))
    wrong = np.arange(starts[0], starts[-1]) - starts[owners] < counts[owners]
    places = ((keys[: len(owners)][wrong] & np.uint64(0xFFFFFFFF)) >> np.uint64(1)).astype(np.int64)
    out[offsets[owners[wrong] // 2] + places] = True
    return out


@plain_first(_plain_mark_mistakes, calls=_mark_mistakes)
def mark_mistakes(
    scores: Array, labels: Array, offsets: Array, floor: float, keys: Array, starts: Array, counts: Array
) -> Array:
    """Returns the mistakes, (total,): margins at or under the floor, and the first ``counts[k]`` keys of segment k."""
    out = np.empty(len(labels), np.bool_)
    _mark_mistakes(scores, labels, offsets, floor, keys, starts, counts, out)
    return out


@kernel
def worst_monotone(a: Array, b: Array, weight: Array, drop: Array, c: float, above: Array) -> None:
    """Writes the best ``above`` (P,) where ``drop`` never grows; O((P + N) log N).

    Negative j stands above the positives t_j, t_j + 1, ... Because every pair adds less for a later negative, each
    negative may choose for itself, and t_j never falls with j (Yue et al. 2007): divide and conquer over j.
    """
    P, N = len(a), len(b)
    first = np.empty(N, np.int64)
    # Each entry is a range of negatives and the range of their t_j. A halving adds one entry at most to the stack.
    stack = np.empty((2 * 64 + 2, 4), np.int64)
    stack[0] = (0, N, 0, P)
    depth = 1
    while depth:
        depth -= 1
        low, high, left, right = stack[depth]
        if low >= high:
            continue
        j = (low + high) // 2
        best, at, t = 0.0, right, 0.0
        # Negative j in the middle climbs from place ``right`` upwards; t sums what the pairs on its way add.
        for i in range(right - 1, left - 1, -1):
            t += weight[i] * drop[i + j] + c * (b[j] - a[i])
            if t > best:
                best = t
                at = i
        first[j] = at
        # Earlier negatives stand at its place or above, later ones at its place or below.
        stack[depth] = (low, j, left, at)
        stack[depth + 1] = (j + 1, high, at, right)
        depth += 2
    # Turn the places of the negatives into numbers of negatives above each positive.
    j = 0
    for i in range(P):
        while j < N and first[j] <= i:
            j += 1
        above[i] = j


@kernel
def worst_truncated(a: Array, b: Array, weight: Array, drop: Array, c: float, depth: int, above: Array) -> None:
    """Writes the best ``above`` (P,) where only ranks up to ``depth`` count; O(depth^2 + P + N).

    This is dynamic programming over the first ranks: cell (i, j) of the table is the best way to place i positives and
    j negatives. The loss of a positive at rank r is a constant less its weight times the sum of ``drop`` from r on, and
    the table leaves the constants out. Decisions beyond the depth lose nothing more, so they are swapped exactly where
    their scores say so.
    """
    P, N = len(a), len(b)
    D = min(depth, P + N)
    drops_after = np.zeros(D + 1, np.float64)
    for r in range(min(D, len(drop)) - 1, -1, -1):
        drops_after[r] = drops_after[r + 1] + drop[r]
    # Prefix sums of the negative scores give the score of all swaps of one positive at once.
    sums = np.zeros(N + 1, np.float64)
    for j in range(N):
        sums[j + 1] = sums[j] + b[j]
    beaten, tails, scores = _free_tails(a, b, sums)
    width = min(D, N) + 1
    table = np.full((min(D, P) + 1, width), -np.inf)
    positive_last = np.zeros((min(D, P) + 1, width), np.bool_)
    table[0, 0] = 0.0
    best, best_i, best_j = -np.inf, 0, 0
    for i in range(min(D, P) + 1):
        for j in range(min(D - i, N) + 1):
            # A negative was placed last.
            if j > 0 and table[i, j - 1] > table[i, j]:
                table[i, j] = table[i, j - 1]
                positive_last[i, j] = False
            if i > 0:
                # A positive was placed last, at rank i - 1 + j and below j negatives.
                value = table[i - 1, j] - weight[i - 1] * drops_after[i - 1 + j] + c * (sums[j] - j * a[i - 1])
                if value > table[i, j]:
                    table[i, j] = value
                    positive_last[i, j] = True
            # The table ends at the depth, or where all are placed.
            if i + j == D or (i == P and j == N):
                # The positives up to ``first`` are beaten by the j negatives placed, those after it by more.
                first = max(i, int(np.searchsorted(beaten, j)))
                level = sums[j] * (first - i) - j * (scores[i] - scores[first])
                value = table[i, j] + c * (level + tails[first])
                if value > best:
                    best, best_i, best_j = value, i, j
    # Behind the depth each positive has the negatives placed above it, and those that outscore it.
    for x in range(best_i, P):
        above[x] = max(best_j, beaten[x])
    # Trace the choices that led to the best cell backwards.
    i, j = best_i, best_j
    while i > 0:
        if positive_last[i, j]:
            i -= 1
            above[i] = j
        else:
            j -= 1


@kernel
def _free_tails(a: Array, b: Array, sums: Array) -> tuple[Array, Array, Array]:
    """Returns what the scores alone win behind the ranks that count; O(P + N).

    ``beaten`` (P,) holds how many negatives outscore each positive. ``tails[i]`` (P + 1,) is the score that the
    positives from i on win with so many negatives above each of them, and ``scores[i]`` (P + 1,) is their own sum.
    """
    P = len(a)
    beaten = np.empty(P, np.int64)
    k = 0
    for x in range(P):
        while k < len(b) and b[k] > a[x]:
            k += 1
        beaten[x] = k
    tails, scores = np.zeros(P + 1, np.float64), np.zeros(P + 1, np.float64)
    for x in range(P - 1, -1, -1):
        tails[x] = tails[x + 1] + sums[beaten[x]] - beaten[x] * a[x]
        scores[x] = scores[x + 1] + a[x]
    return beaten, tails, scores


@kernel
def split_classes(items: Array, labels: Array, starts: Array, positives: Array) -> Array:
    """Returns ``items`` with the positives of each set before its negatives, each class in its given order; O(m)."""
    out = np.empty(len(items), np.int64)
    for n in range(len(starts) - 1):
        a, b = starts[n], starts[n] + positives[n]
        for j in range(starts[n], starts[n + 1]):
            if labels[j]:
                out[a] = items[j]
                a += 1
            else:
                out[b] = items[j]
                b += 1
    return out


@kernel
def worst_rankings(
    scores: Array,
    places: Array,
    P: Array,
    offsets: Array,
    weight: Array,
    drop: Array,
    c: Array,
    depth: int,
    swaps: Array,
    values: Array,
) -> None:
    """Maximizes ``sum over swapped pairs of weight_i drop_(i+j) + c (b_j - a_i)`` over the rankings of each set.

    ``places`` (total,) holds for each set the flat positions of its positives, then of its negatives, scores falling in
    each. ``weight`` and ``drop`` are flat with the offsets of the sets. A negative ``depth`` means that all ranks
    count. ``swaps`` (total,) receives for each decision the number of swapped pairs in which it takes part, and
    ``values`` (n,) the maxima; a set of one class has no pairs, and its value stays as it is.
    """
    for n in range(len(offsets) - 1):
        start, middle, stop = offsets[n], offsets[n] + P[n], offsets[n + 1]
        for j in range(start, stop):
            swaps[places[j]] = 0
        if start == middle or middle == stop:
            continue
        a, b = scores[places[start:middle]], scores[places[middle:stop]]
        above = np.empty(len(a), np.int64)
        w, d = weight[start:middle], drop[start:stop]
        if depth < 0 or depth >= len(d):
            worst_monotone(a, b, w, d, c[n], above)
        else:
            worst_truncated(a, b, w, d, c[n], depth, above)
        # Prefix sums of ``drop`` give the loss of each positive from its rank.
        lost = np.zeros(len(d) + 1, np.float64)
        for r in range(len(d)):
            lost[r + 1] = lost[r] + d[r]
        # below[k] counts the positives that have exactly k negatives above them.
        below = np.zeros(len(b) + 1, np.int64)
        total = 0.0
        for i in range(len(a)):
            k = above[i]
            total += w[i] * (lost[i + k] - lost[i]) - c[n] * k * a[i]
            swaps[places[start + i]] = k
            below[k] += 1
        # Negative j stands above every positive that has more than j negatives above it.
        positives_below = 0
        for j in range(len(b) - 1, -1, -1):
            positives_below += below[j + 1]
            total += c[n] * positives_below * b[j]
            swaps[places[middle + j]] = positives_below
        values[n] = total


def ranking_losses(swaps: Array, labels: Array, offsets: Array, weight: Array, drop: Array) -> Array:
    """Returns ``sum_i weight_i sum_(j < k_i) drop_(i+j)`` of every set, (n,); O(p log p).

    ``k_i`` is the i-th smallest of the ``swaps`` (total,) of positives, as :func:`worst_rankings` writes them.
    """
    out = np.zeros(len(offsets) - 1)
    for n, (first, last) in enumerate(pairwise(offsets.tolist())):
        above = np.sort(swaps[first:last][labels[first:last]])
        lost = np.concatenate(([0.0], np.cumsum(drop[first:last])))
        i = np.arange(len(above))
        out[n] = float(weight[first : first + len(above)] @ (lost[i + above] - lost[i]))
    return out
