"""The arcs of networks, as a lattice whose neighbors are computed or as lists, and the scores of their labelings.

Nodes win their score with label 1, edges where both ends have the same label. Labels may be changed one by one, those
first that lose least score.

Both layouts number the arcs of a node consecutively, and each arc has a sister in the other direction. The functions
``begin``, ``end``, ``head`` and ``sister`` read either layout; which one it is, is known when a kernel is compiled.
"""

from typing import Any, NamedTuple

import numpy as np

from setwise.kernels.jit import Array, before_compiling, kernel
from setwise.kernels.segments import require_length

MASK = 0xFFFFFFFF
"""Indices are never negative. What is masked with it is known to be so, and needs no test for counting from the end."""

SHIFTS = {(1, 2): ((1,),), (2, 4): ((0, 1), (1, 0)), (2, 8): ((0, 1), (1, 0), (1, 1), (1, -1))}

SHIFTS |= {(3, 6): ((0, 0, 1), (0, 1, 0), (1, 0, 0))}
"""The directions of lattices by their number of axes and of neighbors; each stands for the opposite one too."""


class Lattice(NamedTuple):
    """Nodes in a row; arc k of node i is ``K i + k`` and leads ``shifts[k]`` further on, and direction ``k ^ 1`` back.

    Attributes
    ----------
    shifts : (K,) int64
    pad : the number of nodes without capacities before the first real one, and after the last one
    arity : K zeros: the length of a tuple is known to the compiler, that of an array is not
    """

    shifts: Array
    pad: int
    arity: tuple[int, ...]


class Arcs(NamedTuple):
    """Lists of arcs; those of node i are ``first[i]:first[i + 1]``.

    Attributes
    ----------
    first : (n + 1,) int32
    heads, sisters : (m,) int32, the node to which each arc leads, and the arc that leads back
    pad : 0
    """

    first: Array
    heads: Array
    sisters: Array
    pad: int


def lattice(shape: tuple[int, ...], neighbors: int) -> Lattice:
    """The layout of a lattice of this shape, whose nodes have 4 or 8 neighbors in two axes and 6 in three."""
    strides = np.cumprod((1, *shape[:0:-1]))[::-1]
    steps = [int(np.dot(strides, direction)) for direction in SHIFTS[len(shape), neighbors]]
    shifts = np.array([sign * step for step in steps for sign in (1, -1)], dtype=np.int64)
    return Lattice(shifts, int(shifts.max()), (0,) * len(shifts))


def arcs(ends: Array, n: int) -> tuple[Arcs, Array]:
    """The arcs of the edges ``ends`` (m, 2) between n nodes, and the two arcs of each edge, (m, 2) int32.

    The first of the two leads from ``ends[e, 0]`` to ``ends[e, 1]``, the second one back. O(n + m).
    """
    if len(ends) and not 0 <= ends.min() <= ends.max() < n:
        raise IndexError(f"the ends of edges must be in 0..{n - 1}; got {ends.min()} to {ends.max()}")
    first, places = np.zeros(n + 1, np.int32), np.zeros((len(ends), 2), np.int32)
    heads, sisters = np.zeros((2, 2 * len(ends)), np.int32)
    _list_arcs(ends, first, heads, sisters, places)
    return Arcs(first, heads, sisters, 0), places


@kernel
def _list_arcs(ends: Array, first: Array, heads: Array, sisters: Array, places: Array) -> None:
    """A counting sort of the arcs by the node that they leave."""
    for e in range(len(ends)):
        first[ends[e, 0] + 1] += 1
        first[ends[e, 1] + 1] += 1
    for i in range(len(first) - 1):
        first[i + 1] += first[i]
    for e in range(len(ends)):
        for side in range(2):
            i = ends[e, side]
            heads[first[i]] = ends[e, 1 - side]
            places[e, side] = first[i]
            first[i] += 1
        sisters[places[e, 0]], sisters[places[e, 1]] = places[e, 1], places[e, 0]
    # Each entry has moved to where the next one began.
    for i in range(len(first) - 1, 0, -1):
        first[i] = first[i - 1]
    first[0] = 0


def begin(network: Any, i: Any) -> Any:
    """The first arc of node i."""
    return (_lattice_begin if isinstance(network, Lattice) else _arcs_begin)(network, i)


def end(network: Any, i: Any) -> Any:
    """One more than the last arc of node i."""
    return begin(network, i + 1)


