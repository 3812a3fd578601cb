"""Max-product messages on networks of k labels: sequential sweeps (Kolmogorov 2006), labelings, and certified bounds.

A problem is ``max_y sum_i f_i(y_i) + sum_e f_e(y_a, y_b)``. ``nodes`` (n, k) holds f_i. ``pairs`` (m, c) holds f_e, one
number that equal labels win where c = 1, else the table with place ``u k + v`` for label u at the first end of the edge
and v at the second one. The arcs of node i are ``first[i]:first[i + 1]``, and ``arcs`` holds the number of the edge
times 2, plus 1 where i is its second end. ``messages`` (m, 2, k) holds what comes to the first and to the second end.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import bare

Array = NDArray[Any]

EPS = 2.0**-52
"""Twice the rounding of a sum of two numbers."""


class Links(NamedTuple):
    """The arcs of a network, and how its edges and nodes lie in sets.

    Attributes
    ----------
    edges : (m, 2) int64
    first : (n + 1,) int32
    arcs : (2 m,) int64
    offsets, edge_offsets : (sets + 1,) int64
    """

    edges: Array
    first: Array
    arcs: Array
    offsets: Array
    edge_offsets: Array


@bare
def send(pairs: Array, e: int, side: int, h: Array, out: Array) -> float:
    """Writes ``out[v] = max_u h[u] + f_e(u, v)`` from one end of edge e to the other; returns its largest entry."""
    k, top = len(h), -np.inf
    if pairs.shape[1] == 1:
        # Of all labels but one the largest entry is the first or the second one.
        largest, second, at, won = -np.inf, -np.inf, 0, pairs[e, 0]
        for u in range(k):
            if h[u] > largest:
                largest, second, at = h[u], largest, u
            elif h[u] > second:
                second = h[u]
        for v in range(k):
            out[v] = max(h[v] + won, second if v == at else largest)
    elif side == 0:
        for v in range(k):
            out[v] = h[0] + pairs[e, v]
        for u in range(1, k):
            for v in range(k):
                out[v] = max(out[v], h[u] + pairs[e, u * k + v])
    else:
        for v in range(k):
            best = h[0] + pairs[e, v * k]
            for u in range(1, k):
                best = max(best, h[u] + pairs[e, v * k + u])
            out[v] = best
    for v in range(k):
        top = max(top, out[v])
    return top


@bare
def add_pair(pairs: Array, e: int, side: int, label: int, h: Array) -> None:
    """Adds to ``h`` what each label of the end ``side`` of edge e wins with ``label`` at the other end."""
    k = len(h)
    if pairs.shape[1] == 1:
        h[label] += pairs[e, 0]
    elif side == 0:
        for u in range(k):
            h[u] += pairs[e, u * k + label]
    else:
        for u in range(k):
            h[u] += pairs[e, label * k + u]


@bare
def largest(h: Array) -> int:
    """Returns the place of the first largest entry."""
    at = 0
    for u in range(1, len(h)):
        if h[u] > h[at]:
            at = u
    return at


@bare
def value(nodes: Array, pairs: Array, edges: Array, labels: Array, begin: int, end: int, low: int, high: int) -> float:
    """Returns the sum of the nodes ``begin:end`` and of the edges ``low:high`` for a labeling."""
    total, k = 0.0, nodes.shape[1]
    for i in range(begin, end):
        total += nodes[i, labels[i]]
    for e in range(low, high):
        u, v = labels[edges[e, 0]], labels[edges[e, 1]]
        if pairs.shape[1] > 1:
            total += pairs[e, u * k + v]
        elif u == v:
            total += pairs[e, 0]
    return total


@bare
def improve(nodes: Array, pairs: Array, links: Any, labels: Array, begin: int, end: int, most: int, h: Array) -> None:
    """Gives each node in turn its best label among those of its neighbors, until none changes, ``most`` times."""
    for _ in range(most):
        changed = False
        for i in range(begin, end):
            for u in range(len(h)):
                h[u] = nodes[i, u]
            for arc in range(links.first[i], links.first[i + 1]):
                e, side = links.arcs[arc] >> 1, links.arcs[arc] & 1
                add_pair(pairs, e, side, labels[links.edges[e, 1 - side]], h)
            best = largest(h)
            # An equal label is no improvement, so the search ends.
            if h[best] > h[labels[i]]:
                labels[i] = best
                changed = True
        if not changed:
            return


@bare
def incoming(nodes: Array, links: Any, messages: Array, i: int, h: Array) -> None:
    """Writes the score of each label of node i with all messages that come to it."""
    for u in range(len(h)):
        h[u] = nodes[i, u]
    for arc in range(links.first[i], links.first[i + 1]):
        e, side = links.arcs[arc] >> 1, links.arcs[arc] & 1
        for u in range(len(h)):
            h[u] += messages[e, side, u]


@bare
def sweep(
    nodes: Array, pairs: Array, links: Any, messages: Array, begin: int, end: int,
    forward: bool, chains: bool, damping: float, labels: Array, work: Array,
) -> tuple[float, float]:  # fmt: skip
    """Sends all messages from the nodes ``begin:end`` to later ones, or with ``forward`` False to earlier ones.

    With ``chains`` a node shares its score equally among the monotonic chains through it (Kolmogorov 2006, Fig. 3);
    then ``damping`` should be 0. Without, it sends all of it to each neighbor: max-product belief propagation. Labels
    are decided on the way, given those of the nodes before. Returns the bound by the chains, but for rounding, and the
    largest change of a message.
    """
    k, bound, moved = nodes.shape[1], 0.0, 0.0
    h, rest, new = work[0], work[1], work[2]
    for t in range(end - begin):
        i = begin + t if forward else end - 1 - t
        incoming(nodes, links, messages, i, h)
        for u in range(k):
            rest[u] = nodes[i, u]
        ahead = 0
        for arc in range(links.first[i], links.first[i + 1]):
            e, side = links.arcs[arc] >> 1, links.arcs[arc] & 1
            j = links.edges[e, 1 - side]
            if (j > i) == forward:
                ahead += 1
                for u in range(k):
                    rest[u] += messages[e, side, u]
            else:
                add_pair(pairs, e, side, labels[j], rest)
        labels[i] = largest(rest)
        behind = links.first[i + 1] - links.first[i] - ahead
        share = 1.0 / max(ahead, behind, 1) if chains else 1.0
        bound += (1.0 - share * ahead) * h[largest(h)]
        for arc in range(links.first[i], links.first[i + 1]):
            e, side = links.arcs[arc] >> 1, links.arcs[arc] & 1
            if (links.edges[e, 1 - side] > i) != forward:
                continue
            for u in range(k):
                rest[u] = share * h[u] - messages[e, side, u]
            top = send(pairs, e, side, rest, new)
            bound += top
            for u in range(k):
                one = (1.0 - damping) * (new[u] - top) + damping * messages[e, 1 - side, u]
                moved = max(moved, abs(one - messages[e, 1 - side, u]))
                messages[e, 1 - side, u] = one
    return bound, moved


@bare
def certify(
    nodes: Array, pairs: Array, links: Any, messages: Array, begin: int, end: int, forward: bool, work: Array
) -> float:
    """Returns a bound of the value of all labelings of the nodes ``begin:end``, from the messages as they are.

    With h_i the score of node i with all its messages M, any labeling has the value ``sum_i h_i + sum_e [f_e - M_e]``.
    Each edge takes a share of h of its end that comes first in the order, and each node keeps what is left; the bound
    is the sum of the maxima. The sum is compensated, and what each term may have lost by rounding is added.
    """
    k, total, lost, error = nodes.shape[1], 0.0, 0.0, 0.0
    h, rest, new = work[0], work[1], work[2]
    for i in range(begin, end):
        incoming(nodes, links, messages, i, h)
        ahead, degree, size = 0, links.first[i + 1] - links.first[i], 0.0
        for u in range(k):
            each = abs(nodes[i, u])
            for arc in range(links.first[i], links.first[i + 1]):
                each += abs(messages[links.arcs[arc] >> 1, links.arcs[arc] & 1, u])
            size = max(size, each)
        for arc in range(links.first[i], links.first[i + 1]):
            e, side = links.arcs[arc] >> 1, links.arcs[arc] & 1
            ahead += (links.edges[e, 1 - side] > i) == forward
        share = 1.0 / max(ahead, degree - ahead, 1)
        error += EPS * (degree + 4) * size
        for arc in range(links.first[i] - 1, links.first[i + 1]):
            if arc < links.first[i]:
                top = max(1.0 - share * ahead, 0.0) * h[largest(h)]
            else:
                e, side = links.arcs[arc] >> 1, links.arcs[arc] & 1
                if (links.edges[e, 1 - side] > i) != forward:
                    continue
                for u in range(k):
                    rest[u] = share * h[u] - messages[e, side, u]
                send(pairs, e, side, rest, new)
                top = -np.inf
                for u in range(k):
                    top = max(top, new[u] - messages[e, 1 - side, u])
                    error += EPS * (abs(rest[u]) + abs(new[u]) + abs(messages[e, 1 - side, u]))
            both = total + top
            lost += (total - both) + top if abs(total) >= abs(top) else (top - both) + total
            total = both
    return total + lost + 2.0 * error + 2.0 * EPS * abs(total)
