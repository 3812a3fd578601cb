"""Running counts of mistakes, and the gains of losses that are a quotient of two linear functions of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]


@kernel
def running_counts(labels: Array, offsets: Array) -> tuple[Array, Array]:
    """Inclusive counts (fn, fp) along each order of mistakes, (m,) float64 each; ``labels`` (m,) in that order."""
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
    """Gains along each order of ``(t0 + t1 fn + t2 fp) / (b0 + b1 fn + b2 fp)``, (m,) float64.

    ``top`` and ``bottom`` have shape (n, 3), one row of coefficients for each set. With the quotient N/D a step (t, b)
    gains (t D - b N) / (D (D + b)): no difference of nearby numbers. A denominator may vanish where no mistake is made;
    the value there is ``origin`` (n,).
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
    for j in range(len(out)):
        out[j] = misses
        misses += labels[j]
    quotient_steps(0, top, bottom, origin, labels, out)


@kernel
def quotient_steps(before: int, top: Array, bottom: Array, origin: float, labels: Array, out: Array) -> None:
    """Gains of consecutive mistakes, the first after ``before`` others; ``out`` holds the fn before each on entry.

    There are no branches, so the loop compiles to vector instructions.
    """
    t0, t1, t2 = top[0], top[1], top[2]
    b0, b1, b2 = bottom[0], bottom[1], bottom[2]
    for j in range(len(out)):
        fn, miss = out[j], np.float64(labels[j])
        fp = np.float64(before + j) - fn
        t, b = t2 + miss * (t1 - t2), b2 + miss * (b1 - b2)
        n, d = t0 + t1 * fn + t2 * fp, b0 + b1 * fn + b2 * fp
        out[j] = (t * d - b * n) / (d * (d + b))
    # 0/0 at the origin: the first gain is the first value less the one that the loss defines there.
    if before == 0 and len(out) and b0 == 0.0:
        out[0] = ((t0 + t1) / (b0 + b1) if labels[0] else (t0 + t2) / (b0 + b2)) - origin
