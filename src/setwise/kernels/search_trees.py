"""The two search trees of a minimum cut: their nodes, the queue of active ones, and the adoption of orphans."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import bare, inlined
from setwise.kernels.networks import MASK, Arcs, Lattice, begin, end, head, sister

Array = NDArray[Any]

FREE, SOURCE, SINK = 0, 1, 2
"""Trees: that of no node, that of the positive residues, and that of the negative ones."""

ROOT, ORPHAN, NONE = -1, -2, -3
"""Parents that are no arcs: of a node with a residue of its own, of one that has lost its parent, of a free one."""

FIRST, LAST, TIME, COUNT = 0, 1, 2, 3
"""Numbers of the clock: the ends of the queue of active nodes, the time, and the number of orphans."""

LATEST = 2**31 - 8
"""Time begins again before it exceeds this."""

FAR = 2**30
"""Larger than any distance."""


class Forest(NamedTuple):
    """The state of a cut of n nodes with m arcs, those of the pads of a lattice among them.

    Attributes
    ----------
    capacities : (m,) float64, residual
    residues : (n,) float64
    trees : (n,) int8
    parents : (n,) int32, the arc to the parent, or ROOT, ORPHAN, NONE
    times, distances : (n,) int32, the distance to the root, and when it was right
    following : (n,) int32, the next active node, the node itself if it is the last one, -1 if it is not active
    orphans : (n,) int32, a stack
    clock : (4,) int64
    """

    capacities: Array
    residues: Array
    trees: Array
    parents: Array
    times: Array
    distances: Array
    following: Array
    orphans: Array
    clock: Array


def arcs_of(network: Lattice | Arcs, n: int) -> int:
    """The number of arcs of a network of n nodes, those of the pads among them."""
    return (n + 2 * network.pad) * len(network.arity) if isinstance(network, Lattice) else len(network.heads)


def new_forest(network: Lattice | Arcs, n: int) -> Forest:
    """A forest without trees or capacities, for a network of n nodes."""
    nodes, m = n + 2 * network.pad, arcs_of(network, n)
    parents, times, distances, following, orphans = (np.zeros(nodes, np.int32) for _ in range(5))
    trees, clock = np.zeros(nodes, np.int8), np.zeros(4, np.int64)
    return Forest(np.zeros(m), np.zeros(nodes), trees, parents, times, distances, following, orphans, clock)


@bare
def tick(network: Any, forest: Forest) -> None:
    """Lets time go on by one; what is known of distances before is then out of date. There must be no orphans."""
    if forest.clock[TIME] >= LATEST:
        _rewind(network, forest)
    forest.clock[TIME] += 1


@bare
def _rewind(network: Any, forest: Forest) -> None:
    """Begins with time 1, at which all distances are right.

    Times order what is known: no node knows more than its parent, or else a node could become its own ancestor.
    """
    trees, parents, times, distances = forest.trees, forest.parents, forest.times, forest.distances
    times[:] = 0
    forest.clock[TIME] = 1
    for i in range(len(trees)):
        if trees[i] != FREE:
            _distance(network, parents, times, distances, 1, i)


@bare
def adopt(network: Any, forest: Forest) -> None:
    """Gives each orphan the parent that is nearest to a root; without one it becomes free, and its children orphans."""
    capacities, _, trees, parents, times, distances, following, orphans, clock = forest
    adopt_all(network, capacities, trees, parents, times, distances, following, orphans, clock)


@bare
def adopt_all(
    network: Any,
    capacities: Array,
    trees: Array,
    parents: Array,
    times: Array,
    distances: Array,
    following: Array,
    orphans: Array,
    clock: Array,
) -> None:
    """:func:`adopt`, for the arrays of a forest: to hand over fewer of them is faster."""
    now = clock[TIME]
    while clock[COUNT] > 0:
        clock[COUNT] -= 1
        i = np.int64(orphans[clock[COUNT] & MASK])
        # An orphan may have become a root since.
        if parents[i & MASK] != ORPHAN:
            continue
        tree = trees[i & MASK]
        nearest, best = np.int64(FAR), np.int64(NONE)
        for arc in range(begin(network, i), end(network, i)):
            j = head(network, i, arc)
            if trees[j & MASK] == tree:
                down = sister(network, arc, i, j) if tree == SOURCE else arc
                if capacities[down & MASK] > 0.0:
                    d = _distance(network, parents, times, distances, now, j)
                    if d < nearest:
                        nearest, best = d, np.int64(arc)
        parents[i & MASK] = best
        if best >= 0:
            times[i & MASK] = now
            distances[i & MASK] = nearest + 1
            continue
        for arc in range(begin(network, i), end(network, i)):
            j = head(network, i, arc)
            if trees[j & MASK] == tree:
                down = sister(network, arc, i, j) if tree == SOURCE else arc
                if capacities[down & MASK] > 0.0:
                    activate(following, clock, j)
                up = np.int64(parents[j & MASK])
                if up >= 0 and head(network, j, up) == i:
                    orphan(parents, orphans, clock, j)
        trees[i & MASK] = FREE


@inlined
def _distance(network: Any, parents: Array, times: Array, distances: Array, now: Any, j: Any) -> Any:
    """The number of nodes from j to its root, FAR if an orphan lies between; the nodes on the way remember theirs."""
    d, x = np.int64(0), j
    while times[x & MASK] != now:
        up = np.int64(parents[x & MASK])
        if up == ROOT:
            times[x & MASK] = now
            distances[x & MASK] = 1
        elif up < 0:
            d = np.int64(FAR)
            break
        else:
            d += 1
            x = head(network, x, up)
    if d < FAR:
        d += distances[x & MASK]
        x, rest = j, d
        while times[x & MASK] != now:
            times[x & MASK] = now
            distances[x & MASK] = rest
            rest -= 1
            x = head(network, x, np.int64(parents[x & MASK]))
    return d


@inlined
def activate(following: Array, clock: Array, i: Any) -> None:
    """Puts a node at the end of the queue of active nodes, unless it waits there."""
    if following[i & MASK] < 0:
        if clock[LAST] >= 0:
            following[clock[LAST] & MASK] = i
        else:
            clock[FIRST] = i
        clock[LAST] = i
        following[i & MASK] = i


@inlined
def next_active(following: Array, trees: Array, clock: Array) -> Any:
    """Takes the first node of a tree from the queue of active nodes; -1 if there is none."""
    found = np.int64(-1)
    while found < 0 and clock[FIRST] >= 0:
        i = clock[FIRST]
        after = np.int64(following[i & MASK])
        following[i & MASK] = -1
        if after == i:
            clock[FIRST] = clock[LAST] = -1
        else:
            clock[FIRST] = after
        if trees[i & MASK] != FREE:
            found = i
    return found


@inlined
def orphan(parents: Array, orphans: Array, clock: Array, i: Any) -> None:
    """Makes a node an orphan, the next one to be adopted."""
    parents[i & MASK] = ORPHAN
    orphans[clock[COUNT] & MASK] = i
    clock[COUNT] += 1
