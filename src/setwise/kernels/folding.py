"""Folded probabilities: what is small of q and ``1 - q`` is held with all of its digits.

A probability q up to 1/2 is held as it is, and above it as ``q - 1``, which is -0 for 1. So it has a small relative
error near 0 and near 1, where a float of q has none of the digits of ``1 - q``. The opposite of q has the other sign.
"""

from collections.abc import Callable, Iterator

import numpy as np

from setwise.kernels.jit import Array, kernel
from setwise.kernels.threads import share_units

BLOCK = 128
"""So many pixels are processed at a time: their classes fit the first-level cache."""

UNIT = 1 << 18
"""So many logits are work enough for a thread to be worth its start."""


def folded_softmax(logits: Array) -> Array:
    """Returns the folded softmax over the classes of ``logits`` (n, k, p), in its dtype; O(n k p).

    Exponentials and sums are float64, so of float32 logits all probabilities have a relative error of 6e-8. As many
    threads as are available share the pixels; the result does not depend on them.
    """
    return _shared(_fold, logits)


def softmax_gradient(folded: Array, gradient: Array) -> Array:
    """Returns the gradient by the logits, for the ``gradient`` by the folded softmax; all (n, k, p); O(n k p).

    That is ``q_c (g_c - sum_k q_k g_k)``, which is the same for g less that of the class above 1/2. So no digits cancel
    where that class is nearly sure.
    """
    return _shared(_pull, folded, gradient)


def _shared(compute: Callable[..., None], *arrays: Array) -> Array:
    """What a kernel writes for all pixels of the arrays, as the last one of them."""
    out = np.empty_like(arrays[-1])

    def work(units: Iterator[tuple[int, int]]) -> None:
        for first, last in units:
            compute(*arrays, first, last, out)

    share_units(work, _units(out.shape))
    return out


def _units(shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """Ranges of the pixels of all images."""
    n, k, p = shape
    step = max(UNIT // max(k, 1), 1)
    return [(a, min(a + step, n * p)) for a in range(0, n * p, step)]


@kernel
def _fold(logits: Array, first: int, last: int, out: Array) -> None:
    _, k, p = logits.shape
    exps, top = np.empty((k, BLOCK)), np.empty(BLOCK, logits.dtype)
    total, rest = np.empty(BLOCK), np.empty(BLOCK)
    while first < last:
        i, a = divmod(first, p)
        m = min(BLOCK, last - first, p - a)
        first_class = logits[i, 0, a : a + m]
        for j in range(m):
            top[j], total[j], rest[j] = first_class[j], 0.0, 0.0
        for c in range(k):
            z = logits[i, c, a : a + m]
            for j in range(m):
                top[j] = z[j] if z[j] > top[j] else top[j]
        for c in range(k):
            z = logits[i, c, a : a + m]
            for j in range(m):
                # Less the largest logit, so that no exponential overflows.
                exps[c, j] = np.exp(np.float64(z[j]) - np.float64(top[j]))
            for j in range(m):
                total[j] += exps[c, j]
        for c in range(k):
            for j in range(m):
                # What is missing to 1 is summed without the class above 1/2, and so keeps its digits.
                rest[j] += 0.0 if exps[c, j] > 0.5 * total[j] else exps[c, j]
        for c in range(k):
            q = out[i, c, a : a + m]
            for j in range(m):
                q[j] = (-rest[j] if exps[c, j] > 0.5 * total[j] else exps[c, j]) / total[j]
        first += m


@kernel
def _pull(folded: Array, gradient: Array, first: int, last: int, out: Array) -> None:
    _, k, p = folded.shape
    zero, one = folded.dtype.type(0), folded.dtype.type(1)
    own, mean = np.empty(BLOCK, folded.dtype), np.empty(BLOCK, folded.dtype)
    while first < last:
        i, a = divmod(first, p)
        m = min(BLOCK, last - first, p - a)
        own[:m], mean[:m] = zero, zero
        # Where q is 1, which is -0 here, all others are 0, and so is the gradient.
        for c in range(k):
            q, g = folded[i, c, a : a + m], gradient[i, c, a : a + m]
            for j in range(m):
                own[j] += g[j] if q[j] < zero else zero
        for c in range(k):
            q, g = folded[i, c, a : a + m], gradient[i, c, a : a + m]
            for j in range(m):
                mean[j] += zero if q[j] < zero else q[j] * (g[j] - own[j])
        for c in range(k):
            q, g, slope = folded[i, c, a : a + m], gradient[i, c, a : a + m], out[i, c, a : a + m]
            for j in range(m):
                slope[j] = (q[j] + (one if q[j] < zero else zero)) * ((g[j] - own[j]) - mean[j])
        first += m
