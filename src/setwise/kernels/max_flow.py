"""Minimum cuts by augmenting paths between two search trees (Boykov and Kolmogorov 2004), which outlive a change.

A node i has the score ``s_i`` of label 1, and the arc from i to j the capacity ``c_ij >= 0``. The labels of largest
value

    V(y) = sum_i s_i y_i - sum_ij c_ij y_i (1 - y_j)

are found by a flow g from nodes of positive score to nodes of negative score. It leaves the residues
``r_i = s_i - sum_j g_ij`` and ``c_ij - g_ij >= 0``. Whatever the flow, no labels have a larger value than
``sum_i max(r_i, 0)``; this bound is attained where no path of residual arcs leads from a positive residue to a negative
one. Two trees of residual arcs search for such paths, one from either side. Where they meet flow is pushed, and nodes
that lose their parent are adopted or set free. After a change of scores the flow and the trees remain, but for the
nodes concerned (Kohli and Torr 2007). The nodes in the tree of the positive residues have label 1.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import bare, inlined
from setwise.kernels.networks import MASK, begin, end, head, sister
from setwise.kernels.search_trees import (
    COUNT,
    FIRST,
    FREE,
    LAST,
    NONE,
    ROOT,
    SINK,
    SOURCE,
    TIME,
    Forest,
    activate,
    adopt_all,
    next_active,
    orphan,
    tick,
)

Array = NDArray[Any]


@bare
def push_across(network: Any, forest: Forest) -> None:
    """Pushes flow from each positive residue to the negative ones next to it, O(m).

    Most paths of a new cut are as short as this, and need no trees.
    """
    for i in range(len(forest.residues)):
        push_from(network, forest, i)


@inlined
def push_from(network: Any, forest: Forest, i: Any) -> None:
    """Pushes flow from node i, if its residue is positive, to the negative ones next to it."""
    capacities, residues = forest.capacities, forest.residues
    if residues[i & MASK] > 0.0:
        for arc in range(begin(network, i), end(network, i)):
            if capacities[arc & MASK] > 0.0:
                j = head(network, i, arc)
                if residues[j & MASK] < 0.0:
                    most = min(capacities[arc & MASK], residues[i & MASK], -residues[j & MASK])
                    capacities[arc & MASK] -= most
                    capacities[sister(network, arc, i, j) & MASK] += most
                    residues[i & MASK] -= most
                    residues[j & MASK] += most


@bare
def plant(forest: Forest) -> None:
    """Begins the trees anew: each residue is a root."""
    clock = forest.clock
    clock[FIRST] = clock[LAST] = -1
    clock[TIME] = clock[COUNT] = 0
    for i in range(len(forest.trees)):
        forest.following[i] = -1
        plant_node(forest, i)


@inlined
def plant_node(forest: Forest, i: Any) -> None:
    """Takes node i out of its tree, and makes it an active root if it has a residue; it must not wait in the queue."""
    forest.times[i & MASK], forest.distances[i & MASK] = 0, 1
    if forest.residues[i & MASK] == 0.0:
        forest.trees[i & MASK], forest.parents[i & MASK] = FREE, NONE
    else:
        forest.trees[i & MASK] = SOURCE if forest.residues[i & MASK] > 0.0 else SINK
        forest.parents[i & MASK] = ROOT
        activate(forest.following, forest.clock, i)


@bare
def reroot(network: Any, forest: Forest, i: Any) -> None:
    """Puts node i, whose residue has changed, where it belongs. Call :func:`adopt` after all changes."""
    capacities, residues, trees, parents, times, distances, following, orphans, clock = forest
    if residues[i & MASK] == 0.0:
        if parents[i & MASK] == ROOT:
            orphan(parents, orphans, clock, i)
        return
    tree = SOURCE if residues[i & MASK] > 0.0 else SINK
    if trees[i & MASK] != tree:
        # In its own tree the node was searched before, and what changes around it will call it again.
        activate(following, clock, i)
        for arc in range(begin(network, i), end(network, i)):
            j = head(network, i, arc)
            if trees[j & MASK] == FREE:
                continue
            up = np.int64(parents[j & MASK])
            if up >= 0 and head(network, j, up) == i:
                orphan(parents, orphans, clock, j)
            # The other tree must grow to this node again if it becomes free before it was searched.
            out = arc if tree == SOURCE else sister(network, arc, i, j)
            if trees[j & MASK] != tree and capacities[out & MASK] > 0.0:
                activate(following, clock, j)
        trees[i & MASK] = tree
    parents[i & MASK] = ROOT
    times[i & MASK] = clock[TIME]
    distances[i & MASK] = 1


@bare
def maximize_flow(network: Any, forest: Forest) -> Any:
    """Augments until the flow is maximal; returns how much was added to it."""
    capacities, residues, trees, parents, times, distances, following, orphans, clock = forest
    added, current = 0.0, np.int64(-1)
    while True:
        i = current
        if i < 0 or trees[i & MASK] == FREE:
            i = next_active(following, trees, clock)
            if i < 0:
                return added
        current = np.int64(-1)
        tree = trees[i & MASK]
        found, source, sink = np.int64(-1), i, i
        for arc in range(begin(network, i), end(network, i)):
            j = head(network, i, arc)
            back = sister(network, arc, i, j)
            if capacities[(arc if tree == SOURCE else back) & MASK] > 0.0:
                its = trees[j & MASK]
                if its == FREE:
                    trees[j & MASK] = tree
                    parents[j & MASK] = back
                    times[j & MASK], distances[j & MASK] = times[i & MASK], distances[i & MASK] + 1
                    activate(following, clock, j)
                elif its != tree:
                    found, source, sink = (np.int64(arc), i, j) if tree == SOURCE else (back, j, i)
                    break
                elif times[j & MASK] <= times[i & MASK] and distances[j & MASK] > distances[i & MASK]:
                    # A shorter way to the root, as far as is known.
                    parents[j & MASK] = back
                    times[j & MASK], distances[j & MASK] = times[i & MASK], distances[i & MASK] + 1
        if found >= 0:
            tick(network, forest)
            # The node is searched again after this; until then no one needs to add it to the queue.
            following[i & MASK] = i
            current = i
            added += _augment(network, capacities, residues, parents, orphans, clock, found, source, sink)
            adopt_all(network, capacities, trees, parents, times, distances, following, orphans, clock)
            following[i & MASK] = -1


@bare
def _augment(
    network: Any,
    capacities: Array,
    residues: Array,
    parents: Array,
    orphans: Array,
    clock: Array,
    arc: Any,
    i: Any,
    j: Any,
) -> Any:
    """Pushes flow from the root of i through the arc to j, and on to its root; returns how much."""
    back = sister(network, arc, i, j)
    most, x = capacities[arc & MASK], i
    while parents[x & MASK] != ROOT:
        up = np.int64(parents[x & MASK])
        above = head(network, x, up)
        most = min(most, capacities[sister(network, up, x, above) & MASK])
        x = above
    most, x = min(most, residues[x & MASK]), j
    while parents[x & MASK] != ROOT:
        up = np.int64(parents[x & MASK])
        most = min(most, capacities[up & MASK])
        x = head(network, x, up)
    most = min(most, -residues[x & MASK])
    capacities[arc & MASK] -= most
    capacities[back & MASK] += most
    x = i
    while parents[x & MASK] != ROOT:
        up = np.int64(parents[x & MASK])
        above = head(network, x, up)
        down = sister(network, up, x, above)
        capacities[up & MASK] += most
        capacities[down & MASK] -= most
        # What limits the flow becomes exactly 0.
        if capacities[down & MASK] == 0.0:
            orphan(parents, orphans, clock, x)
        x = above
    residues[x & MASK] -= most
    if residues[x & MASK] == 0.0:
        orphan(parents, orphans, clock, x)
    x = j
    while parents[x & MASK] != ROOT:
        up = np.int64(parents[x & MASK])
        above = head(network, x, up)
        capacities[sister(network, up, x, above) & MASK] += most
        capacities[up & MASK] -= most
        if capacities[up & MASK] == 0.0:
            orphan(parents, orphans, clock, x)
        x = above
    residues[x & MASK] += most
    if residues[x & MASK] == 0.0:
        orphan(parents, orphans, clock, x)
    return most
