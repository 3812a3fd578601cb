"""Maxima over the labels of networks for the same scores again and again, with other moves of the scores of nodes."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from setwise.core.arrays import Bools, Floats, Values
from setwise.core.graphs import Graphs
from setwise.core.inference import Maximizer
from setwise.kernels.segments import segment_sums
from setwise.kernels.threads import map_units


class Moving(Protocol):
    """``max_y l(y) + <s, phi(y) - target> + <m, y>`` for fixed scores s and any moves m of the scores of nodes."""

    def solve(self, moves: Values) -> tuple[Bools, Values]:
        """The labels (total,) that were found, and the bound of each set, (n,)."""


class MovableMaximizer(Maximizer):
    """A maximizer with a short way for moves: what depends on the scores alone is computed once."""

    @abstractmethod
    def moving(self, scores: Floats) -> Moving:
        """The maximum for these scores, ready for moves."""


class Block(Protocol):
    """Graphs that are cut together."""

    def cut(self, nodes: Values, edges: Values, labels: Bools) -> None:
        """Write the labels of a minimum cut."""

    def add_bounds(self, nodes: Values, bounds: Values) -> None:
        """Add the bounds of the last cut to those of the sets."""


@final
@dataclass(frozen=True, eq=False)
class MovingCut:
    """The maximum by minimum cuts, each of which begins with the last one.

    ``nodes`` (total,) and ``edges`` (m,) are the scores with the costs of mistakes. ``forced`` (total,) says which
    nodes have no choice, None that all have one, and ``constant`` (n,) is what the bounds of the cuts lack.
    """

    graphs: Graphs
    blocks: Sequence[Block]
    nodes: Values
    edges: Values
    forced: Bools | None
    constant: Values

    def solve(self, moves: Values) -> tuple[Bools, Values]:
        labels, bounds = np.empty(self.graphs.total, dtype=bool), self.constant.copy()
        nodes = self.nodes + moves
        if self.forced is not None:
            # What forces a node must not be moved; its move is won or not, whatever the other labels are.
            nodes[self.forced] = self.nodes[self.forced]
            bounds += segment_sums(np.where(self.forced & self.graphs.truth, moves, 0.0), self.graphs.offsets)
        map_units(lambda block: block.cut(nodes, self.edges, labels), self.blocks)
        for block in self.blocks:
            block.add_bounds(nodes, bounds)
        return labels, bounds


@final
@dataclass(frozen=True, eq=False)
class MovingScores:
    """The maximum by any method of inference, from the start for each move."""

    maximizer: Maximizer
    graphs: Graphs
    scores: Values

    def solve(self, moves: Values) -> tuple[Bools, Values]:
        scores = self.scores.copy()
        scores[self.graphs.node_places] += moves
        found = self.maximizer.solve(scores, np.zeros(len(self.graphs)))
        # Solutions count from the target, which takes its share of the moves along.
        return found.labels, found.bounds + segment_sums(moves * self.graphs.truth, self.graphs.offsets)
