"""Messages on networks of k labels: tree-reweighted sweeps (Kolmogorov 2006), belief propagation, exact on forests.

Sweeps give labelings and certified bounds. Of forests of binary labels there are sums over all labels as well.

A problem is ``max_y sum_i f_i(y_i) + sum_e f_e(y_a, y_b)``. ``nodes`` (n, k) holds f_i. ``pairs`` (m, c) holds f_e, one
number that equal labels win where c = 1, else the table with place ``u k + v`` for label u at the first end of the edge
and v at the second one. The arcs of node i are ``first[i]:first[i + 1]``, and ``arcs`` holds the number of the edge
times 2, plus 1 where i is its second end. ``messages`` (m, 2, k) holds what comes to the first and to the second end.
"""

from typing import Any, NamedTuple

import numpy as np

from setwise.kernels.jit import Array, bare, kernel
from setwise.kernels.segments import require_length, require_size

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
                # Without its largest entry, which the bound takes over, a message does not grow from sweep to sweep.
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
                # Rounding may leave a share below 0, of which the largest entry would be no bound.
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
    # Twice the error, because it bounds roundings to first order only, and is itself a rounded sum.
    return total + lost + 2.0 * error + 2.0 * EPS * abs(total)


PATIENCE = 10
"""The search ends where so many iterations lower the bound by less than ``SLOW`` of the gap."""

SLOW = 0.01

SWEEPS = 10
"""So many sweeps at most improve a labeling node by node."""


@kernel
def passed(
    nodes: Array, pairs: Array, links: Any, messages: Array, chains: bool, damping: float, tol: Array, most: int,
    labels: Array, bounds: Array,
) -> None:  # fmt: skip
    """Passes messages until little changes, at most ``most`` times forward and back, and improves the labels.

    With ``chains`` it is sequential tree-reweighted max-product, which lowers the bound of each set, to ``bounds``
    (sets,): a set ends once its bound is within ``tol`` (sets,) of the value of its labels. Without, it is damped
    max-product belief propagation, which knows no bound: a set ends once no message changes by more than ``tol``.
    ``labels`` (n,) are the first candidates, and the best ones that were found afterwards. ``messages`` are where the
    search begins and where it ends.
    """
    _check(nodes, pairs, links, messages, labels)
    require_size(tol, len(links.offsets) - 1)
    require_size(bounds, len(links.offsets) - 1)
    trial, polished, work = np.empty_like(labels), np.empty_like(labels), np.empty((3, nodes.shape[1]))
    for s in range(len(links.offsets) - 1):
        begin, end = links.offsets[s], links.offsets[s + 1]
        low, high = links.edge_offsets[s], links.edge_offsets[s + 1]
        improve(nodes, pairs, links, labels, begin, end, SWEEPS, work[0])
        best, seen = value(nodes, pairs, links.edges, labels, begin, end, low, high), -np.inf
        former, bound = np.inf, np.inf
        for t in range(most):
            moved = 0.0
            for forward in (True, False):
                bound, change = sweep(nodes, pairs, links, messages, begin, end, forward, chains, damping, trial, work)
                moved = max(moved, change)
                found = value(nodes, pairs, links.edges, trial, begin, end, low, high)
                if found > seen:
                    seen = found
                    best = _keep(nodes, pairs, links, trial, polished, labels, best, s, work)
            if (bound - best if chains else moved) <= tol[s]:
                break
            if chains and t % PATIENCE == PATIENCE - 1:
                if former - bound <= SLOW * (bound - best):
                    break
                former = bound
        if chains:
            bounds[s] = certify(nodes, pairs, links, messages, begin, end, False, work)


@bare
def _keep(
    nodes: Array, pairs: Array, links: Any, trial: Array, polished: Array, labels: Array, best: float, s: int,
    work: Array,
) -> float:  # fmt: skip
    """Improves a labeling of set s, and writes it to ``labels`` if it is the best one; returns the best value."""
    begin, end = links.offsets[s], links.offsets[s + 1]
    for i in range(begin, end):
        polished[i] = trial[i]
    improve(nodes, pairs, links, polished, begin, end, SWEEPS, work[0])
    low, high = links.edge_offsets[s], links.edge_offsets[s + 1]
    found: float = value(nodes, pairs, links.edges, polished, begin, end, low, high)
    if found <= best:
        return best
    for i in range(begin, end):
        labels[i] = polished[i]
    return found


@kernel
def _check(nodes: Array, pairs: Array, links: Any, messages: Array, labels: Array) -> None:
    """Raises ValueError where the arrays do not have the lengths of the network: kernels do not check their indices."""
    require_length(nodes, links.offsets)
    require_length(labels, links.offsets)
    require_length(links.first[1:], links.offsets)
    require_length(links.arcs, links.first)
    require_length(links.edges, links.edge_offsets)
    require_length(pairs, links.edge_offsets)
    require_length(messages, links.edge_offsets)
    k = nodes.shape[1]
    if messages.shape[1] != 2 or messages.shape[2] != k or pairs.shape[1] not in (1, k * k):
        raise ValueError("messages or pairs have other labels than nodes")


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
    up[: len(order)] = nodes[: len(order)]
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


@bare
def log_sum(a: float, b: float) -> Any:
    """``log(exp(a) + exp(b))``."""
    high = max(a, b)
    # Less the larger number, so that no exponential overflows.
    return high + np.log1p(np.exp(min(a, b) - high))


@kernel
def forest_sum(order: Array, parents: Array, unary: Array, weights: Array, ones: Array, apart: Array) -> float:
    """Returns ``log sum_y exp(sum_i t_i y_i - sum_i w_i [y_i != y_parent(i)])`` of a forest, O(p).

    ``order`` (p,) lists parents before their children; ``parents`` (p,) is -1 at roots, where the weight says nothing.
    Writes the probabilities of label 1, (p,), and those of labels other than that of the parent, (p,).
    """
    p, total = len(order), 0.0
    # How much label 1 of each node wins over label 0 in the part below it, and what its parent adds to that.
    below, above = unary.copy(), np.zeros(p)
    for k in range(p - 1, -1, -1):
        i = order[k]
        if parents[i] < 0:
            total += log_sum(0.0, below[i])
        else:
            w, s = weights[i], below[i]
            # The message to the parent: its label 0 takes the first sum, its label 1 the second one.
            zero, one = log_sum(0.0, s - w), log_sum(-w, s)
            total += zero
            below[parents[i]] += one - zero
    for k in range(p):
        i = order[k]
        j = parents[i]
        if j >= 0:
            w, s = weights[i], below[i]
            # What the parent says without this child.
            rest = above[j] + below[j] - (log_sum(-w, s) - log_sum(0.0, s - w))
            above[i] = log_sum(-w, rest) - log_sum(0.0, rest - w)
            same, other = log_sum(0.0, s + rest), log_sum(s, rest) - w
            apart[i] = 1.0 / (1.0 + np.exp(same - other))
        ones[i] = 1.0 / (1.0 + np.exp(-(below[i] + above[i])))
    return total
