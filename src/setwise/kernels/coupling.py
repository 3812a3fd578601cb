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
def _sweep(network: Any, weights: Array, unary: Array, gains: Array, key: Any, low: Array, high: Array) -> int:
    """One Gibbs sweep of two chains over all labels in turn; returns by how many ones they differ."""
    p, below, above = len(unary), 0, 0
    if len(gains) > 0:
        for i in range(p):
            below += low[i + network.pad]
            above += high[i + network.pad]
    apart = 0
    for i in range(p):
        at = i + network.pad
        first, last = unary[i], unary[i]
        for arc in range(begin(network, at), end(network, at)):
            j = head(network, at, arc) & MASK
            first += (2 * low[j] - 1) * weights[arc]
            last += (2 * high[j] - 1) * weights[arc]
        if len(gains) > 0:
            below -= low[at]
            above -= high[at]
            first -= gains[below]
            last -= gains[above]
        u = uniform(key, i)
        # Label 1 has the probability 1 / (1 + exp(-field)), which grows with each other label.
        level = np.log(u / (1.0 - u))
        low[at], high[at] = level < first, level < last
        below += low[at]
        above += high[at]
        apart += high[at] - low[at]
    return int(apart)


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
        apart = p
        for back in range(start, 0, -1):
            apart = _sweep(network, weights, unary, gains, stream(seed, unit, back), low, high)
        if apart == 0:
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


@bare
def _sweep_by_table(network: Any, table: Array, width: int, key: Any, low: Array, high: Array) -> int:
    """As :func:`_sweep`, by thresholds."""
    apart: Any = 0
    for i in range(len(table) >> width):
        at = i + network.pad
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
    return int(apart)


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
        apart = p
        for back in range(start, 0, -1):
            apart = _sweep_by_table(network, table, width, stream(seed, unit, back), low, high)
        if apart == 0:
            return start
        start *= 2
    return -1


@kernel
def continued(
    network: Any, weights: Array, unary: Array, gains: Array, table: Array, width: int, seed: Any, unit: Any, gap: int,
    labels: Array,
) -> None:  # fmt: skip
    """Continues the first row of labels (n, p + 2 pad) by ``gap`` Gibbs sweeps from each row to the next.

    The table is empty where there are no thresholds.
    """
    for k in range(1, len(labels)):
        labels[k] = labels[k - 1]
        for step in range(gap):
            # Coupling has the streams from 1 on, of another unit.
            key = stream(seed, unit, (k - 1) * gap + step)
            if len(table) > 0:
                _sweep_by_table(network, table, width, key, labels[k], labels[k])
            else:
                _sweep(network, weights, unary, gains, key, labels[k], labels[k])
