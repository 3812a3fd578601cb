"""Perturb and minimize: minimum cuts for the scores of nodes plus noise, with sums over the draws, all in one loop."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.cuts import cut
from setwise.kernels.jit import bare, kernel
from setwise.kernels.networks import MASK, begin, end, head
from setwise.kernels.noise import draw, stream
from setwise.kernels.search_trees import SOURCE, Forest

Array = NDArray[Any]


@kernel
def perturbed_cuts(
    network: Any,
    forest: Forest,
    capacities: Array,
    unary: Array,
    kind: int,
    seed: Any,
    unit: Any,
    first: int,
    paired: bool,
    point: Array,
    values: Array,
    controls: Array,
    ones: Array,
    apart: Array,
) -> None:
    """The samples ``first``, ``first + 1``, .. of ``max_y <z + t, y> - cut(y)`` for noise z, each cut from nothing.

    Writes the values (samples,), and the controls ``sum_d max(z_d - point_d, 0)``, which are not smaller. Adds to
    ``ones`` (n,) where a node has label 1, and to ``apart`` (arcs,) where an arc leads from label 1 to label 0; if
    ``apart`` is empty it is left so. The noise depends on (seed, unit, sample) alone; where samples are paired, each
    odd one has the noise of the one before with the other sign.
    """
    n, pad = len(unary), network.pad
    noise, scores = np.empty(n), np.empty(n)
    for k in range(len(values)):
        sample = first + k
        sign = 1.0
        if paired:
            sign = -1.0 if sample % 2 == 1 else 1.0
            sample //= 2
        draw(kind, stream(seed, unit, sample), noise)
        control = 0.0
        for i in range(n):
            noise[i] *= sign
            scores[i] = noise[i] + unary[i]
            control += max(noise[i] - point[i], 0.0)
        cut(network, forest, capacities, scores)
        values[k], controls[k] = _count(network, forest, capacities, scores, ones, apart, pad), control


@bare
def _count(
    network: Any, forest: Forest, capacities: Array, scores: Array, ones: Array, apart: Array, pad: Any
) -> float:
    """The value of the labels of a cut, which are counted."""
    value = 0.0
    for i in range(len(scores)):
        at = i + pad
        if forest.trees[at] == SOURCE:
            ones[i] += 1
            value += scores[i]
            for arc in range(begin(network, at), end(network, at)):
                if forest.trees[head(network, at, arc) & MASK] != SOURCE:
                    value -= capacities[arc & MASK]
                    if len(apart) > 0:
                        apart[arc & MASK] += 1
    return value
