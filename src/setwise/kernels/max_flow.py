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

from typing import Any, NamedTuple

import numpy as np

from setwise.kernels.jit import Array, bare, inlined
from setwise.kernels.networks import MASK, Arcs, Lattice, begin, end, head, sister

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


class SearchForest(NamedTuple):
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


def new_forest(network: Lattice | Arcs, n: int) -> SearchForest:
    """A forest without trees or capacities, for a network of n nodes."""
    nodes, m = n + 2 * network.pad, arcs_of(network, n)
    parents, times, distances, following, orphans = (np.zeros(nodes, np.int32) for _ in range(5))
    trees, clock = np.zeros(nodes, np.int8), np.zeros(4, np.int64)
    return SearchForest(np.zeros(m), np.zeros(nodes), trees, parents, times, distances, following, orphans, clock)


@bare
def tick(network: Any, forest: SearchForest) -> None:
    """Lets time go on by one; what is known of distances before is then out of date. There must be no orphans."""
    if forest.clock[TIME] >= LATEST:
        _rewind(network, forest)
    forest.clock[TIME] += 1


@bare
def _rewind(network: Any, forest: SearchForest) -> None:
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
def adopt(network: Any, forest: SearchForest) -> None:
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


@bare
def push_across(network: Any, forest: SearchForest) -> None:
    """Pushes flow from each positive residue to the negative ones next to it, O(m).

    Most paths of a new cut are as short as this, and need no trees.
    """
    for i in range(len(forest.residues)):
        push_from(network, forest, i)


@inlined
def push_from(network: Any, forest: SearchForest, i: Any) -> None:
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
def plant(forest: SearchForest) -> None:
    """Begins the trees anew: each residue is a root."""
    clock = forest.clock
    clock[FIRST] = clock[LAST] = -1
    clock[TIME] = clock[COUNT] = 0
    for i in range(len(forest.trees)):
        forest.following[i] = -1
        plant_node(forest, i)


@inlined
def plant_node(forest: SearchForest, i: Any) -> None:
    """Takes node i out of its tree, and makes it an active root if it has a residue; it must not wait in the queue."""
    forest.times[i & MASK], forest.distances[i & MASK] = 0, 1
    if forest.residues[i & MASK] == 0.0:
        forest.trees[i & MASK], forest.parents[i & MASK] = FREE, NONE
    else:
        forest.trees[i & MASK] = SOURCE if forest.residues[i & MASK] > 0.0 else SINK
        forest.parents[i & MASK] = ROOT
        activate(forest.following, forest.clock, i)


@bare
def reroot(network: Any, forest: SearchForest, i: Any) -> None:
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
def maximize_flow(network: Any, forest: SearchForest) -> Any:
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
    _push_to_root(network, capacities, residues, parents, orphans, clock, i, most, True)
    _push_to_root(network, capacities, residues, parents, orphans, clock, j, most, False)
    return most


@inlined
def _push_to_root(
    network: Any, capacities: Array, residues: Array, parents: Array, orphans: Array, clock: Array, x: Any, most: Any,
    source: bool,
) -> None:  # fmt: skip
    """Takes the flow from the root of x down to it, or from x up to the root of the negative residues."""
    while parents[x & MASK] != ROOT:
        up = np.int64(parents[x & MASK])
        above = head(network, x, up)
        down = sister(network, up, x, above)
        along, against = (down, up) if source else (up, down)
        capacities[against & MASK] += most
        capacities[along & MASK] -= most
        # What limits the flow becomes exactly 0.
        if capacities[along & MASK] == 0.0:
            orphan(parents, orphans, clock, x)
        x = above
    residues[x & MASK] -= most if source else -most
    if residues[x & MASK] == 0.0:
        orphan(parents, orphans, clock, x)
