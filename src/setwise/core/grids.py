"""Grids of nodes, in which each node is joined with its neighbors: images, volumes, sequences."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from setwise.core.arrays import Ints
from setwise.core.cached import cached_property
from setwise.core.checks import as_array, shown
from setwise.kernels.networks import SHIFTS


@final
@dataclass(frozen=True, eq=False)
class Grids:
    """Some grids, whose nodes follow each other row by row, as in flat arrays.

    The edges are listed grid by grid. In a grid those along the last axis come first, then those along the axes before
    it, then the two diagonals (1, 1) and (1, -1); each of these by its first end, row by row.

    Attributes
    ----------
    shapes : (g, d) int64, the lengths of the axes of each grid
    neighbors : the number of neighbors of a node inside: 2 for d = 1, 4 or 8 for d = 2, 6 for d = 3
    """

    shapes: Ints
    neighbors: int

    @cached_property
    def offsets(self) -> Ints:
        """Grid ``i`` owns the nodes ``offsets[i]:offsets[i+1]``, (g+1,)."""
        return np.concatenate([[0], np.cumsum(self.shapes.prod(axis=1))])

    @cached_property
    def edge_offsets(self) -> Ints:
        """Grid ``i`` owns the edges ``edge_offsets[i]:edge_offsets[i+1]``, (g+1,)."""
        counts = [(self.shapes - np.abs(way)).prod(axis=1) for way in SHIFTS[self.shapes.shape[1], self.neighbors]]
        return np.concatenate([[0], np.cumsum(np.sum(counts, axis=0))])

    def edges(self) -> Ints:
        """The two ends of each edge, (m, 2) int64."""
        out = np.empty((int(self.edge_offsets[-1]), 2), dtype=np.int64)
        listed: dict[tuple[int, ...], int] = {}
        for i, shape in enumerate(map(tuple, self.shapes.tolist())):
            own = out[self.edge_offsets[i] : self.edge_offsets[i + 1]]
            same = listed.setdefault(shape, i)
            if same == i:
                _edges(shape, self.neighbors, own)
                own += self.offsets[i]
            else:
                # Images of one shape differ by where they begin.
                other = out[self.edge_offsets[same] : self.edge_offsets[same + 1]]
                np.add(other, self.offsets[i] - self.offsets[same], out=own)
        return out

    def runs(self, size: int) -> list[tuple[int, int]]:
        """Ranges of grids of one shape that follow each other, each of ``size`` nodes or little more at most."""
        new = np.flatnonzero((np.diff(self.shapes, axis=0) != 0).any(axis=1)) + 1
        out = []
        for first, last in zip([0, *new.tolist()], [*new.tolist(), len(self.shapes)], strict=True):
            step = max(1, -(-size // int(self.shapes[first].prod())))
            out += [(at, min(at + step, last)) for at in range(first, last, step)]
        return out


def as_grids(arrays: Any, neighbors: Any, name: str) -> tuple[list[Any], Grids]:
    """Check arrays of one number of axes, one for each grid, and return them in a list with their grids."""
    many = isinstance(arrays, list | tuple) or (isinstance(arrays, np.ndarray) and arrays.ndim > 1)
    if not many or not len(arrays):
        raise ValueError(f"{name} must be a list of arrays, one for each image; got {shown(arrays)}.")
    found = [as_array(one, name) for one in arrays]
    axes = found[0].ndim
    for one in found:
        if one.ndim != axes or one.size == 0:
            raise ValueError(f"{name} must be arrays of the same number of axes, none empty; got shape {one.shape}.")
    known = [n for d, n in SHIFTS if d == axes]
    if not known:
        raise ValueError(f"{name} must be arrays of one, two or three axes; got shape {found[0].shape}.")
    if isinstance(neighbors, bool) or not isinstance(neighbors, int | np.integer) or neighbors not in known:
        words = " or ".join(map(str, known))
        raise ValueError(f"neighbors must be {words} for arrays of {axes} axes; got {shown(neighbors)}.")
    return found, Grids(np.array([one.shape for one in found], dtype=np.int64), int(neighbors))


def boxes(shape: tuple[int, ...], neighbors: int) -> list[tuple[slice, ...]]:
    """For each direction of the edges of a grid the nodes from which one leads that way, as slices of its axes."""
    sides = {0: slice(None), 1: slice(None, -1), -1: slice(1, None)}
    return [tuple(sides[step] for step in way) for way in SHIFTS[len(shape), neighbors]]


def _edges(shape: tuple[int, ...], neighbors: int, out: Ints) -> None:
    """Write the edges of one grid, (m, 2)."""
    at, end = np.arange(int(np.prod(shape))).reshape(shape), 0
    strides = np.cumprod((1, *shape[:0:-1]))[::-1]
    for way, box in zip(SHIFTS[len(shape), neighbors], boxes(shape, neighbors), strict=True):
        starts = at[box].ravel()
        begin, end = end, end + len(starts)
        out[begin:end, 0] = starts
        np.add(starts, int(np.dot(strides, way)), out=out[begin:end, 1])
