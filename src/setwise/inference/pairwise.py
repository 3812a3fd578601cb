"""Helpers of the methods that pass messages on networks: costs of labels move into the scores of nodes."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Floats, Ints, Values
from setwise.core.inference import Inference
from setwise.core.networks import Graphs, Network
from setwise.core.structure import LabelCosts, Structure
from setwise.core.terms import Mistakes
from setwise.kernels.messages import Links
from setwise.kernels.networks import arcs


def unfit_for_networks(method: Inference, structure: Structure, slack: bool) -> str | None:
    """Returns why a method for sums of costs on networks refuses a structure, as a sentence; None if it fits."""
    name, kind = type(method).__name__, type(structure.batch).__name__
    if not isinstance(structure.batch, Network):
        return f"{name} refuses {kind}: it knows Graphs and ClassGraphs. Use an inference made for {kind}, as Auto()."
    if slack:
        return f"{name} refuses slack rescaling: the product does not split. Use margin rescaling."
    if not all(isinstance(term, Mistakes | LabelCosts) for term in structure.terms):
        return f"{name} refuses {structure!r}: the loss is not a sum of one cost per mistake. Use Hamming()."
    return None


def network_tables(batch: Network, scores: Floats) -> tuple[Values, Values]:
    """Returns the scores of the labels of nodes, (total, k), and those of edges, (m, 1) or (m, k * k), as float64."""
    nodes, pairs = scores[batch.node_columns].astype(np.float64), scores[batch.edge_columns].astype(np.float64)
    if nodes.shape[1] < batch.n_labels:
        # Label 0 of two has no score of its own.
        nodes = np.column_stack([np.zeros(batch.total), nodes])
    return np.ascontiguousarray(nodes), np.ascontiguousarray(pairs)


@final
@dataclass(frozen=True, eq=False)
class Pairwise:
    """The problem ``max_y sum_i f_i(y_i) + sum_e f_e(y_a, y_b)`` of a sum of costs and the scores of a network.

    Parameters
    ----------
    batch : the network
    costs : (total, k) costs of the labels; -inf forbids one
    links : its arcs
    """

    batch: Network
    costs: Values
    links: Links

    @classmethod
    def of(cls, structure: Structure) -> "Pairwise":
        """The problem of a structure that :func:`unfit_for_networks` does not refuse."""
        batch = structure.batch
        assert isinstance(batch, Network)
        network, places = arcs(batch.edges, batch.total)
        numbers = np.empty(2 * len(batch.edges), dtype=np.int64)
        numbers[places] = 2 * np.arange(len(batch.edges))[:, None] + np.arange(2)
        links = Links(batch.edges, network.first, numbers, batch.offsets, batch.edge_offsets)
        return cls(batch, label_costs(structure), links)

    def tables(self, scores: Floats) -> tuple[Values, Values]:
        """The functions f_i, (total, k), and f_e: (m, 1) where only equal labels win, else (m, k * k)."""
        nodes, pairs = network_tables(self.batch, scores)
        forbidden = self.costs == -np.inf
        if forbidden.any():
            nodes = np.where(forbidden, nodes - self._force(nodes, pairs)[:, None], nodes + self.costs)
        else:
            nodes += self.costs
        return nodes, pairs

    def labels(self, found: Ints) -> NDArray[Any]:
        """Labels in the code of the batch."""
        return found == 1 if isinstance(self.batch, Graphs) else found

    def first_labels(self) -> Ints:
        """The true labels, and 0 where they are not known: the first candidate."""
        return np.maximum(self.batch.labels.astype(np.int64), 0)

    def _force(self, nodes: Values, pairs: Values) -> Values:
        """More than any change of a node's label can win, (total,)."""
        costs = np.where(self.costs == -np.inf, 0.0, self.costs)
        most = 2.0 * np.abs(nodes).max(axis=1) + 2.0 * np.abs(costs).max(axis=1)
        each = 2.0 * np.abs(pairs).max(axis=1, initial=0.0)
        for ends in self.batch.edges.T:
            most += np.bincount(ends, each, len(most))
        return stronger(most)


def stronger(most: Values) -> Values:
    """Numbers above the given ones, which are 0 or more. They are of the same size, so that they add no rounding."""
    return np.maximum(1.5 * most, np.nextafter(0.0, 1.0))


def label_costs(structure: Structure) -> Values:
    """The costs of all labels by a sum of costs, (total, k); -inf forbids one, and unknown labels cost nothing."""
    batch = structure.batch
    found = np.zeros((batch.total, batch.n_labels))
    for term in structure.terms:
        if isinstance(term, LabelCosts):
            found = found + term.costs
        elif isinstance(term, Mistakes):
            wrong = batch.labels[:, None] != np.arange(batch.n_labels)
            wrong &= (batch.labels >= 0)[:, None]
            found = found + np.where(wrong, term.costs[:, None], 0.0)
    return found
