"""Minimum cuts for all biases: each node of a network turns positive at one bias, and stays so."""

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.arrays import Ints, Values
from setwise.core.checks import as_kind, as_scores
from setwise.core.graphs import Graphs
from setwise.core.structure import Structure
from setwise.inference.max_flow import MaxFlow


def flips(graphs: Graphs, scores: ArrayLike) -> Values:
    """``t_i``, (total,): node i is positive in the best labeling with the bias b on all nodes exactly where b > t_i.

    The labelings of greatest score are nested: a larger bias takes no label back (Gallo, Grigoriadis and Tarjan 1989).
    Of several best labelings the one with the fewest positives counts. So ``-t`` are scores of independent decisions
    whose thresholds are the biases of the network, and the best of all biases for a loss is a best threshold.

    All nodes of a set turn at once at the bias ``-(sum of scores) / (number of nodes)``, or a cut there parts those
    that turn before from those that turn after; both parts are networks of their own. The parts of all sets are cut
    together, so the cost is that of one cut for each level of the partition.

    Parameters
    ----------
    graphs : networks of two labels; their labels are not read
    scores : (n_scores,) finite, those of edges 0 or above
    """
    as_kind(graphs, "graphs", Graphs, "Graphs(labels, offsets, edges)")
    given = as_scores(scores, graphs.n_scores)
    unary, pairs = given[graphs.node_places].astype(np.float64), given[graphs.edge_places].astype(np.float64)
    found, left, ends = np.empty(graphs.total), np.arange(graphs.total), graphs.edges
    part = graphs.owners
    while len(left):
        order = np.argsort(part, kind="stable")
        left, part = left[order], np.unique(part[order], return_inverse=True)[1]
        sizes = np.bincount(part)
        biases = -np.bincount(part, unary[left]) / sizes
        positive = _cut(left, sizes, ends, unary[left] + biases[part], pairs, graphs.total)
        count = np.bincount(part, positive)
        whole = ((count == 0) | (count == sizes))[part]
        found[left[whole]] = biases[part[whole]]
        label = np.zeros(graphs.total, dtype=bool)
        label[left] = positive
        # A node that turns after the others sees them as positive, and they see it as negative.
        apart = label[ends[:, 0]] != label[ends[:, 1]]
        for end in ends[apart].T:
            np.add.at(unary, end, np.where(label[end], -pairs[apart], pairs[apart]))
        undone = np.zeros(graphs.total, dtype=bool)
        undone[left[~whole]] = True
        kept = ~apart & undone[ends[:, 0]]
        ends, pairs = ends[kept], pairs[kept]
        left, part = left[~whole], (2 * part + positive)[~whole]
    return found


def _cut(left: Ints, sizes: Ints, ends: Ints, unary: Values, pairs: Values, total: int) -> Values:
    """Which of the nodes ``left`` are positive in the best labeling of each part."""
    place = np.zeros(total, dtype=np.int64)
    place[left] = np.arange(len(left))
    edges = place[ends]
    # Edges are listed part by part, as their ends are numbered.
    order = np.argsort(edges[:, 0], kind="stable")
    graphs = Graphs(np.zeros(len(left), dtype=bool), np.concatenate([[0], np.cumsum(sizes)]), edges[order])
    scores = np.empty(graphs.n_scores)
    scores[graphs.node_places], scores[graphs.edge_places] = unary, pairs[order]
    return np.asarray(MaxFlow().prepare(Structure(graphs)).maximize(scores).labels)
