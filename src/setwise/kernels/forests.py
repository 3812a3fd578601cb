"""Connected components; graphs without cycles, and exact messages between their parents and children."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel, require_length, require_size
from setwise.kernels.messages import add_pair, largest, send

Array = NDArray[Any]


@kernel
def components(edges: Array, total: int) -> Array:
    """Returns the number of the connected component of each node, (total,) int64, counted by their first nodes.

    Each node leads to an earlier one of its component, and the way there is halved whenever it is gone.
    """
    up, out, count = np.arange(total), np.empty(total, np.int64), 0
    for e in range(len(edges)):
        a, b = edges[e, 0], edges[e, 1]
        if min(a, b) < 0 or max(a, b) >= total:
            raise ValueError("edges join nodes that are not there")
        while up[a] != a:
            up[a] = up[up[a]]
            a = up[a]
        while up[b] != b:
            up[b] = up[up[b]]
            b = up[b]
        up[max(a, b)] = min(a, b)
    for i in range(total):
        if up[i] == i:
            out[i] = count
            count += 1
        else:
            out[i] = out[up[i]]
    return out


@kernel
def forests(first: Array, heads: Array, offsets: Array) -> Array:
    """Returns whether each segment of nodes has no cycle of edges, (k,) bool; O(n + m).

    The arcs of node i are ``first[i]:first[i + 1]``, and lead to ``heads``: see :func:`setwise.kernels.networks.arcs`.
    """
    require_length(heads, first)
    require_length(first[1:], offsets)
    out = np.empty(len(offsets) - 1, np.bool_)
    seen, queue = np.zeros(len(first) - 1, np.bool_), np.empty(len(first) - 1, np.int64)
    for s in range(len(offsets) - 1):
        trees = 0
        for root in range(offsets[s], offsets[s + 1]):
            if seen[root]:
                continue
            trees += 1
            seen[root], queue[0], begin, end = True, root, 0, 1
            while begin < end:
                i = queue[begin]
                begin += 1
                for arc in range(first[i], first[i + 1]):
                    j = heads[arc]
                    if not seen[j]:
                        seen[j] = True
                        queue[end] = j
                        end += 1
        # Each edge is two arcs; a forest has as many edges as nodes, less one for each tree.
        edges = (first[offsets[s + 1]] - first[offsets[s]]) // 2
        out[s] = edges == offsets[s + 1] - offsets[s] - trees
    return out


@kernel
def forest_order(edges: Array, first: Array, arcs: Array) -> tuple[Array, Array]:
    """Returns the nodes of forests, each after its parent, and the arc of each node to its parent, -1 for a root.

    ``arcs`` holds the edges of a node as :mod:`setwise.kernels.messages` says. The trees lie one after another. O(n).
    """
    require_length(arcs, first)
    n = len(first) - 1
    order, parents = np.empty(n, np.int64), np.full(n, -2)
    end = 0
    for root in range(n):
        if parents[root] != -2:
            continue
        parents[root], order[end], begin = -1, root, end
        end += 1
        while begin < end:
            i = order[begin]
            begin += 1
            for place in range(first[i], first[i + 1]):
                e, side = arcs[place] >> 1, arcs[place] & 1
                j = edges[e, 1 - side]
                if parents[j] == -2:
                    parents[j] = 2 * e + 1 - side
                    order[end] = j
                    end += 1
    return order, parents


@kernel
def best_labels(
    nodes: Array, pairs: Array, edges: Array, order: Array, parents: Array, up: Array, labels: Array
) -> None:
    """Writes the labels of greatest value of forests, (n,), by messages to the parents; O(n k) or O(n k^2).

    ``up`` (n, k) gets the greatest value of the tree below each node for each of its labels, the node included.
    """
    require_size(nodes, len(order))
    require_size(up, len(order))
    require_size(labels, len(order))
    if up.shape[1] != nodes.shape[1]:
        raise ValueError("messages or pairs have other labels than nodes")
    new = np.empty(nodes.shape[1])
    for i in range(len(order)):
        for u in range(len(new)):
            up[i, u] = nodes[i, u]
    for t in range(len(order) - 1, -1, -1):
        i = order[t]
        if parents[i] >= 0:
            e, side = parents[i] >> 1, parents[i] & 1
            send(pairs, e, side, up[i], new)
            parent = edges[e, 1 - side]
            for u in range(len(new)):
                up[parent, u] += new[u]
    for t in range(len(order)):
        i = order[t]
        for u in range(len(new)):
            new[u] = up[i, u]
        if parents[i] >= 0:
            e, side = parents[i] >> 1, parents[i] & 1
            add_pair(pairs, e, side, labels[edges[e, 1 - side]], new)
        labels[i] = largest(new)


@kernel
def tree_marginals(pairs: Array, edges: Array, order: Array, parents: Array, up: Array) -> None:
    """Turns ``up`` of :func:`best_labels` into the greatest value of the whole tree for each label of each node."""
    require_size(up, len(order))
    k = up.shape[1]
    rest, new = np.empty(k), np.empty(k)
    for t in range(len(order)):
        i = order[t]
        if parents[i] < 0:
            continue
        e, side = parents[i] >> 1, parents[i] & 1
        parent = edges[e, 1 - side]
        # The parent knows all of the tree; what came from this node is taken away again.
        send(pairs, e, side, up[i], new)
        for u in range(k):
            rest[u] = up[parent, u] - new[u]
        send(pairs, e, 1 - side, rest, new)
        for u in range(k):
            up[i, u] += new[u]
