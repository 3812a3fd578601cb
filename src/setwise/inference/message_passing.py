"""What the searches by messages share: messages and labels are kept between calls, and parts give theirs back."""

from abc import abstractmethod

import numpy as np

from setwise.core.batch import segments
from setwise.core.checks import Floats, Ints, Values
from setwise.core.inference import Inference, Maximizer, Solutions
from setwise.core.structure import Structure
from setwise.inference.pairwise import Pairwise


class MessagePassing(Maximizer):
    """A search that begins with the messages (m, 2, k) and the labels (total,) where the last one ended."""

    def __init__(self, method: Inference, structure: Structure) -> None:
        self.method, self.structure, self.slack = method, structure, False
        self.problem = Pairwise.of(structure)
        self.messages = np.zeros((len(self.problem.links.edges), 2, structure.batch.n_labels))
        self.found = self.problem.first_labels()
        self._owner: tuple[MessagePassing, slice | Ints, slice | Ints] | None = None

    @abstractmethod
    def search(self, nodes: Values, pairs: Values, tol: Values, bounds: Values) -> None:
        """Improve ``messages`` and ``found``, and write the bounds (n,)."""

    def take(self, parts: Ints) -> "Maximizer":
        chosen = type(self)(self.method, self.structure.take(parts))
        batch = self.problem.batch
        nodes, edges = batch.decisions(parts), segments(parts, batch.edge_offsets)
        chosen.messages[:], chosen.found[:] = self.messages[edges], self.found[nodes]
        chosen._owner = self, nodes, edges
        return chosen

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        nodes, pairs = self.problem.tables(scores)
        bounds, batch = np.empty(len(self.problem.batch)), self.problem.batch
        self.search(nodes, pairs, tol, bounds)
        if self._owner is not None:
            whole, at, edges = self._owner
            whole.found[at], whole.messages[edges] = self.found, self.messages
        labels = self.problem.labels(self.found.copy())
        return self.solved(scores, labels, bounds - batch.at_target(scores))
