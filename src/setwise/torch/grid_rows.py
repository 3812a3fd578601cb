"""Potentials of grids on the host, as the flat scores of images of ``Graphs``."""

from functools import lru_cache
from typing import NamedTuple, final

import numpy as np
import torch

from setwise.core.checks import Bools, Floats, Ints
from setwise.core.networks import Graphs, Grids, boxes


class Columns(NamedTuple):
    """Where a row of flat scores is read: ``places`` among ``[unary | coupling]`` of a grid, and the ``ends`` of edges.

    The coupling has a number for each direction and pixel, of which those that lead beyond the border are not read.
    """

    places: Ints
    ends: Ints


@lru_cache(maxsize=64)
def columns_of(shape: tuple[int, ...], neighbors: int) -> Columns:
    """The columns of the grids of a shape."""
    pixels = np.arange(int(np.prod(shape)))
    starts = [pixels.reshape(shape)[box].ravel() for box in boxes(shape, neighbors)]
    places = [pixels, *((1 + way) * len(pixels) + own for way, own in enumerate(starts))]
    return Columns(np.concatenate(places), Grids(np.array([shape], dtype=np.int64), neighbors).edges())


@final
class GridRows:
    """N grids of one shape, as rows of flat scores: those of the pixels, then those of the edges.

    Pixels that do not count leave the grid together with their edges: they have scores of 0, and no gradient.

    Parameters
    ----------
    unary : (N, ...) floats
    coupling : (N, E, ...) floats, the weight of the edge in each of E directions, from 0 on
    codes : (N, pixels) int8: 1 for positives, 0 for negatives, and -1 for pixels that do not count

    Attributes
    ----------
    scores : (N, pixels + edges)
    counted : (N, pixels) bool
    """

    def __init__(self, unary: torch.Tensor, coupling: torch.Tensor, codes: torch.Tensor) -> None:
        self._unary, self._coupling = unary, coupling
        self.shape, self.neighbors = tuple(unary.shape[1:]), 2 * coupling.shape[1]
        self.labels = codes.numpy()
        count, self.pixels = self.labels.shape
        self._columns = columns_of(self.shape, self.neighbors)
        self.counted: Bools = self.labels >= 0
        alive = self.counted[:, self._columns.ends].all(axis=2)
        self._alive = np.concatenate([self.counted, alive], axis=1)
        given = np.concatenate([part.detach().numpy().reshape(count, -1) for part in (unary, coupling)], axis=1)
        self.scores: Floats = np.where(self._alive, given[:, self._columns.places], 0.0).astype(given.dtype, copy=False)
        self._check()

    def _check(self) -> None:
        if not np.isfinite(self.scores).all():
            raise ValueError("unary and coupling must be finite where pixels count; got an infinite number or NaN.")
        least = self.scores[:, self.pixels :].min(initial=0.0)
        if least < 0.0:
            raise ValueError(
                f"coupling must be 0 or above, as torch.nn.functional.softplus makes it; got {least:.4g}: neighbors "
                "that repel each other make no minimum cut."
            )

    def graphs(self, labels: Bools | Ints) -> Graphs:
        """Some of the grids as images, each a set, with labels (n, pixels)."""
        return Graphs.images(labels.reshape(-1, *self.shape), self.neighbors)

    def spread(self, gradient: Floats) -> tuple[torch.Tensor, torch.Tensor]:
        """Numbers (N, pixels + edges) for the scores, in the shapes of unary and coupling, with 0 elsewhere."""
        count, pixels = len(self.scores), self.pixels
        out = np.zeros((count, pixels * (1 + self._coupling.shape[1])), dtype=gradient.dtype)
        out[:, self._columns.places] = np.where(self._alive, gradient, 0.0)
        first, second = (torch.from_numpy(part) for part in (out[:, :pixels], out[:, pixels:]))
        unary = first.reshape(self._unary.shape).to(self._unary.dtype)
        return unary.contiguous(), second.reshape(self._coupling.shape).to(self._coupling.dtype).contiguous()
