"""Minimum cuts of networks, also again after changes, for all biases, for moves of alpha-expansion, by roof duality.

The functions speak of the n real nodes of a network; the nodes of a forest begin with the pad of its layout.

**All biases** in one loop: the flow is kept, and each cut parts the networks in place. A set of nodes has the bias at
which its scores sum to 0. If a flow carries all of them away, the whole set turns there. Otherwise a minimum cut parts
it, and all arcs from the positive part to the other one are full. They stay so for all other biases: they become scores
of their ends, and the flow in both parts goes on as it is (Gallo, Grigoriadis and Tarjan 1989; Tarjan, Ward, Zhang,
Zhou and Mao 2006).

Roof duality: networks of two labels whose edges attract or repel, by the cut of a network of twice the nodes.

Node i has a mate ``i + n``, which stands for its contrary. An edge that attracts joins its two nodes, and their mates;
one that repels joins each node with the mate of the other. Each arc has a mirror: that of the arc from u to v leads
from the mate of v to that of u. The cut gives a node and its mate different labels, or leaves both open.
"""

from typing import Any

import numpy as np

from setwise.kernels.jit import Array, bare, kernel
from setwise.kernels.max_flow import (
    FREE,
    NONE,
    SINK,
    SOURCE,
    TIME,
    SearchForest,
    adopt,
    maximize_flow,
    plant,
    plant_node,
    push_across,
    push_from,
    reroot,
    tick,
)
from setwise.kernels.networks import MASK, Arcs, arcs, begin, end, head, sister


@kernel
def cut(network: Any, forest: SearchForest, capacities: Array, scores: Array) -> None:
    """A minimum cut from nothing: of ``capacities`` (m,) >= 0 and the ``scores`` (n,) of label 1."""
    if len(scores) + 2 * network.pad != len(forest.residues) or len(capacities) != len(forest.capacities):
        raise ValueError("a network has other nodes than scores")
    forest.capacities[:] = capacities
    forest.residues[:] = 0.0
    for i in range(len(scores)):
        forest.residues[i + network.pad] = scores[i]
    push_across(network, forest)
    plant(forest)
    maximize_flow(network, forest)


@bare
def recut(network: Any, forest: SearchForest, capacities: Array, scores: Array, changed: Array) -> None:
    """The minimum cut for new ``scores`` (n,) from the flow and the trees before, where only ``changed`` ones are new.

    ``changed`` are different numbers of nodes, int64. Their residues are computed anew from the flow, so that rounding
    does not add up. Where most nodes have changed, trees that begin anew are faster than trees that are mended.
    """
    if 2 * len(changed) > len(scores):
        for k in range(len(changed)):
            _renew(network, forest, capacities, scores, changed[k])
        push_across(network, forest)
        plant(forest)
    else:
        tick(network, forest)
        for k in range(len(changed)):
            _change(network, forest, capacities, scores, changed[k])
        adopt(network, forest)
    maximize_flow(network, forest)


@kernel
def cut_many(network: Any, forest: SearchForest, capacities: Array, scores: Array, warm: bool, labels: Array) -> None:
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
def read_labels(network: Any, forest: SearchForest, labels: Array) -> None:
    """Writes the labels (n,) of the cut, bool: label 1 for nodes that a positive residue reaches."""
    for i in range(len(labels)):
        labels[i] = forest.trees[i + network.pad] == SOURCE


@bare
def cut_losses(network: Any, forest: SearchForest, capacities: Array, scores: Array, labels: Array, out: Array) -> None:
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
            _renew(network, forest, capacities, scores, last - network.pad)
            total += max(forest.residues[last & MASK], 0.0)
        if i < len(scores):
            force = abs(scores[i])
            for arc in range(begin(network, at), end(network, at)):
                j = head(network, at, arc)
                force += capacities[arc & MASK] + capacities[sister(network, arc, at, j) & MASK]
            # Twice as much as the node can win elsewhere, so that the force leaves no tie, not even by rounding.
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
def _change(network: Any, forest: SearchForest, capacities: Array, scores: Array, i: Any) -> None:
    """Gives node i the residue of its score, and puts it where it then belongs."""
    _renew(network, forest, capacities, scores, i)
    reroot(network, forest, i + network.pad)


@bare
def _renew(network: Any, forest: SearchForest, capacities: Array, scores: Array, i: Any) -> None:
    """Gives node i the residue of its score."""
    at = i + network.pad
    forest.residues[at & MASK] = scores[i & MASK] - _outflow(network, forest, capacities, at)


@bare
def _outflow(network: Any, forest: SearchForest, capacities: Array, i: int) -> float:
    """The flow that leaves node i, less what enters it."""
    flow = 0.0
    for arc in range(begin(network, i), end(network, i)):
        flow += capacities[arc & MASK] - forest.capacities[arc & MASK]
    return flow


@kernel
def cut_bounds(
    network: Any, forest: SearchForest, capacities: Array, scores: Array, offsets: Array, bounds: Array
) -> None:
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
        # A rounding loses 1.11e-16 of a number at most; the rest is for products of roundings.
        bounds[k] += total + 1.2e-16 * rounded