def head(network: Any, i: Any, arc: Any) -> Any:
    """The node to which an arc of node i leads."""
    return (_lattice_head if isinstance(network, Lattice) else _arcs_head)(network, i, arc)


def sister(network: Any, arc: Any, i: Any, j: Any) -> Any:
    """The arc from j to i that belongs to the arc from i to j."""
    return (_lattice_sister if isinstance(network, Lattice) else _arcs_sister)(network, arc, i, j)


def _lattice_begin(network: Any, i: Any) -> Any:
    return i * len(network.arity)


def _arcs_begin(network: Any, i: Any) -> Any:
    return np.int64(network.first[i & MASK])


def _lattice_head(network: Any, i: Any, arc: Any) -> Any:
    return i + network.shifts[(arc - i * len(network.arity)) & MASK]


def _arcs_head(network: Any, i: Any, arc: Any) -> Any:
    return np.int64(network.heads[arc & MASK])


def _lattice_sister(network: Any, arc: Any, i: Any, j: Any) -> Any:
    return j * len(network.arity) + ((arc - i * len(network.arity)) ^ 1)


def _arcs_sister(network: Any, arc: Any, i: Any, j: Any) -> Any:
    return np.int64(network.sisters[arc & MASK])


@before_compiling
def _choose_by_type() -> None:
    """Inside kernels the type of the layout makes the same choice."""
    from numba.extending import overload, register_jitable

    register_jitable(end)

    @overload(begin, strict=False)
    def _begin(network: Any, i: Any) -> Any:
        return _lattice_begin if network.instance_class is Lattice else _arcs_begin

    @overload(head, strict=False)
    def _head(network: Any, i: Any, arc: Any) -> Any:
        return _lattice_head if network.instance_class is Lattice else _arcs_head

    @overload(sister, strict=False)
    def _sister(network: Any, arc: Any, i: Any, j: Any) -> Any:
        return _lattice_sister if network.instance_class is Lattice else _arcs_sister


@kernel
def two_label_code(positive: Array, edges: Array, offsets: Array, edge_offsets: Array) -> Array:
    """Returns for each set the nodes that are ``positive``, then the edges whose ends are equal, float64; O(n + m)."""
    require_length(positive, offsets)
    require_length(edges, edge_offsets)
    out, at = np.empty(offsets[-1] + edge_offsets[-1], np.float64), 0
    for s in range(len(offsets) - 1):
        for i in range(offsets[s], offsets[s + 1]):
            out[at] = positive[i]
            at += 1
        for e in range(edge_offsets[s], edge_offsets[s + 1]):
            out[at] = positive[edges[e, 0]] == positive[edges[e, 1]]
            at += 1
    return out


@kernel
def network_won(scores: Array, labels: Array, truth: Array, edges: Array, offsets: Array, edge_offsets: Array) -> Array:
    """The score of the ``labels`` (total,) of each set less that of the ``truth`` (total,), (n,); O(total + m).

    Both are bool. The scores of set i begin at ``offsets[i] + edge_offsets[i]``, those of its nodes first.
    """
    require_length(labels, offsets)
    require_length(truth, offsets)
    require_length(edges, edge_offsets)
    require_length(scores, offsets + edge_offsets)
    out = np.zeros(len(offsets) - 1)
    for k in range(len(out)):
        won = 0.0
        shift = edge_offsets[k]
        for i in range(offsets[k], offsets[k + 1]):
            # Labels are mixed, so a product is faster than a branch.
            won += scores[i + shift] * (np.int64(labels[i]) - np.int64(truth[i]))
        shift = offsets[k + 1]
        for e in range(edge_offsets[k], edge_offsets[k + 1]):
            a, b = edges[e, 0], edges[e, 1]
            won += scores[e + shift] * (np.int64(labels[a] == labels[b]) - np.int64(truth[a] == truth[b]))
        out[k] = won
    return out


@kernel
def flip_gains(scores: Array, ends: Array, pairs: Array, labels: Array) -> Array:
    """What the score gains if a node alone changes its label, (n,): ``scores`` (n,) of label 1, ``pairs`` of edges."""
    out = np.empty(len(scores))
    for i in range(len(scores)):
        out[i] = -scores[i] if labels[i] else scores[i]
    for e in range(len(ends)):
        a, b = ends[e, 0], ends[e, 1]
        step = -pairs[e] if labels[a] == labels[b] else pairs[e]
        out[a] += step
        out[b] += step
    return out


