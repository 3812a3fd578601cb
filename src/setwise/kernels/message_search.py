"""Searches by messages, set by set: tree-reweighted max-product with a certified bound, and belief propagation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import bare, kernel, require_length, require_size
from setwise.kernels.messages import certify, improve, sweep, value

Array = NDArray[Any]

PATIENCE = 10
"""The search ends where so many iterations lower the bound by less than ``SLOW`` of the gap."""

SLOW = 0.01
SWEEPS = 10
"""So many sweeps at most improve a labeling node by node."""


@kernel
def reweighted(
    nodes: Array, pairs: Array, links: Any, messages: Array, tol: Array, most: int, labels: Array, bounds: Array
) -> None:
    """Sequential tree-reweighted max-product: lowers the bound of each set, and improves its labels.

    ``labels`` (n,) are the first candidates, and the best ones that were found afterwards. ``messages`` are where the
    search begins and where it ends. A set ends once its bound is within ``tol`` of the value of its labels.
    """
    _check(nodes, pairs, links, messages, labels)
    require_size(tol, len(bounds))
    trial, polished, work = np.empty_like(labels), np.empty_like(labels), np.empty((3, nodes.shape[1]))
    for s in range(len(bounds)):
        begin, end = links.offsets[s], links.offsets[s + 1]
        low, high = links.edge_offsets[s], links.edge_offsets[s + 1]
        improve(nodes, pairs, links, labels, begin, end, SWEEPS, work[0])
        best, seen = value(nodes, pairs, links.edges, labels, begin, end, low, high), -np.inf
        former, bound = np.inf, np.inf
        for t in range(most):
            for forward in (True, False):
                bound, _ = sweep(nodes, pairs, links, messages, begin, end, forward, True, 0.0, trial, work)
                found = value(nodes, pairs, links.edges, trial, begin, end, low, high)
                if found > seen:
                    seen = found
                    best = _keep(nodes, pairs, links, trial, polished, labels, best, s, work)
            if bound - best <= tol[s]:
                break
            if t % PATIENCE == PATIENCE - 1:
                if former - bound <= SLOW * (bound - best):
                    break
                former = bound
        bounds[s] = certify(nodes, pairs, links, messages, begin, end, False, work)


@kernel
def propagated(
    nodes: Array, pairs: Array, links: Any, messages: Array, damping: float, still: Array, most: int, labels: Array
) -> None:
    """Damped max-product belief propagation, which improves the labels of each set.

    A set ends once no message changes by more than ``still``, (sets,).
    """
    _check(nodes, pairs, links, messages, labels)
    require_size(still, len(links.offsets) - 1)
    trial, polished, work = np.empty_like(labels), np.empty_like(labels), np.empty((3, nodes.shape[1]))
    for s in range(len(still)):
        begin, end = links.offsets[s], links.offsets[s + 1]
        low, high = links.edge_offsets[s], links.edge_offsets[s + 1]
        improve(nodes, pairs, links, labels, begin, end, SWEEPS, work[0])
        best, seen = value(nodes, pairs, links.edges, labels, begin, end, low, high), -np.inf
        for _ in range(most):
            moved = 0.0
            for forward in (True, False):
                _, change = sweep(nodes, pairs, links, messages, begin, end, forward, False, damping, trial, work)
                moved = max(moved, change)
                found = value(nodes, pairs, links.edges, trial, begin, end, low, high)
                if found > seen:
                    seen = found
                    best = _keep(nodes, pairs, links, trial, polished, labels, best, s, work)
            if moved <= still[s]:
                break


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
