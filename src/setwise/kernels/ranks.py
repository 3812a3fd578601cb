"""Margins of every set sorted upwards, positives and negatives apart: the order in which decisions become mistakes.

A batch of n sets has 2 n segments: segment 2 i holds the positives of set i and segment 2 i + 1 its negatives. Only
decisions with ``floor < margin < cap`` are ranked; of the others the best labeling is known, for those up to the floor
are always mistakes and those from the cap on never.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel, plain_first, require_length, source
from setwise.kernels.segments import owners_of
from setwise.kernels.sorting import MARGINS, exact_order, sort_packed

Array = NDArray[Any]


def rank_margins(scores: Array, labels: Array, offsets: Array, floor: float, caps: Array) -> tuple[Array, ...]:
    """Sorts the margins ``m_i = s_i (2 y_i - 1)`` with ``floor < m_i < caps[segment]`` upwards in each segment.

    Returns ``keys`` (m,) uint64, whose low 32 bits are ``2 * place + label`` of a decision in its set; ``margins`` (m,)
    in that order and in the precision of ``scores``; ``starts`` (2n+1,); ``low`` (2n,), the number of margins at or
    under the floor; ``base`` (n,), minus their sum; and ``truth`` (n,), the score of the true labels. O(p log p).
    """
    n = len(offsets) - 1
    starts, low = np.zeros(2 * n + 1, np.int64), np.zeros(2 * n, np.int64)
    base, truth, keys = np.zeros(n), np.zeros(n), np.empty(len(scores), np.uint64)
    _pack(scores, labels, offsets, floor, caps, keys, starts, low, base, truth)
    keys = sort_packed(keys[: starts[-1]], starts)
    if scores.dtype == np.float32:
        margins = np.empty(len(keys), np.float32)
        _decode(keys, margins.view(np.uint32))
    else:
        margins = exact_order(keys, scores, starts, np.repeat(offsets[:-1], 2), MARGINS)
    return keys, margins, starts, low, base, truth


def _plain_pack(
    scores: Array, labels: Array, offsets: Array, floor: float, caps: Array,
    keys: Array, starts: Array, low: Array, base: Array, truth: Array,
) -> None:  # fmt: skip
    source(require_length)(scores, offsets)
    source(require_length)(labels, offsets)
    n, owners, inside = len(offsets) - 1, owners_of(offsets), slice(offsets[0], offsets[-1])
    y, segments = labels[inside].astype(np.int64), 2 * owners + ~labels[inside].astype(bool)
    margins = np.where(y, scores[inside], -scores[inside])
    under = margins.astype(np.float64) <= floor
    ranked = np.flatnonzero(~under & (margins < caps[segments]))
    low[:] = np.bincount(segments[under], minlength=2 * n)
    # Sums from left to right, as the kernel takes them.
    base[:] = np.bincount(owners, -(margins * under).astype(np.float64), minlength=n)
    truth[:] = np.bincount(owners, (margins * y).astype(np.float64), minlength=n)
    bits = margins.astype(np.float32).view(np.uint32).astype(np.uint64)
    bits ^= np.uint64(0x80000000) | (np.uint64(0x7FFFFFFF) * (bits >> np.uint64(31)))
    places = np.arange(offsets[0], offsets[-1]) - offsets[owners]
    found = bits << np.uint64(32) | (2 * places + y).astype(np.uint64)
    ranked = ranked[np.argsort(segments[ranked], kind="stable")]
    keys[: len(ranked)] = found[ranked]
    starts[1:] = np.cumsum(np.bincount(segments[ranked], minlength=2 * n))


@plain_first(_plain_pack)
@kernel
def _pack(
    scores: Array, labels: Array, offsets: Array, floor: float, caps: Array,
    keys: Array, starts: Array, low: Array, base: Array, truth: Array,
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
        score_won, true_score = 0.0, 0.0
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
            true_score += margin * y
        low[2 * i], low[2 * i + 1] = n_low_positives, n_low - n_low_positives
        base[i], truth[i] = score_won, true_score
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


def _plain_decode(keys: Array, bits: Array) -> None:
    up = (keys >> np.uint64(32)).astype(np.uint32)
    bits[:] = np.where(up >> np.uint32(31), up & np.uint32(0x7FFFFFFF), ~up)


@plain_first(_plain_decode)
@kernel
def _decode(keys: Array, bits: Array) -> None:
    """Writes the bits of the float32 in the upper half of each key: the inverse of :func:`rising_bits`."""
    for j in range(len(keys)):
        up = np.uint32(keys[j] >> np.uint64(32))
        bits[j] = up & np.uint32(0x7FFFFFFF) if up >> np.uint32(31) else np.uint32(~up)


def prefix_sums(margins: Array, starts: Array) -> Array:
    """Returns the sums of the 0, 1, 2, ... smallest margins of each segment, (m + 2n,), in float64; O(m).

    A segment has one sum more than margins, so those of segment k begin at ``starts[k] + k``.
    """
    out = np.empty(len(margins) + len(starts) - 1)
    _prefix_sums(margins, starts, out)
    return out


def _plain_prefix_sums(margins: Array, starts: Array, out: Array) -> None:
    for k, (a, b) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        out[a + k] = 0.0
        out[a + k + 1 : b + k + 1] = margins[a:b]
        np.cumsum(out[a + k : b + k + 1], out=out[a + k : b + k + 1])


@plain_first(_plain_prefix_sums)
@kernel
def _prefix_sums(margins: Array, starts: Array, out: Array) -> None:
    for k in range(len(starts) - 1):
        total = 0.0
        out[starts[k] + k] = 0.0
        for j in range(starts[k], starts[k + 1]):
            total += margins[j]
            out[j + k + 1] = total


def mark_mistakes(
    scores: Array, labels: Array, offsets: Array, floor: float, keys: Array, starts: Array, counts: Array
) -> Array:
    """Returns the mistakes, (total,): margins at or under the floor, and the first ``counts[k]`` keys of segment k."""
    out = np.empty(len(labels), np.bool_)
    _mark_mistakes(scores, labels, offsets, floor, keys, starts, counts, out)
    return out


def _plain_mark_mistakes(
    scores: Array, labels: Array, offsets: Array, floor: float, keys: Array, starts: Array, counts: Array, out: Array
) -> None:
    out[:] = np.where(labels, scores, -scores).astype(np.float64) <= floor
    owners = owners_of(starts)
    wrong = np.arange(starts[0], starts[-1]) - starts[owners] < counts[owners]
    places = ((keys[: len(owners)][wrong] & np.uint64(0xFFFFFFFF)) >> np.uint64(1)).astype(np.int64)
    out[offsets[owners[wrong] // 2] + places] = True


@plain_first(_plain_mark_mistakes)
@kernel
def _mark_mistakes(
    scores: Array, labels: Array, offsets: Array, floor: float, keys: Array, starts: Array, counts: Array, out: Array
) -> None:
    for j in range(len(labels)):
        out[j] = (scores[j] if labels[j] else -scores[j]) <= floor
    for k in range(len(starts) - 1):
        for j in range(starts[k], starts[k] + counts[k]):
            out[offsets[k // 2] + np.int64((keys[j] & np.uint64(0xFFFFFFFF)) >> np.uint64(1))] = True
