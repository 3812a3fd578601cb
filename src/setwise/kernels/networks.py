"""Two layouts of the arcs of a network: a lattice, whose neighbors are computed, and lists of arcs.

Both number the arcs of a node consecutively, and each arc has a sister in the other direction. The functions ``begin``,
``end``, ``head`` and ``sister`` read either layout; which one it is, is known when a kernel is compiled.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import before_compiling, kernel

Array = NDArray[Any]

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
