"""The best number of mistakes."""

from typing import Any

from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]


@kernel
def best_prefix(g: Array, none: Array, gains: Array, items: Array, starts: Array, slack: bool, mistakes: Array) -> None:
    """Marks in each set the first k ``items`` that maximize ``g_k + sum gains`` or ``g_k (1 + sum gains)``; O(total).

    ``g`` (total,) holds the loss of 1, 2, ... mistakes, ``none`` (n,) that of none; ``gains`` fall inside each set.
    ``mistakes`` (total,) bool comes in all False.
    """
    for i in range(len(starts) - 1):
        best = none[i]
        stop = starts[i]
        t = 0.0
        for j in range(starts[i], starts[i + 1]):
            t += gains[j]
            value = g[j] * (1.0 + t) if slack else g[j] + t
            if value > best:
                best = value
                stop = j + 1
        for j in range(starts[i], stop):
            mistakes[items[j]] = True
