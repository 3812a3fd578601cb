"""Minimum cuts for all biases: each node of a network turns positive at one bias, and stays so."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.checks import Values, as_kind, as_scores
from setwise.core.networks import Graphs
from setwise.inference.max_flow import BLOCK, attracting
from setwise.inference.wires import Wires, wirings
from setwise.kernels.cuts import nest
from setwise.kernels.max_flow import new_forest
from setwise.kernels.threads import map_units


class Nested(NamedTuple):
    """The cuts for all biases and their flow.

    Attributes
    ----------
    turned : (total,) the bias at which each node turns
    point : (total,) what a flow within the scores of edges carries out of each node, less its score; it is ``turned``
        but for rounding, and a point of the base polytope whatever was rounded, but for the sums at each node
    """

    turned: Values
    point: Values


def flips(graphs: Graphs, scores: ArrayLike) -> Values:
    """``t_i``, (total,): node i is positive in the best labeling with the bias b on all nodes exactly where b > t_i.

    The labelings of greatest score are nested: a larger bias takes no label back (Gallo, Grigoriadis and Tarjan 1989).
    Of several best labelings the one with the fewest positives counts. So ``-t`` are scores of independent decisions
    whose thresholds are the biases of the network, and the best of all biases for a loss is a best threshold.

    All nodes of a set turn at once at the bias ``-(sum of scores) / (number of nodes)``, or a cut there parts those
    that turn before from those that turn after; both parts are networks of their own, in which the flow goes on. The
    sets of a level are cut together, so the cost is at most that of one cut for each level of the partition.

    Parameters
    ----------
    graphs : networks of two labels; their labels are not read
    scores : (n_scores,) finite, those of edges 0 or above
    """
    return nested(graphs, scores).turned


def nested(graphs: Graphs, scores: ArrayLike) -> Nested:
    """:func:`flips` with the flow that proves it."""
    as_kind(graphs, "graphs", Graphs, "Graphs(labels, offsets, edges)")
    given = as_scores(scores, graphs.n_scores)
    nodes, edges = given[graphs.node_places].astype(np.float64), attracting(given, given[graphs.edge_places])
    found = Nested(np.empty(graphs.total), np.empty(graphs.total))

    def cut(wires: Wires) -> None:
        own = slice(wires.first, wires.last)
        forest = new_forest(wires.network, wires.last - wires.first)
        capacities = np.zeros(len(forest.capacities))
        wires.place(edges[wires.edges], capacities)
        part = graphs.owners[own] - graphs.owners[wires.first]
        nest(wires.network, forest, capacities, nodes[own], part, found.turned[own], found.point[own])

    map_units(cut, wirings(graphs, BLOCK))
    return found
