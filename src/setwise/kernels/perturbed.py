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
    given: Array,
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

    Writes the values (samples,), and the controls ``sum_d max(z_d - point_d, 0)``. Adds to ``ones`` (n,) where a node
    has label 1, and to ``apart`` (arcs,) where an arc leads from label 1 to label 0; it may be empty. The noise is the
    rows of ``given`` (samples, n), or if there are none it depends on (seed, unit, sample) alone; where samples are
    paired, each odd one has the noise of the one before with the other sign.
    """
    n, drawn = len(unary), np.int64(-1)
    if len(given) > 0 and (len(given) != len(values) or given.shape[1] != n):
        raise ValueError("there is other noise than samples and nodes")
    noise, scores = np.empty(n), np.empty(n)
    for k in range(len(values)):
        sample, sign = np.int64(first + k), 1.0
        if len(given) > 0:
            for i in range(n):
                noise[i] = given[k, i]
        else:
            if paired:
                sign = -1.0 if sample % 2 == 1 else 1.0
                sample //= 2
            if sample != drawn:
                draw(kind, stream(seed, unit, sample), noise)
                drawn = sample
        control = 0.0
        for i in range(n):
            z = sign * noise[i]
            scores[i] = z + unary[i]
            control += max(z - point[i], 0.0)
        cut(network, forest, capacities, scores)
        values[k], controls[k] = _count(network, forest, capacities, scores, ones, apart), control


@bare
def _count(network: Any, forest: Forest, capacities: Array, scores: Array, ones: Array, apart: Array) -> float:
    """The value of the labels of a cut, which are counted."""
    value = 0.0
    for i in range(len(scores)):
        at = i + network.pad
        if forest.trees[at] == SOURCE:
            ones[i] += 1
            value += scores[i]
            for arc in range(begin(network, at), end(network, at)):
                if forest.trees[head(network, at, arc) & MASK] != SOURCE:
                    value -= capacities[arc & MASK]
                    if len(apart) > 0:
                        apart[arc & MASK] += 1
    return value
