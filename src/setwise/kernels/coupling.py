"""Coupling from the past: exact samples of labels that attract each other (Propp and Wilson 1996)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import bare, kernel
from setwise.kernels.noise import stream, uniform

Array = NDArray[Any]


@bare
def _sweep(network: Any, weights: Array, unary: Array, gains: Array, key: Any, labels: Array, ones: int) -> int:
    """One Gibbs sweep over all labels in turn, with the numbers of a stream; returns the number of ones."""
    for i in range(len(labels)):
        ones -= labels[i]
        field = unary[i]
        for arc in range(network.first[i], network.first[i + 1]):
            field += weights[arc] if labels[network.heads[arc]] == 1 else -weights[arc]
        if len(gains) > 0:
            field -= gains[ones]
        u = uniform(key, i)
        # Label 1 has the probability 1 / (1 + exp(-field)), which grows with each other label.
        labels[i] = 1 if np.log(u / (1.0 - u)) < field else 0
        ones += labels[i]
    return ones


@kernel
def couple(
    network: Any, weights: Array, unary: Array, gains: Array, seed: Any, unit: Any, budget: int, labels: Array
) -> int:
    """Writes labels (p,) that are drawn from ``exp(-f) / Z`` exactly; returns the sweeps from the start that proved it.

    Two chains begin T sweeps ago, at all zeros and at all ones, and take the same random numbers. A sweep keeps their
    order, and any other chain between them; where they meet, all chains have met, and the labels at present do not
    depend on the start. If they do not, they begin twice as early, up to ``budget`` sweeps; then -1 is returned.
    ``gains`` (p,) are those of a concave function of the number of ones, or empty.
    """
    p = len(labels)
    high = np.empty(p, np.int8)
    start = 1
    while start <= budget:
        labels[:] = 0
        high[:] = 1
        low_ones, high_ones = 0, p
        for back in range(start, 0, -1):
            key = stream(seed, unit, back)
            low_ones = _sweep(network, weights, unary, gains, key, labels, low_ones)
            high_ones = _sweep(network, weights, unary, gains, key, high, high_ones)
        if low_ones == high_ones:
            return start
        start *= 2
    return -1
