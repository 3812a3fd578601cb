"""Pixels: their codes for each class, the weights of sets of them, and one label for each by prices of the classes.

The code of a pixel is 1 for a pixel of the class, 0 for others, and -1 for one that does not count. Weights are what
the values of sets are multiplied by before all are added to one number.
"""

from typing import Any

import numpy as np

from setwise.kernels.jit import Array, inlined, interpreted_first, kernel, plain_first
from setwise.kernels.poisson_binomial import expected_quotient

BLOCK = 4096
"""So many labels stay in the first-level cache while the codes of all classes are written."""


def _plain_label_codes(
    labels: Array, mask: Array, classes: Array, top: int, ignored: int, ignores: bool, by_class: bool, out: Array
) -> bool:
    kind = labels.dtype
    kept = np.ones(labels.shape, bool) if not ignores else labels != np.asarray(ignored).astype(kind)
    kept &= mask if len(mask) else True
    if top == 2:
        odd = (labels != np.zeros((), kind)) & (labels != np.ones((), kind)) & kept
    else:
        odd = ((labels < np.zeros((), kind)) | (labels > np.asarray(top - 1).astype(kind))) & kept
    codes = out.reshape((len(classes), *labels.shape) if by_class else (len(labels), len(classes), labels.shape[1]))
    for k, label in enumerate(classes.astype(kind)):
        part = codes[k] if by_class else codes[:, k]
        part[...] = (labels == label).astype(np.int8) | (kept.astype(np.int8) - np.int8(1))
    return not odd.any()


@plain_first(_plain_label_codes)
@kernel
def label_codes(
    labels: Array, mask: Array, classes: Array, top: int, ignored: int, ignores: bool, by_class: bool, out: Array
) -> bool:
    """Writes one code for each class and pixel to ``out``; O(total). Returns whether all labels that count are valid.

    ``labels`` (N, pixels) are valid if they are 0..top-1; floats are for top = 2 alone. Pixels of the label ``ignored``
    do not count where ``ignores`` says so, nor those whose ``mask`` (N, pixels) is False; a mask (0, 0) leaves none
    out. ``out`` is (classes, N, pixels) laid end to end if ``by_class``, else (N, classes, pixels).
    """
    images, pixels = labels.shape
    kind = labels.dtype.type
    skip, zero = kind(ignored), kind(0)
    odd, kept = 0, np.ones(min(BLOCK, pixels), np.int8)
    for n in range(images):
        for a in range(0, pixels, BLOCK):
            block = labels[n, a : a + BLOCK]
            size = len(block)
            for j in range(size):
                kept[j] = not (ignores and block[j] == skip)
            if len(mask):
                for j in range(size):
                    kept[j] &= mask[n, a + j]
            if top == 2:
                for j in range(size):
                    odd += (block[j] != zero) & (block[j] != kind(1)) & (kept[j] != 0)
            else:
                for j in range(size):
                    odd += ((block[j] < zero) | (block[j] > kind(top - 1))) & (kept[j] != 0)
            for k in range(len(classes)):
                row = k * images + n if by_class else n * len(classes) + k
                _write(block, kept, kind(classes[k]), out[row * pixels + a : row * pixels + a + size])
    return odd == 0


@kernel
def _write(labels: Array, kept: Array, label: Any, codes: Array) -> None:
    # A pixel that counts has the code 0 or 1, and the bits of the others are all set.
    for j in range(len(codes)):
        codes[j] = np.int8(labels[j] == label) | np.int8(kept[j] - 1)


ALIKE = np.empty(0)
"""The weights of classes that all weigh 1."""


