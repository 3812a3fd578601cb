"""Alpha-expansion: labelings of networks with k labels, improved by cuts that let any nodes change to one label."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Floats, Ints, Values, as_count, as_kind
from setwise.core.inference import Inference, Maximizer, Solutions
from setwise.core.networks import ClassGraphs
from setwise.core.structure import Structure
from setwise.inference.by_components import each_component
from setwise.inference.pairwise import Pairwise, unfit_for_networks
from setwise.inference.tree_reweighted import TreeReweighted
from setwise.inference.wires import block_ends
from setwise.kernels.cuts import accept, cut, propose, read_labels
from setwise.kernels.max_flow import new_forest
from setwise.kernels.networks import arcs
from setwise.kernels.segments import segment_sums
from setwise.kernels.threads import map_units

BLOCK = 20_000
"""Graphs are cut together until they have so many nodes; threads share these blocks."""


@final
@dataclass(frozen=True)
class AlphaExpansion(Inference):
    """``max_y l(y) + sum_i s_i(y_i) + sum_e s_e(y_a, y_b)`` on ``ClassGraphs``, for modular losses l, by a heuristic.

    Each label in turn is offered to all nodes, and a minimum cut finds the best set of nodes that take it, until no
    label wins anything (Boykov, Veksler and Zabih 2001). Where edges won by equal labels have scores of 0 or above, the
    labeling loses at most twice what the best one loses on edges: with ``E(y) = sum_i max s_i - s_i(y_i) + sum_e s_e
    [y_a != y_b]``, ``E(y) <= 2 min E``. For two labels it is then the best one. Tables are moved by exact cuts where
    ``t(u, v) + t(w, w) >= t(w, v) + t(u, w)``, and else by cuts that never promise more than the labels win (Rother et
    al. 2005).

    It gives no bound of its own.

    Parameters
    ----------
    bound : the inference whose bound is returned, and whose labeling where it is better. None takes the sum of the
        largest scores of all nodes and edges, which is cheap and far from the value
    max_iter : the most rounds over all labels, each of which costs k cuts

    Raises
    ------
    TypeError : for a ``bound`` that is no inference, and a ``max_iter`` that is no whole number
    ValueError : for a ``max_iter`` below 1
    Refusal : from :meth:`prepare`, for batches other than ``ClassGraphs``, losses that are not modular, slack rescaling

    Examples
    --------
    >>> from setwise.core.networks import ClassGraphs
    >>> from setwise.core.structure import Structure
    >>> from setwise.inference import AlphaExpansion
    >>> chain = ClassGraphs(np.array([0, 1, 2]), np.array([0, 3]), np.array([[0, 1], [1, 2]]), k=3)
    >>> nodes, edges = [2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0], [1.0, 1.0]
    >>> found = AlphaExpansion().prepare(Structure(chain)).maximize(nodes + edges)
    >>> print(found.labels, found.values, found.exact)  # 2 + 2 and two edges, the truth has 2 + 1
    [0 0 0] [3.] [ True]
    """

    bound: Inference | None = field(default_factory=lambda: TreeReweighted(50))
    max_iter: int = 20

    name: ClassVar[str] = "alpha_expansion"
    about: ClassVar[str] = "cuts that let any nodes change to one label"
    approximate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.bound is not None:
            as_kind(self.bound, "bound", Inference, "TreeReweighted()")
        as_count(self.max_iter, "max_iter")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        kind = type(structure.batch).__name__
        if not isinstance(structure.batch, ClassGraphs):
            return f"AlphaExpansion refuses {kind}: it knows ClassGraphs. Use an inference made for {kind}, as Auto()."
        why = unfit_for_networks(self, structure, slack)
        return self.bound.refuses(structure) if why is None and self.bound is not None else why

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return each_component(structure, lambda parts: _AlphaExpansion(self, parts))


@final
class _AlphaExpansion(Maximizer):
    def __init__(self, method: AlphaExpansion, structure: Structure) -> None:
        self.method, self.structure, self.slack = method, structure, False
        self._rounds, batch = method.max_iter, structure.batch
        assert isinstance(batch, ClassGraphs)
        self._problem = Pairwise.of(structure)
        self._other = None if method.bound is None else method.bound.prepare(structure)
        ends = block_ends(batch.edges, batch.total, BLOCK)
        self._blocks = [_Block(batch.edges, first, last) for first, last in pairwise(ends)]

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch = self._problem.batch
        nodes, pairs = self._problem.tables(scores)
        labels = nodes.argmax(axis=1).astype(np.int64)
        map_units(lambda block: block.expand(nodes, pairs, labels, self._rounds), self._blocks)
        if self._other is None:
            # No labeling wins more than each node and each edge by itself.
            most = segment_sums(nodes.max(axis=1), batch.offsets)
            edges = pairs.max(axis=1, initial=0.0 if pairs.shape[1] == 1 else -np.inf)
            most += segment_sums(edges, batch.edge_offsets)
            return self.solved(scores, labels, most - batch.at_target(scores))
        found, other = self.solved(scores, labels), self._other.solve(scores, tol)
        better = (other.values > found.values)[batch.owners]
        return self.solved(scores, np.where(better, other.labels, labels), other.bounds)


@final
class _Block:
    """Some nodes, which no edge leaves, with their network."""

    def __init__(self, edges: Ints, first: int, last: int) -> None:
        self._nodes = slice(first, last)
        self._edges = np.flatnonzero((edges[:, 0] >= first) & (edges[:, 0] < last))
        self._ends = edges[self._edges] - first
        self._network, self._places = arcs(self._ends, last - first)

    def expand(self, nodes: Values, pairs: Values, labels: Ints, rounds: int) -> None:
        """Offer each label in turn until none wins anything."""
        nodes, pairs, labels = nodes[self._nodes], pairs[self._edges], labels[self._nodes]
        network, ends, places = self._network, self._ends, self._places
        forest = new_forest(network, len(labels))
        scores, moved = np.empty(len(labels)), np.empty(len(labels), dtype=bool)
        capacities, k, failed = np.empty(len(forest.capacities)), nodes.shape[1], 0
        for step in range(rounds * k):
            alpha = step % k
            propose(ends, places, nodes, pairs, labels, alpha, capacities, scores)
            cut(network, forest, capacities, scores)
            read_labels(network, forest, moved)
            won = accept(ends, nodes, pairs, labels, alpha, moved)
            failed = 0 if won > 0.0 else failed + 1
            if failed == k:
                break
