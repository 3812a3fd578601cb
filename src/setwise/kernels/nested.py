"""Minimum cuts for all biases in one loop: the flow is kept, and each cut parts the networks in place.

A set of nodes has the bias at which its scores sum to 0. If a flow carries all of them away, the whole set turns there.
Otherwise a minimum cut parts it, and all arcs from the positive part to the other one are full. They stay so for all
other biases: they become scores of their ends, and the flow in both parts goes on as it is (Gallo, Grigoriadis and
Tarjan 1989; Tarjan, Ward, Zhang, Zhou and Mao 2006).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import bare, kernel
from setwise.kernels.max_flow import maximize_flow, plant, plant_node, push_from
from setwise.kernels.networks import MASK, begin, end, head, sister
from setwise.kernels.search_trees import FREE, NONE, SOURCE, TIME, Forest

Array = NDArray[Any]


@kernel
def nest(
    network: Any, forest: Forest, capacities: Array, scores: Array, part: Array, turned: Array, point: Array
) -> None:
    """Writes the bias at which each node turns, ``turned`` (n,), and what flows out of it less its score, ``point``.

    The two differ by rounding alone; but ``point`` is that of a flow between the capacities, whatever was rounded.
    ``part`` (n,) int64 are the numbers of the networks to which the nodes of ``scores`` (n,) belong, from 0 on. It is
    overwritten, and so are ``capacities`` (m,) >= 0.
    """
    n, pad = len(scores), network.pad
    if n + 2 * pad != len(forest.residues) or len(capacities) != len(forest.capacities):
        raise ValueError("a network has other nodes than scores")
    for arc in range(len(capacities)):
        forest.capacities[arc] = capacities[arc]
    forest.residues[:] = 0.0
    plant(forest)
    # Scores with those of the arcs that were cut, and the nodes whose sets are not done.
    own, left, count = scores.copy(), np.empty(n, np.int64), n
    sums, sizes, ones = np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
    names, parts = np.empty((2, n), np.int64), 0
    for i in range(n):
        left[i], parts = i, max(parts, part[i] + 1)
    while count > 0:
        for s in range(parts):
            sums[s], sizes[s], ones[s] = 0.0, 0, 0
            names[0, s] = names[1, s] = -1
        for k in range(count):
            sums[part[left[k]]] += own[left[k]]
            sizes[part[left[k]]] += 1
        for k in range(count):
            i = left[k]
            turned[i] = -sums[part[i]] / sizes[part[i]]
            forest.residues[i + pad] = own[i] + turned[i] - _outflow(network, forest, capacities, i + pad)
        _cut(network, forest, left[:count])
        for k in range(count):
            ones[part[left[k]]] += forest.trees[left[k] + pad] == SOURCE
        for k in range(count):
            i = left[k]
            if forest.trees[i + pad] == SOURCE and ones[part[i]] < sizes[part[i]]:
                _part(network, forest, capacities, own, i + pad)
        count, parts = _renumber(forest, left, count, part, sizes, ones, names, pad)
    _settle(network, forest, capacities, own, point)


@bare
def _cut(network: Any, forest: Forest, left: Array) -> None:
    """Goes on with the flow of the nodes ``left`` until it is maximal."""
    for i in left:
        push_from(network, forest, i + network.pad)
    # The queue is empty, and no node of other trees is joined with these.
    forest.clock[TIME] = 0
    for i in left:
        plant_node(forest, i + network.pad)
    maximize_flow(network, forest)


@bare
def _outflow(network: Any, forest: Forest, capacities: Array, i: Any) -> float:
    """The flow that leaves node i, less what enters it, on arcs that were not cut."""
    flow = 0.0
    for arc in range(begin(network, i), end(network, i)):
        flow += capacities[arc & MASK] - forest.capacities[arc & MASK]
    return flow


@bare
def _part(network: Any, forest: Forest, capacities: Array, own: Array, i: Any) -> None:
    """Cuts the arcs between the positive node i and others that are not: they are scores of their ends from now on."""
    for arc in range(begin(network, i), end(network, i)):
        j = head(network, i, arc)
        back = sister(network, arc, i, j)
        if forest.trees[j & MASK] != SOURCE and (capacities[arc & MASK] > 0.0 or capacities[back & MASK] > 0.0):
            own[(i - network.pad) & MASK] -= capacities[arc & MASK]
            own[(j - network.pad) & MASK] += capacities[arc & MASK]
            capacities[arc & MASK] = capacities[back & MASK] = 0.0
            forest.capacities[arc & MASK] = forest.capacities[back & MASK] = 0.0


@bare
def _renumber(
    forest: Forest, left: Array, count: int, part: Array, sizes: Array, ones: Array, names: Array, pad: int
) -> tuple[int, int]:
    """Numbers the parts of sets that were cut, and moves their nodes to the front of ``left``; how many of both."""
    kept, fresh = 0, 0
    for k in range(count):
        i = left[k]
        at, old, side = i + pad, part[i], np.int64(forest.trees[i + pad] == SOURCE)
        if ones[old] == 0 or ones[old] == sizes[old]:
            forest.residues[at], forest.trees[at], forest.parents[at] = 0.0, FREE, NONE
            continue
        if names[side, old] < 0:
            names[side, old] = fresh
            fresh += 1
        part[i] = names[side, old]
        left[kept] = i
        kept += 1
    return kept, fresh


@bare
def _settle(network: Any, forest: Forest, capacities: Array, own: Array, point: Array) -> None:
    """What the flow carries out of each node less its score; the flow of each arc is put between its capacities."""
    n, pad = len(own), network.pad
    for i in range(n):
        point[i] = -own[i]
    for i in range(n):
        at = i + pad
        for arc in range(begin(network, at), end(network, at)):
            j = head(network, at, arc)
            if j > at and capacities[arc & MASK] != forest.capacities[arc & MASK]:
                back = capacities[sister(network, arc, at, j) & MASK]
                flow = min(max(capacities[arc & MASK] - forest.capacities[arc & MASK], -back), capacities[arc & MASK])
                point[i] += flow
                point[(j - pad) & MASK] -= flow
