"""Running counts of mistakes, and marginal gains of losses that are a quotient of two linear functions of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]


@kernel
def running_counts(labels: Array, offsets: Array) -> tuple[Array, Array]:
    """Returns the numbers (fn, fp) of mistakes up to each one of every order, (m,) float64 each; O(m).

    ``labels`` (m,) are the true labels in that order.
    """
    m = len(labels)
    fn, fp = np.empty(m, np.float64), np.empty(m, np.float64)
    for i in range(len(offsets) - 1):
        misses, alarms = 0, 0
        for j in range(offsets[i], offsets[i + 1]):
            if labels[j]:
                misses += 1
            else:
                alarms += 1
            fn[j], fp[j] = misses, alarms
    return fn, fp


def quotient_gains(labels: Array, offsets: Array, top: Array, bottom: Array, origin: Array) -> Array:
    """Returns the gains of ``(t0 + t1 fn + t2 fp) / (b0 + b1 fn + b2 fp)`` along each order, (m,) float64; O(m).

    ``top`` and ``bottom`` have shape (n, 3), one row of coefficients for each set. Where N/D is the quotient, a mistake
    that adds t to N and b to D gains ``(t D - b N) / (D (D + b))``, which is no difference of nearly equal numbers. The
    denominator may vanish where no mistake is made; the value of the quotient there is ``origin`` (n,).
    """
    out = np.empty(len(labels), np.float64)
    _quotient_gains(labels, offsets, top, bottom, origin, out)
    return out


@kernel
def _quotient_gains(labels: Array, offsets: Array, top: Array, bottom: Array, origin: Array, out: Array) -> None:
    for i in range(len(offsets) - 1):
        a, b = offsets[i], offsets[i + 1]
        _quotient_set(labels[a:b], top[i], bottom[i], origin[i], out[a:b])


@kernel
def _quotient_set(labels: Array, top: Array, bottom: Array, origin: float, out: Array) -> None:
    misses = 0
    # The running count has a loop of its own, so that the gains need no state from mistake to mistake.
    for j in range(len(out)):
        out[j] = misses
        misses += labels[j]
    consecutive_gains(np.int64(0), top, bottom, origin, labels, out)


@kernel
def consecutive_gains(before: int, top: Array, bottom: Array, origin: float, labels: Array, out: Array) -> None:
    """Writes the gains of consecutive mistakes, the first of which comes after ``before`` others; O(len(out)).

    On entry ``out`` holds the number of false negatives before each mistake. There are no branches, so the loop
    compiles to vector instructions.
    """
    t0, t1, t2 = top[0], top[1], top[2]
    b0, b1, b2 = bottom[0], bottom[1], bottom[2]
    for j in range(len(out)):
        fn, miss = out[j], np.float64(labels[j])
        fp = np.float64(before + j) - fn
        # What the mistake adds to numerator and denominator; the label chooses by arithmetic, not by a branch.
        t, b = t2 + miss * (t1 - t2), b2 + miss * (b1 - b2)
        n, d = t0 + t1 * fn + t2 * fp, b0 + b1 * fn + b2 * fp
        out[j] = (t * d - b * n) / (d * (d + b))
    # At the origin the formula may be 0/0: the first gain is the first value less the one that the loss defines there.
    if before == 0 and len(out) and b0 == 0.0:
        out[0] = ((t0 + t1) / (b0 + b1) if labels[0] else (t0 + t2) / (b0 + b2)) - origin
