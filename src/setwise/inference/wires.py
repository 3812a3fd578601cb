"""How the nodes and edges of graphs become networks of cuts, in blocks that no edge leaves."""

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import final

import numpy as np

from setwise.core.batch import Places
from setwise.core.checks import Ints, Values
from setwise.core.networks import Graphs, Grids, boxes
from setwise.kernels.networks import Arcs, Lattice, arcs, lattice


class Wires(ABC):
    """The network of the nodes ``first:last``, which no edge leaves.

    Attributes
    ----------
    first, last : the nodes
    edges : the positions of their edges among those of the batch
    network : the layout of the arcs
    """

    first: int
    last: int
    edges: Places
    network: Arcs | Lattice

    @abstractmethod
    def place(self, weights: Values, capacities: Values) -> None:
        """Write the weight of each edge as the capacity of its two arcs."""


def wirings(graphs: Graphs, size: int) -> list[Wires]:
    """The networks of blocks of about ``size`` nodes: of lattices where the graphs are grids, else of lists of arcs."""
    # Sequences gain nothing from a lattice, which would be compiled for them alone.
    if graphs.grids is not None and graphs.grids.shapes.shape[1] > 1:
        return [_Stack(graphs.grids, first, last) for first, last in graphs.grids.runs(size)]
    ends = block_ends(graphs.edges, graphs.total, size)
    return [_Listed(graphs.edges, first, last) for first, last in pairwise(ends)]


@final
class _Listed(Wires):
    def __init__(self, edges: Ints, first: int, last: int) -> None:
        self.first, self.last = first, last
        self.edges = np.flatnonzero((edges[:, 0] >= first) & (edges[:, 0] < last))
        self.network, self._places = arcs(edges[self.edges] - first, last - first)

    def place(self, weights: Values, capacities: Values) -> None:
        capacities[self._places] = weights[:, None]


@final
class _Stack(Wires):
    """Grids of one shape on top of each other: no capacities join them, as none leave their sides."""

    def __init__(self, grids: Grids, first: int, last: int) -> None:
        self.first, self.last = int(grids.offsets[first]), int(grids.offsets[last])
        self.edges = slice(int(grids.edge_offsets[first]), int(grids.edge_offsets[last]))
        self._count, self._shape = last - first, tuple(grids.shapes[first].tolist())
        self._boxes = boxes(self._shape, grids.neighbors)
        self.network: Lattice = lattice(self._shape, grids.neighbors)

    def place(self, weights: Values, capacities: Values) -> None:
        rows, shifts, at = weights.reshape(self._count, -1), self.network.shifts, 0
        table = capacities.reshape(-1, len(shifts))
        n, pad = self.last - self.first, self.network.pad
        for k, box in enumerate(self._boxes):
            for way, shift in ((2 * k, 0), (2 * k + 1, int(shifts[2 * k]))):
                # The arc back begins where the arc there ends.
                column = table[pad + shift : pad + shift + n, way].reshape(self._count, *self._shape)
                inside = column[:, *box]
                inside[...] = rows[:, at : at + inside[0].size].reshape(inside.shape)
            at += inside[0].size


def block_ends(edges: Ints, total: int, size: int) -> list[int]:
    """Where blocks of ``size`` nodes or more end, from 0 to ``total``, so that no edge joins two of them."""
    crossing = np.zeros(total + 1, dtype=np.int64)
    np.add.at(crossing, edges.min(axis=1) + 1, 1)
    np.add.at(crossing, edges.max(axis=1) + 1, -1)
    free = np.flatnonzero(np.cumsum(crossing) == 0)
    ends = [0]
    while ends[-1] < total:
        # The last end is free, for no edge leaves all nodes; a rest that is small joins the block before it.
        at = np.searchsorted(free, ends[-1] + size)
        ends.append(int(free[at]) if at < len(free) and total - free[at] >= size else total)
    return ends