@interpreted_first
@kernel
def shares(totals: Array, classes: int, weight: Array, only_present: bool, mean: bool) -> Array:
    """Returns the weight of the class of every set, (S,), and 0 for sets that do not count; O(S).

    Images have one set for each of the classes, and ``weight`` is theirs, or empty for classes that all weigh 1. A set
    counts if it has a positive, or a decision at all unless ``only_present``: ``totals`` (S, 2) are its numbers of
    negatives and positives. For a ``mean`` the weights of each image are divided by their sum, and by the number of
    images in which a set counts.
    """
    out, images, some = np.zeros(len(totals)), len(totals) // max(classes, 1), 0
    whole = np.zeros(images)
    for i in range(images * classes):
        if totals[i, 1] > 0 or (totals[i, 0] > 0 and not only_present):
            out[i] = weight[i % classes] if len(weight) else 1.0
            whole[i // classes] += out[i]
    if mean:
        some = (whole > 0).sum()
        for i in range(images * classes):
            # Where no set of an image counts, its weights are 0 whatever they are divided by.
            if out[i] > 0:
                out[i] /= whole[i // classes] * some
    return out


@kernel
def assign(probabilities: Array, gains: Array, prices: Array, labels: Array, sizes: Array, hits: Array) -> None:
    """Gives each pixel i the class c of the largest ``gains[c] probabilities[i, c] - prices[c]``; O(p k).

    Writes the ``labels`` (p,), the number of pixels of each class and the sums of their probabilities, (k,) each.
    """
    p, k = probabilities.shape
    if len(gains) != k or len(prices) != k or len(labels) != p or len(sizes) != k or len(hits) != k:
        raise ValueError("there must be one label for each pixel, and one gain, price, size and sum for each class")
    sizes[:], hits[:] = 0.0, 0.0
    for i in range(p):
        best, value = 0, -np.inf
        for c in range(k):
            worth = gains[c] * probabilities[i, c] - prices[c]
            if worth > value:
                best, value = c, worth
        labels[i] = best
        sizes[best] += 1.0
        hits[best] += probabilities[i, best]


@kernel
def divide(before: Array, values: Array, taken: Array) -> Array:
    """Returns the least ``before[s - t] + values[t]`` of every set s over its parts t, (2^p,), as bits; O(3^p).

    Writes the best part of each set to ``taken`` (2^p,).
    """
    if len(values) != len(before) or len(taken) != len(before):
        raise ValueError("there must be one value and one part for each set")
    out = np.empty(len(before))
    for s in range(len(before)):
        part, best = s, np.inf
        while True:
            value = before[s ^ part] + values[part]
            if value < best:
                best, taken[s] = value, part
            if part == 0:
                break
            part = (part - 1) & s
        out[s] = best
    return out


@kernel
def move_pixels(
    probabilities: Array, labels: Array, top: Array, bottom: Array, empty: Array, none: Array, shifts: Array,
    partial: bool, sweeps: int,
) -> Any:  # fmt: skip
    """Gives pixels another class, one by one, while this makes the sum of the expected losses smaller; O(sweeps p k).

    The loss of a class is ``A / D`` with A and D linear in its counts, and its expectation is taken by their means and
    variances. ``labels`` (p,) are changed; -1 is a pixel of no class, which is allowed if ``partial``.

    ``top`` and ``bottom`` (4,) are the coefficients of 1, P, fn and fp in A and D. ``empty`` (k,) are the losses of
    empty masks, ``none`` (k,) the chances of no positive, and ``shifts`` (p + 1,) what is added then, for masks of each
    size. Returns the sum of the expected losses; with no ``sweeps`` nothing is changed.
    """
    p, k = probabilities.shape
    counts, losses = _class_counts(probabilities, labels, top, bottom, empty, none, shifts)
    for _ in range(sweeps):
        moved = False
        for i in range(p):
            a = labels[i]
            left, change = 0.0, 0.0
            if a >= 0:
                left = _after(a, -1.0, probabilities[i, a], counts, top, bottom, empty, none, shifts)
                change = left - losses[a]
            # A gain of rounding alone could move pixels to and fro for ever.
            best, least, chosen = a, -1e-12, 0.0
            if partial and change < least:
                best, least = -1, change
            for b in range(k):
                if b == a:
                    continue
                loss = _after(b, 1.0, probabilities[i, b], counts, top, bottom, empty, none, shifts)
                if change + loss - losses[b] < least:
                    best, least, chosen = b, change + loss - losses[b], loss
            if best == a:
                continue
            moved, labels[i] = True, best
            if a >= 0:
                _count(counts, a, -1.0, probabilities[i, a])
                losses[a] = left
            if best >= 0:
                _count(counts, best, 1.0, probabilities[i, best])
                losses[best] = chosen
        if not moved:
            break
    return losses.sum()


@kernel
def empty_classes(
    probabilities: Array, labels: Array, top: Array, bottom: Array, empty: Array, none: Array, shifts: Array,
    partial: bool, most: int,
) -> bool:  # fmt: skip
    """Gives all pixels of a class of at most ``most`` pixels to others, where this makes the sum of losses smaller.

    One class after the other; O(p k). Returns whether there was such a class. The other arguments are those of
    :func:`move_pixels`.
    """
    k = probabilities.shape[1]
    counts, losses = _class_counts(probabilities, labels, top, bottom, empty, none, shifts)
    found = False
    for c in range(k):
        if counts[0, c] == 0.0 or counts[0, c] > most:
            continue
        members, old_counts, old_losses = np.flatnonzero(labels == c), counts.copy(), losses.copy()
        for pixel in members:
            best, least, left = -1, 0.0 if partial else np.inf, 0.0
            for b in range(k):
                if b != c:
                    loss = _after(b, 1.0, probabilities[pixel, b], counts, top, bottom, empty, none, shifts)
                    if loss - losses[b] < least:
                        best, least, left = b, loss - losses[b], loss
            labels[pixel] = best
            if best >= 0:
                _count(counts, best, 1.0, probabilities[pixel, best])
                losses[best] = left
        counts[0, c], counts[1, c], counts[2, c], losses[c] = 0.0, 0.0, 0.0, empty[c]
        # A gain of rounding alone is none.
        if losses.sum() < old_losses.sum() - 1e-12:
            found = True
        else:
            counts[:], losses[:] = old_counts, old_losses
            for pixel in members:
                labels[pixel] = c
    return found


@kernel
def _class_counts(
    probabilities: Array, labels: Array, top: Array, bottom: Array, empty: Array, none: Array, shifts: Array
) -> tuple[Array, Array]:
    """Returns what is counted of each class, (5, k), and its expected loss, (k,).

    These are its pixels, the mean and the variance of its true positives, and those of all its positives.
    """
    p, k = probabilities.shape
    if len(labels) != p or len(empty) != k or len(none) != k or len(shifts) != p + 1:
        raise ValueError("there must be one label for each pixel, two losses for each class, and one for each size")
    counts, losses = np.zeros((5, k)), np.empty(k)
    for i in range(p):
        for c in range(k):
            q = probabilities[i, c]
            counts[3, c] += q
            counts[4, c] += q * (1.0 - q)
        if labels[i] >= 0:
            _count(counts, labels[i], 1.0, probabilities[i, labels[i]])
    for c in range(k):
        losses[c] = _after(c, 0.0, 0.0, counts, top, bottom, empty, none, shifts)
    return counts, losses


@inlined
def _count(counts: Array, c: int, more: float, q: float) -> None:
    """Counts a pixel of probability q for class c, or takes it back with ``more`` of -1."""
    counts[0, c] += more
    counts[1, c] += more * q
    counts[2, c] += more * q * (1.0 - q)


@inlined
def _after(
    c: int, more: float, q: float, counts: Array, top: Array, bottom: Array, empty: Array, none: Array, shifts: Array
) -> Any:
    """Returns the expected loss of class c with one pixel of probability q more, the same, or one less (``more``)."""
    size, found = int(counts[0, c] + more), empty[c]
    if size > 0:
        hit, spread = counts[1, c] + more * q, counts[2, c] + more * q * (1.0 - q)
        # Sums from which pixels were taken back may lie below 0 by their rounding.
        miss, rest = max(counts[3, c] - hit, 0.0), max(counts[4, c] - spread, 0.0)
        found = expected_quotient(size, max(hit, 0.0), max(spread, 0.0), miss, rest, top, bottom)
        found += none[c] * shifts[size]
    return found
