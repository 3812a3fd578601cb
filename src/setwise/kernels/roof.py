"""Roof duality: networks of two labels whose edges attract or repel, by the cut of a network of twice the nodes.

Node i has a mate ``i + n``, which stands for its contrary. An edge that attracts joins its two nodes, and their mates;
one that repels joins each node with the mate of the other. Each arc has a mirror: that of the arc from u to v leads
from the mate of v to that of u. The cut gives a node and its mate different labels, or leaves both open.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import bare
from setwise.kernels.networks import MASK, Arcs, arcs, begin, end, head
from setwise.kernels.search_trees import SINK, SOURCE, Forest

Array = NDArray[Any]

OPEN, DOOMED = -1, -2
"""Marks of nodes in :func:`close`: not reached yet, and known to reach its own mate."""

PASSES = 100
"""Most passes of :func:`settle`, for rounding could let a label change forever."""


def double(ends: Array, attracts: Array, n: int) -> tuple[Arcs, Array, Array]:
    """The network of the nodes and their mates, the four arcs of each edge, (m, 4), and the mirror of each arc, (4m,).

    ``ends`` (m, 2) are those of the edges between n nodes, and ``attracts`` (m,) tells of each which kind it is.
    """
    a, b = ends.T
    there = np.column_stack([a, np.where(attracts, b, b + n)])
    back = np.column_stack([np.where(attracts, b + n, b), a + n])
    network, places = arcs(np.ascontiguousarray(np.concatenate([there, back])), 2 * n)
    first, second = places[: len(ends)], places[len(ends) :]
    mirrors = np.empty(4 * len(ends), np.int32)
    mirrors[first], mirrors[second] = second, first
    return network, np.hstack([first, second]), mirrors


@bare
def persistent(forest: Forest, labels: Array) -> None:
    """Writes the labels (n,) int8 that all best labelings have, and -1 where the cut leaves a node open, O(n)."""
    for i in range(len(labels)):
        labels[i] = _label(forest, i, len(labels))


@bare
def _label(forest: Forest, i: Any, n: int) -> Any:
    """The label that the cut gives node i, -1 for none.

    Its mate is asked too: the flow can use up the scores of both sides together, and what rounding leaves of one of
    them then reaches nodes and their mates.
    """
    own, mate = forest.trees[i & MASK], forest.trees[(i + n) & MASK]
    if own == SOURCE and mate == SINK:
        return 1
    return 0 if own == SINK and mate == SOURCE else -1


@bare
def close(network: Any, forest: Forest, mirrors: Array, labels: Array, marks: Array, stack: Array) -> None:
    """Labels nodes that are open, -1, where some optimum of the bound has these labels together.

    A node may be set with all that residual arcs of the flow and of its mirror image reach from it, unless that is a
    node together with its mate. What reaches a node that may not be set may not be set either. ``marks`` and ``stack``
    (2n,) int32 are places to work in.
    """
    n = len(labels)
    for i in range(2 * n):
        marks[i] = OPEN
    for i in range(2 * n):
        # Label 0 is tried first, as where all edges attract.
        root = i // 2 + n * (1 - i % 2)
        if labels[(i // 2) & MASK] >= 0 or marks[root & MASK] == DOOMED:
            continue
        count, done, fits = 1, 0, True
        stack[0], marks[root & MASK] = root, i
        while done < count and fits:
            u = np.int64(stack[done & MASK])
            done += 1
            for arc in range(begin(network, u), end(network, u)):
                v = head(network, u, arc)
                if forest.capacities[arc & MASK] <= 0.0 and forest.capacities[mirrors[arc & MASK] & MASK] <= 0.0:
                    continue
                mate = v - n if v >= n else v + n
                if marks[v & MASK] == i or labels[min(v, mate) & MASK] >= 0:
                    continue
                if marks[v & MASK] == DOOMED or marks[mate & MASK] == i:
                    fits = False
                    break
                marks[v & MASK] = i
                stack[count & MASK] = v
                count += 1
        if fits:
            for k in range(count):
                u = np.int64(stack[k & MASK])
                labels[(u - n if u >= n else u) & MASK] = 1 if u < n else 0
        else:
            marks[root & MASK] = DOOMED


@bare
def settle(network: Any, capacities: Array, scores: Array, labels: Array) -> None:
    """Gives the nodes that are open, -1, a label, and changes single labels for the better until none is left, O(m).

    A neighbor that is open counts for neither label.
    """
    n = len(labels)
    for _ in range(PASSES):
        changed = False
        for i in range(n):
            gain = scores[i]
            for arc in range(begin(network, i), end(network, i)):
                j = head(network, i, arc)
                label = labels[(j - n if j >= n else j) & MASK]
                if label >= 0:
                    gain += capacities[arc & MASK] if (label == 1) == (j < n) else -capacities[arc & MASK]
            better = 1 if gain > 0.0 else 0
            if labels[i] < 0 or (gain != 0.0 and better != labels[i]):
                labels[i] = better
                changed = True
        if not changed:
            break