@kernel
def nest(
    network: Any, forest: SearchForest, capacities: Array, scores: Array, part: Array, turned: Array, point: Array
) -> None:
    """Writes the bias at which each node turns, ``turned`` (n,), and what flows out of it less its score, ``point``.

    The two differ by rounding alone; but ``point`` is that of a flow between the capacities, whatever was rounded.
    ``part`` (n,) int64 are the numbers of the networks to which the nodes of ``scores`` (n,) belong, from 0 on. It is
    overwritten, and so are ``capacities`` (m,) >= 0.
    """
    n, pad = len(scores), network.pad
    if n + 2 * pad != len(forest.residues) or len(capacities) != len(forest.capacities):
        raise ValueError("a network has other nodes than scores")
    forest.capacities[:] = capacities
    forest.residues[:] = 0.0
    plant(forest)
    # Scores with those of the arcs that were cut, and the nodes whose sets are not done.
    own, left, count = scores.copy(), np.empty(n, np.int64), n
    sums, sizes, ones = np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
    names, parts = np.empty((2, n), np.int64), 0
    for i in range(n):
        left[i], parts = i, max(parts, part[i] + 1)
    while count > 0:
        for s in range(parts):
            sums[s], sizes[s], ones[s] = 0.0, 0, 0
            names[0, s] = names[1, s] = -1
        for k in range(count):
            sums[part[left[k]]] += own[left[k]]
            sizes[part[left[k]]] += 1
        for k in range(count):
            i = left[k]
            turned[i] = -sums[part[i]] / sizes[part[i]]
            forest.residues[i + pad] = own[i] + turned[i] - _outflow(network, forest, capacities, i + pad)
        _cut(network, forest, left[:count])
        for k in range(count):
            ones[part[left[k]]] += forest.trees[left[k] + pad] == SOURCE
        for k in range(count):
            i = left[k]
            if forest.trees[i + pad] == SOURCE and ones[part[i]] < sizes[part[i]]:
                _part(network, forest, capacities, own, i + pad)
        count, parts = _renumber(forest, left, count, part, sizes, ones, names, pad)
    _settle(network, forest, capacities, own, point)


@bare
def _cut(network: Any, forest: SearchForest, left: Array) -> None:
    """Goes on with the flow of the nodes ``left`` until it is maximal."""
    for i in left:
        push_from(network, forest, i + network.pad)
    # The queue is empty, and no node of other trees is joined with these.
    forest.clock[TIME] = 0
    for i in left:
        plant_node(forest, i + network.pad)
    maximize_flow(network, forest)


@bare
def _part(network: Any, forest: SearchForest, capacities: Array, own: Array, i: Any) -> None:
    """Cuts the arcs between the positive node i and others that are not: they are scores of their ends from now on."""
    for arc in range(begin(network, i), end(network, i)):
        j = head(network, i, arc)
        back = sister(network, arc, i, j)
        if forest.trees[j & MASK] != SOURCE and (capacities[arc & MASK] > 0.0 or capacities[back & MASK] > 0.0):
            own[(i - network.pad) & MASK] -= capacities[arc & MASK]
            own[(j - network.pad) & MASK] += capacities[arc & MASK]
            capacities[arc & MASK] = capacities[back & MASK] = 0.0
            forest.capacities[arc & MASK] = forest.capacities[back & MASK] = 0.0


@bare
def _renumber(
    forest: SearchForest, left: Array, count: int, part: Array, sizes: Array, ones: Array, names: Array, pad: int
) -> tuple[int, int]:
    """Numbers the parts of sets that were cut, and moves their nodes to the front of ``left``; how many of both."""
    kept, fresh = 0, 0
    for k in range(count):
        i = left[k]
        at, old, side = i + pad, part[i], np.int64(forest.trees[i + pad] == SOURCE)
        if ones[old] == 0 or ones[old] == sizes[old]:
            forest.residues[at], forest.trees[at], forest.parents[at] = 0.0, FREE, NONE
            continue
        if names[side, old] < 0:
            names[side, old] = fresh
            fresh += 1
        part[i] = names[side, old]
        left[kept] = i
        kept += 1
    return kept, fresh


@bare
def _settle(network: Any, forest: SearchForest, capacities: Array, own: Array, point: Array) -> None:
    """What the flow carries out of each node less its score; the flow of each arc is put between its capacities."""
    n, pad = len(own), network.pad
    for i in range(n):
        point[i] = -own[i]
    for i in range(n):
        at = i + pad
        for arc in range(begin(network, at), end(network, at)):
            j = head(network, at, arc)
            if j > at and capacities[arc & MASK] != forest.capacities[arc & MASK]:
                back = capacities[sister(network, arc, at, j) & MASK]
                flow = min(max(capacities[arc & MASK] - forest.capacities[arc & MASK], -back), capacities[arc & MASK])
                point[i] += flow
                point[(j - pad) & MASK] -= flow


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
def persistent(forest: SearchForest, labels: Array) -> None:
    """Writes the labels (n,) int8 that all best labelings have, and -1 where the cut leaves a node open, O(n)."""
    for i in range(len(labels)):
        labels[i] = _label(forest, i, len(labels))


@bare
def _label(forest: SearchForest, i: Any, n: int) -> Any:
    """The label that the cut gives node i, -1 for none.

    Its mate is asked too: the flow can use up the scores of both sides together, and what rounding leaves of one of
    them then reaches nodes and their mates.
    """
    own, mate = forest.trees[i & MASK], forest.trees[(i + n) & MASK]
    if own == SOURCE and mate == SINK:
        return 1
    return 0 if own == SINK and mate == SOURCE else -1


@bare
def close(network: Any, forest: SearchForest, mirrors: Array, labels: Array, marks: Array, stack: Array) -> None:
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
            # A label that gains nothing stays, or it could change for ever.
            if labels[i] < 0 or (gain != 0.0 and better != labels[i]):
                labels[i] = better
                changed = True
        if not changed:
            break
