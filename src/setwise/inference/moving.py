"""Maxima over the labels of networks for the same scores again and again, with other moves of the scores of nodes."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from setwise.core.checks import Bools, Floats, Values
from setwise.core.inference import Maximizer
from setwise.core.networks import Graphs
from setwise.kernels.segments import segment_sums
from setwise.kernels.threads import map_units


class Moving(Protocol):
    """``max_y l(y) + <s, phi(y) - target> + <m, y>`` for fixed scores s and any moves m of the scores of nodes."""

    def solve(self, moves: Values) -> tuple[Bools, Values]:
        """The labels (total,) that were found, and the bound of each set, (n,)."""

    def settle(self, moves: Values, most: Values) -> tuple[Bools, Values, Values]:
        """The same, but the bounds are for other moves from -most to most, which come last, (total,).

        For these the labels are still the best, and they go as far against the labels as is known to be possible.
        """


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
        """Add the bounds of the values for any scores, by the flow of the last cut, to those of the sets."""

    def spare(self, out: Values) -> None:
        """Write what the last flow leaves of the scores of nodes, above 0 for label 1 and below 0 for label 0."""


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
        return self._labels(moves), self._bounds(moves)

    def settle(self, moves: Values, most: Values) -> tuple[Bools, Values, Values]:
        # The flow is still one without its spare scores, and each arc that the cut cuts is full, so the cut is minimal.
        labels, spare = self._labels(moves), np.empty(self.graphs.total)
        for block in self.blocks:
            block.spare(spare)
        if self.forced is not None:
            spare[self.forced] = 0.0
        moves = np.clip(moves - spare, -most, most)
        return labels, self._bounds(moves), moves

    def _labels(self, moves: Values) -> Bools:
        labels, nodes = np.empty(self.graphs.total, dtype=bool), self._moved(moves)
        map_units(lambda block: block.cut(nodes, self.edges, labels), self.blocks)
        return labels

    def _bounds(self, moves: Values) -> Values:
        bounds, nodes = self.constant.copy(), self._moved(moves)
        if self.forced is not None:
            bounds += segment_sums(np.where(self.forced & self.graphs.truth, moves, 0.0), self.graphs.offsets)
        for block in self.blocks:
            block.add_bounds(nodes, bounds)
        return bounds

    def _moved(self, moves: Values) -> Values:
        nodes = self.nodes + moves
        if self.forced is not None:
            # What forces a node must not be moved; its move is won or not, whatever the other labels are.
            nodes[self.forced] = self.nodes[self.forced]
        return nodes


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

    def settle(self, moves: Values, most: Values) -> tuple[Bools, Values, Values]:
        return *self.solve(moves), moves
