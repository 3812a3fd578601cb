"""The moves of alpha-expansion: any nodes may change to one label, and which of them should is a minimum cut."""

from typing import Any

from numpy.typing import NDArray

from setwise.kernels.jit import bare
from setwise.kernels.networks import MASK

Array = NDArray[Any]


@bare
def propose(
    ends: Array, places: Array, nodes: Array, pairs: Array, labels: Array, alpha: int, capacities: Array, scores: Array
) -> None:
    """Writes the cut of the move to the label alpha: label 1 of a node means that it takes alpha.

    ``nodes`` (n, k) are the scores of labels, ``pairs`` (m, 1) those of equal labels or (m, k * k) tables, ``places``
    (m, 2) the arcs of the edges ``ends`` (m, 2). With ``t(u, v)`` the score of an edge if its ends move or not, what is
    no sum of both is ``D = t(1, 1) + t(0, 0) - t(1, 0) - t(0, 1)``. Where it is negative, so that no cut has it, half
    of it is taken off the scores of moving one end alone: what a cut then wins the labels win too (Rother et al. 2005).
    """
    k = nodes.shape[1]
    for i in range(len(labels)):
        scores[i] = nodes[i, alpha] - nodes[i, labels[i] & MASK]
    for e in range(len(ends)):
        a, b = ends[e, 0], ends[e, 1]
        u, v = labels[a & MASK], labels[b & MASK]
        stay, first = _won(pairs, e, k, u, v), _won(pairs, e, k, alpha, v)
        second, both = _won(pairs, e, k, u, alpha), _won(pairs, e, k, alpha, alpha)
        half = 0.5 * (both + stay - first - second)
        scores[a & MASK] += first - stay + half
        scores[b & MASK] += second - stay + half
        capacities[places[e, 0] & MASK] = capacities[places[e, 1] & MASK] = max(half, 0.0)


@bare
def accept(ends: Array, nodes: Array, pairs: Array, labels: Array, alpha: int, moved: Array) -> Any:
    """Gives the nodes that are ``moved`` the label alpha if this wins; returns what it wins, 0 if it does not."""
    k, won = nodes.shape[1], 0.0
    for i in range(len(labels)):
        if moved[i]:
            won += nodes[i, alpha] - nodes[i, labels[i] & MASK]
    for e in range(len(ends)):
        a, b = ends[e, 0] & MASK, ends[e, 1] & MASK
        if moved[a] or moved[b]:
            u, v = alpha if moved[a] else labels[a], alpha if moved[b] else labels[b]
            won += _won(pairs, e, k, u, v) - _won(pairs, e, k, labels[a], labels[b])
    # Rounding could let two labels take turns forever.
    if not won > 0.0:
        return 0.0
    for i in range(len(labels)):
        if moved[i]:
            labels[i] = alpha
    return won


@bare
def _won(pairs: Array, e: int, k: int, u: Any, v: Any) -> Any:
    """The score of edge e with these labels."""
    if pairs.shape[1] == 1:
        return pairs[e, 0] if u == v else 0.0
    return pairs[e, (u * k + v) & MASK]
