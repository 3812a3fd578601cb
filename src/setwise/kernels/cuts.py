"""Minimum cuts of networks: cold, again after changes of the scores, in batches, with forced labels, with their bounds.

The functions speak of the n real nodes of a network; the nodes of a forest begin with the pad of its layout.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import bare, kernel
from setwise.kernels.max_flow import maximize_flow, plant, push_across, reroot
from setwise.kernels.networks import MASK, begin, end, head, sister
from setwise.kernels.search_trees import SOURCE, Forest, adopt, tick

Array = NDArray[Any]


@kernel
def cut(network: Any, forest: Forest, capacities: Array, scores: Array) -> None:
    """A minimum cut from nothing: of ``capacities`` (m,) >= 0 and the ``scores`` (n,) of label 1."""
    if len(scores) + 2 * network.pad != len(forest.residues) or len(capacities) != len(forest.capacities):
        raise ValueError("a network has other nodes than scores")
    for arc in range(len(capacities)):
        forest.capacities[arc] = capacities[arc]
    forest.residues[:] = 0.0
    for i in range(len(scores)):
        forest.residues[i + network.pad] = scores[i]
    push_across(network, forest)
    plant(forest)
    maximize_flow(network, forest)


@bare
def recut(network: Any, forest: Forest, capacities: Array, scores: Array, changed: Array) -> None:
    """The minimum cut for new ``scores`` (n,) from the flow and the trees before, where only ``changed`` ones are new.

    ``changed`` are different numbers of nodes, int64. Their residues are computed anew from the flow, so that rounding
    does not add up. Where most nodes have changed, trees that begin anew are faster than trees that are mended.
    """
    if 2 * len(changed) > len(scores):
        for k in range(len(changed)):
            _renew(network, forest, capacities, scores, changed[k])
        push_across(network, forest)
        plant(forest)
        maximize_flow(network, forest)
        return
    tick(network, forest)
    for k in range(len(changed)):
        _change(network, forest, capacities, scores, changed[k])
    adopt(network, forest)
    maximize_flow(network, forest)


@kernel
def cut_many(network: Any, forest: Forest, capacities: Array, scores: Array, warm: bool, labels: Array) -> None:
    """The labels (b, n) of minimum cuts for b rows of ``scores`` (b, n), one after another.

    With ``warm`` each begins with the flow of the one before, which is faster where few scores change, or all by
    little.
    """
    for k in range(len(scores)):
        if warm and k > 0:
            tick(network, forest)
            for i in range(len(scores[k])):
                if scores[k, i] != scores[k - 1, i]:
                    _change(network, forest, capacities, scores[k], i)
            adopt(network, forest)
            maximize_flow(network, forest)
        else:
            cut(network, forest, capacities, scores[k])
        read_labels(network, forest, labels[k])


@bare
def read_labels(network: Any, forest: Forest, labels: Array) -> None:
    """Writes the labels (n,) of the cut, bool: label 1 for nodes that a positive residue reaches."""
    for i in range(len(labels)):
        labels[i] = forest.trees[i + network.pad] == SOURCE


@bare
def cut_losses(network: Any, forest: Forest, capacities: Array, scores: Array, labels: Array, out: Array) -> None:
    """Writes how much less the best value is where node i has not its label of ``labels``, (n,), for each i in turn.

    These are the differences of max-marginals. ``forest`` holds the minimum cut for ``scores``, whose ``labels`` (n,)
    are given, and holds one again in the end. A node is forced by a score that outweighs its own and all its arcs, and
    is set free when the next one is forced.
    """
    best = 0.0
    for i in range(len(forest.residues)):
        best += max(forest.residues[i], 0.0)
    total, last = best, np.int64(-1)
    for i in range(len(scores) + 1):
        tick(network, forest)
        force, at = 0.0, i + network.pad
        if last >= 0:
            total -= max(forest.residues[last & MASK], 0.0)
            own = scores[(last - network.pad) & MASK]
            forest.residues[last & MASK] = own - _outflow(network, forest, capacities, last)
            total += max(forest.residues[last & MASK], 0.0)
        if i < len(scores):
            force = abs(scores[i])
            for arc in range(begin(network, at), end(network, at)):
                j = head(network, at, arc)
                force += capacities[arc & MASK] + capacities[sister(network, arc, at, j) & MASK]
            force *= 2.0
            if labels[i]:
                force = -force
            total -= max(forest.residues[at & MASK], 0.0)
            forest.residues[at & MASK] += force
            total += max(forest.residues[at & MASK], 0.0)
            reroot(network, forest, at)
        if last >= 0:
            reroot(network, forest, last)
        adopt(network, forest)
        total -= maximize_flow(network, forest)
        if i < len(scores):
            # A force to label 1 is part of the value.
            out[i] = best - (total - max(force, 0.0))
        last = at


@bare
def _change(network: Any, forest: Forest, capacities: Array, scores: Array, i: Any) -> None:
    """Gives node i the residue of its score, and puts it where it then belongs."""
    _renew(network, forest, capacities, scores, i)
    reroot(network, forest, i + network.pad)


@bare
def _renew(network: Any, forest: Forest, capacities: Array, scores: Array, i: Any) -> None:
    """Gives node i the residue of its score."""
    at = i + network.pad
    forest.residues[at & MASK] = scores[i & MASK] - _outflow(network, forest, capacities, at)


@bare
def _outflow(network: Any, forest: Forest, capacities: Array, i: int) -> float:
    """The flow that leaves node i, less what enters it."""
    flow = 0.0
    for arc in range(begin(network, i), end(network, i)):
        flow += capacities[arc & MASK] - forest.capacities[arc & MASK]
    return flow


@kernel
def cut_bounds(network: Any, forest: Forest, capacities: Array, scores: Array, offsets: Array, bounds: Array) -> None:
    """Adds certified upper bounds of the value of all labels of each segment of nodes to ``bounds`` (k,), O(m).

    ``offsets`` (k + 1,) are those of the segments, between which there are no edges. The flow of each arc is put
    between its capacities, and each residue is summed anew, so rounding in the search does no harm. What is added on
    top bounds the rounding of these sums.
    """
    # Of each node: the flow out of it, the absolute sum of its flows, and how many roundings they and the score take.
    out, size, terms = np.zeros(len(forest.residues)), np.zeros(len(forest.residues)), np.full(len(forest.residues), 4)
    for i in range(len(out)):
        for arc in range(begin(network, i), end(network, i)):
            j = head(network, i, arc)
            if j > i and capacities[arc & MASK] != forest.capacities[arc & MASK]:
                back = capacities[sister(network, arc, i, j) & MASK]
                flow = min(max(capacities[arc & MASK] - forest.capacities[arc & MASK], -back), capacities[arc & MASK])
                out[i] += flow
                out[j & MASK] -= flow
                size[i] += abs(flow)
                size[j & MASK] += abs(flow)
                terms[i] += 1
                terms[j & MASK] += 1
    for k in range(len(bounds)):
        total, slip, rounded = 0.0, 0.0, 0.0
        for i in range(offsets[k], offsets[k + 1]):
            at = i + network.pad
            left = scores[i] - out[at]
            rounded += terms[at] * (abs(scores[i]) + size[at])
            if left > 0.0:
                # Compensated summation (Kahan).
                term = left - slip
                after = total + term
                slip = (after - total) - term
                total = after
        bounds[k] += total + 1.2e-16 * rounded