@kernel
def move_count(
    gains: Array, first: Array, heads: Array, weights: Array, members: Array, target: int, labels: Array
) -> None:
    """Changes ``labels`` until ``target`` of the ``members`` have label 1, each time the one of greatest gain.

    After that pairs of a 1 and a 0 change places as long as that gains score. ``gains`` (n,) are those of single
    changes, and are kept up to date; the arcs of node i are ``first[i]:first[i+1]`` with their ``heads`` and the
    scores ``weights`` of their edges. O(len(members)) for each change.
    """
    require_length(heads, first)
    require_length(weights, first)
    count = 0
    for i in members:
        count += labels[i]
    swaps = 0
    while True:
        if count == target:
            # The best node to leave and the best one to come, if they are worth it together.
            leaving, coming = np.int64(-1), np.int64(-1)
            for i in members:
                if labels[i] and (leaving < 0 or gains[i] > gains[leaving]):
                    leaving = i
                if not labels[i] and (coming < 0 or gains[i] > gains[coming]):
                    coming = i
            if leaving < 0 or coming < 0 or swaps > len(members):
                return
            together = gains[leaving] + gains[coming]
            for k in range(first[leaving], first[leaving + 1]):
                if heads[k] == coming:
                    together -= 2.0 * weights[k]
            # A gain that is rounding alone could let the same nodes change places again and again.
            if not together > 1e-12 * (abs(gains[leaving]) + abs(gains[coming])):
                return
            swaps += 1
            _flip(leaving, gains, first, heads, weights, labels)
            _flip(coming, gains, first, heads, weights, labels)
            continue
        up, best = count < target, np.int64(-1)
        for i in members:
            if labels[i] != up and (best < 0 or gains[i] > gains[best]):
                best = i
        if best < 0:
            return
        _flip(best, gains, first, heads, weights, labels)
        count += 1 if up else -1


@kernel
def _flip(i: Any, gains: Array, first: Array, heads: Array, weights: Array, labels: Array) -> None:
    """Changes the label of node i, and the gains of its neighbors."""
    labels[i] = not labels[i]
    gains[i] = -gains[i]
    for k in range(first[i], first[i + 1]):
        j = heads[k]
        # A neighbor that agrees now loses the edge if it changes, and one that does not wins it.
        gains[j] += -2.0 * weights[k] if labels[i] == labels[j] else 2.0 * weights[k]


@kernel
def climb_paths(
    gains: Array, first: Array, heads: Array, weights: Array, members: Array, starts: Array, costs: Array, labels: Array
) -> None:
    """Changes single ``labels`` along paths as long as score and cost of broken paths gain together, in rounds.

    ``gains``, ``first``, ``heads`` and ``weights`` are as for :func:`move_count`, and the paths as for
    :class:`setwise.core.terms.PathOrders`. A round costs O(entries), and there are at most 20.
    """
    require_length(members, starts)
    require_length(heads, first)
    require_length(weights, first)
    owners, rises = np.empty(len(members), np.int64), np.zeros(len(costs), np.int64)
    for k in range(len(costs)):
        for e in range(starts[k], starts[k + 1]):
            owners[e] = k
            rises[k] += e > starts[k] and labels[members[e]] and not labels[members[e - 1]]
    order = np.argsort(members, kind="mergesort")
    for _ in range(20):
        before, changed = 0, False
        while before < len(order):
            i, after = members[order[before]], before
            won = gains[i]
            while after < len(order) and members[order[after]] == i:
                e = order[after]
                k = owners[e]
                now = rises[k] + _rises_won(members, starts, labels, e, k)
                won += costs[k] * ((now > 0) - (rises[k] > 0))
                after += 1
            # As above, a gain that is rounding alone is none.
            if won > 1e-12 * (1.0 + abs(gains[i])):
                for at in range(before, after):
                    e = order[at]
                    rises[owners[e]] += _rises_won(members, starts, labels, e, owners[e])
                _flip(i, gains, first, heads, weights, labels)
                changed = True
            before = after
        if not changed:
            return


@kernel
def _rises_won(members: Array, starts: Array, labels: Array, e: Any, k: Any) -> int:
    """How many more places of path k have a 1 after a 0 if entry e of it changes its label."""
    own, out = labels[members[e]], 0
    if e > starts[k] and not labels[members[e - 1]]:
        out += -1 if own else 1
    if e + 1 < starts[k + 1] and labels[members[e + 1]]:
        out += 1 if own else -1
    return out
