"""Spanning forests that together cover all edges of a graph."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from setwise.core.checks import Ints


class Forest(NamedTuple):
    """A forest on p labels.

    Attributes
    ----------
    order : (p,) parents before their children
    parents : (p,) -1 at roots
    edges : (p,) the edge that leads to the parent; -1 at roots
    """

    order: Ints
    parents: Ints
    edges: Ints


def covering_forests(edges: Ints, p: int) -> list[Forest]:
    """Spanning forests that cover each edge (m, 2) once or more; each takes the edges that were taken least so far."""
    seen, found = np.zeros(len(edges)), list[Forest]()
    while not found or not seen.all():
        # Minimum spanning trees leave weights of 0 out.
        costs = coo_array((1.0 + seen, edges.T), shape=(p, p)).tocsr()
        tree = minimum_spanning_tree(costs)
        found.append(_rooted(tree + tree.T, edges, p))
        taken = found[-1].edges
        seen[taken[taken >= 0]] += 1.0
    return found


def _rooted(tree: coo_array, edges: Ints, p: int) -> Forest:
    """The forest with a root in each component."""
    number = {(min(a, b), max(a, b)): e for e, (a, b) in enumerate(edges.tolist())}
    order, parents = np.empty(0, np.int64), np.full(p, -1)
    left = np.ones(p, dtype=bool)
    while left.any():
        nodes, above = breadth_first_order(tree, int(left.argmax()), directed=False)
        order = np.concatenate([order, nodes])
        parents[nodes[1:]], left[nodes] = above[nodes[1:]], False
    own = np.full(p, -1)
    for i, j in enumerate(parents.tolist()):
        if j >= 0:
            own[i] = number[min(i, j), max(i, j)]
    return Forest(order, parents, own)
