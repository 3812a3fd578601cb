"""Graphs of cuts: lattices of images, whose edges have one weight for each direction, and other graphs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from setwise.core.checks import Ints, Values
from setwise.core.networks import Graphs

STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""The directions of the edges of an image, in rows and columns, ordered as in :class:`setwise.core.networks.Grids`."""


class Image(NamedTuple):
    """The edges of an image that have these directions, which are among ``STEPS``."""

    height: int
    width: int
    steps: tuple[tuple[int, int], ...]

    @property
    def edges(self) -> Ints:
        """The two pixels of each edge, (m, 2), direction by direction; pixels count row by row."""
        height, width, steps = self
        numbers = np.arange(height * width).reshape(height, width)
        edges = [np.zeros((0, 2), np.int64)]
        for down, right in steps:
            left = slice(max(-right, 0), width - max(right, 0))
            there = slice(max(right, 0), width - max(-right, 0))
            edges.append(np.stack([numbers[: height - down, left].ravel(), numbers[down:, there].ravel()], axis=1))
        return np.concatenate(edges)


def graph_of(total: int, edges: Ints) -> Graphs:
    """One set of ``total`` nodes with these edges, whose labels say nothing."""
    return Graphs(np.zeros(total, dtype=bool), np.array([0, total]), edges)


def lattice_of(images: Sequence[Image], factors: Values) -> tuple[Graphs, Values]:
    """The lattice of images of one height and width, and the weights of its edges.

    The weight of an edge is the sum of the factors of the images that have its direction.
    """
    height, width, _ = images[0]
    sums = dict.fromkeys(STEPS, 0.0)
    for factor, one in zip(factors, images, strict=True):
        for step in one.steps:
            sums[step] += float(factor)
    straight = {step for one in images for step in one.steps} <= set(STEPS[:2])
    neighbors = 4 if straight else 8
    weights = [
        np.full((height - down) * max(width - abs(right), 0), sums[down, right])
        for down, right in STEPS[: neighbors // 2]
    ]
    return Graphs.images([np.zeros((height, width), dtype=bool)], neighbors), np.concatenate(weights)
