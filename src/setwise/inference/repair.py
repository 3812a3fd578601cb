"""Candidates are mended: boxes get a number of positives that is allowed, and labels along paths climb one by one."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values
from setwise.core.networks import Graphs
from setwise.core.structure import Structure
from setwise.core.terms import PathOrders, RegionCounts
from setwise.kernels.networks import Arcs, arcs, climb_paths, flip_gains, move_count


@final
@dataclass(frozen=True, eq=False)
class Repair:
    """The network of one set with given scores, in which labels of boxes and of paths change one by one.

    ``boxes`` are the members of the boxes that forbid some numbers, and the numbers that they allow.
    """

    boxes: list[tuple[Ints, Ints]]
    paths: list[PathOrders]
    scores: Values
    edges: Ints
    pairs: Values
    network: Arcs
    weights: Values

    @classmethod
    def of(cls, structure: Structure, scores: Values) -> "Repair":
        batch = structure.batch
        assert isinstance(batch, Sets | Graphs)
        edges = batch.edges if isinstance(batch, Graphs) else np.zeros((0, 2), np.int64)
        pairs = scores[batch.edge_places] if isinstance(batch, Graphs) else np.zeros(0)
        assert batch.unary is not None
        network, places = arcs(edges, batch.total)
        weights = np.zeros(2 * len(edges))
        weights[places] = pairs[:, None]
        boxes, paths = [], [term for term in structure.terms if isinstance(term, PathOrders)]
        for term in (term for term in structure.terms if isinstance(term, RegionCounts)):
            for b, table in enumerate(np.split(term.tables, term.table_starts[1:-1])):
                allowed = np.flatnonzero(table > -np.inf)
                if 0 < len(allowed) < len(table):
                    boxes.append((term.members[term.starts[b] : term.starts[b + 1]], allowed))
        return cls(boxes, paths, scores[batch.unary[:, 1]].astype(np.float64), edges, pairs, network, weights)

    def candidates(self, labels: Bools) -> list[Bools]:
        """The labeling, moved to the next allowed numbers below and above if boxes forbid some, and climbed."""
        found = [self._moved(labels, up) for up in (False, True)] if self.boxes else [labels]
        return [*found, *(self._climbed(one, term) for one in found for term in self.paths)]

    def _climbed(self, labels: Bools, term: PathOrders) -> Bools:
        out = labels.copy()
        gains = flip_gains(self.scores, self.edges, self.pairs, out)
        network, costs = self.network, term.costs
        climb_paths(gains, network.first, network.heads, self.weights, term.members, term.starts, costs, out)
        return out

    def _moved(self, labels: Bools, up: bool) -> Bools:
        out = labels.copy()
        gains = flip_gains(self.scores, self.edges, self.pairs, out)
        for members, allowed in self.boxes:
            count = int(out[members].sum())
            at = int(np.searchsorted(allowed, count, side="left" if up else "right")) - (not up)
            target = int(allowed[min(max(at, 0), len(allowed) - 1)])
            move_count(gains, self.network.first, self.network.heads, self.weights, members, target, out)
        return out
