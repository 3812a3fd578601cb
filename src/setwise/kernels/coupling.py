"""Coupling from the past: exact samples of labels that attract each other (Propp and Wilson 1996)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import bare, kernel
from setwise.kernels.networks import MASK, begin, end, head
from setwise.kernels.noise import GAMMA, mix, stream, uniform

Array = NDArray[Any]

MOST = 6
"""The most neighbors of nodes whose thresholds are tabled."""

SHIFT = np.uint64(11)


@bare
def _sweep(network: Any, weights: Array, unary: Array, gains: Array, key: Any, labels: Array, ones: int) -> int:
    """One Gibbs sweep over all labels in turn, with the numbers of a stream; returns the number of ones."""
    for i in range(len(unary)):
        at = i + network.pad
        ones -= labels[at]
        field = unary[i]
        for arc in range(begin(network, at), end(network, at)):
            field += weights[arc] if labels[head(network, at, arc)] == 1 else -weights[arc]
        if len(gains) > 0:
            field -= gains[ones]
        u = uniform(key, i)
        # Label 1 has the probability 1 / (1 + exp(-field)), which grows with each other label.
        labels[at] = 1 if np.log(u / (1.0 - u)) < field else 0
        ones += labels[at]
    return ones


@kernel
def couple(
    network: Any, weights: Array, unary: Array, gains: Array, seed: Any, unit: Any, start: int, budget: int, low: Array
) -> int:
    """Writes labels that are drawn from ``exp(-f) / Z`` exactly; returns the sweeps from the start that proved it.

    Two chains begin ``start`` sweeps ago, at all zeros and at all ones, and take the same random numbers. A sweep keeps
    their order, and any other chain between them; where they meet, all chains have met, and the labels at present do
    not depend on where they began. If they do not, they begin twice as early, up to ``budget`` sweeps; then -1 is
    returned. The labels do not depend on ``start``. They are those of the nodes with pads, (p + 2 pad,).
    ``gains`` (p,) are those of a concave function of the number of ones, or empty.
    """
    p, pad = len(unary), network.pad
    high = np.zeros(len(low), np.int8)
    while start <= budget:
        low[:] = 0
        high[pad : pad + p] = 1
        low_ones, high_ones = 0, p
        for back in range(start, 0, -1):
            key = stream(seed, unit, back)
            low_ones = _sweep(network, weights, unary, gains, key, low, low_ones)
            high_ones = _sweep(network, weights, unary, gains, key, high, high_ones)
        if low_ones == high_ones:
            return start
        start *= 2
    return -1


@kernel
def thresholds(network: Any, weights: Array, unary: Array, width: int, table: Array) -> None:
    """Writes the probability of label 1 for all labels of the neighbors, (p << width,), in units of 2^-53.

    The labels of the neighbors are the bits of the index. What is written grows with each of them.
    """
    fields = np.empty(1 << width)
    for i in range(len(unary)):
        at, count = i + network.pad, 1
        fields[0] = unary[i]
        for arc in range(begin(network, at), end(network, at)):
            fields[0] -= weights[arc]
        for arc in range(begin(network, at), end(network, at)):
            for k in range(count):
                fields[count + k] = fields[k] + 2.0 * weights[arc]
            count *= 2
        for k in range(count):
            table[(i << width) + k] = np.int64(np.ceil(2.0**53 / (1.0 + np.exp(-fields[k])) - 0.5))
        # The exponential need not be monotone in its last digit.
        bit = 1
        while bit < count:
            for k in range(count):
                if k & bit:
                    table[(i << width) + k] = max(table[(i << width) + k], table[(i << width) + (k ^ bit)])
            bit *= 2


@kernel
def couple_by_table(
    network: Any, table: Array, width: int, seed: Any, unit: Any, start: int, budget: int, low: Array
) -> int:
    """As :func:`couple`, for cuts whose nodes have at most ``width`` neighbors each, by their :func:`thresholds`."""
    p, pad = len(table) >> width, network.pad
    high = np.zeros(len(low), np.int8)
    while start <= budget:
        low[:] = 0
        high[pad : pad + p] = 1
        apart: Any = p
        for back in range(start, 0, -1):
            key = stream(seed, unit, back)
            apart = 0
            for i in range(p):
                at = i + pad
                below: Any = i << width
                above: Any = i << width
                for bit, arc in enumerate(range(begin(network, at), end(network, at))):
                    j = head(network, at, arc) & MASK
                    below |= np.int64(low[j]) << bit
                    above |= np.int64(high[j]) << bit
                key += GAMMA
                u = np.int64(mix(key) >> SHIFT)
                low[at & MASK], high[at & MASK] = u < table[below & MASK], u < table[above & MASK]
                apart += np.int64(high[at & MASK]) - np.int64(low[at & MASK])
        if apart == 0:
            return start
        start *= 2
    return -1
