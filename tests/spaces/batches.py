"""Random batches of single wrong labels, with lists of all labels of each input."""

from itertools import pairwise, permutations, product

import numpy as np

from kernels.score_lists import drawn
from setwise.core.networks import ClassGraphs, Graphs
from setwise.spaces.matchings import Assignments
from setwise.spaces.network_labelings import Labelings
from setwise.spaces.sequences import Sequences

KINDS = ("sequences", "matchings", "networks", "classes")


def some_batch(rng, kind, n=3, right=3, most=4):
    """A batch of n inputs with up to ``right`` right labels each, and the list of all labels of each input."""
    if kind == "sequences":
        k, lengths = int(rng.integers(1, 4)), rng.integers(1, most + 1, n)
        every = [np.array(list(product(range(k), repeat=int(T)))) for T in lengths]
        return Sequences(lengths, k, some_truths(rng, every, right)), every
    if kind == "matchings":
        rows = rng.integers(1, most, n)
        shapes = np.column_stack([rows, rows + rng.integers(0, 2, n)])
        every = [np.array(list(permutations(range(m), r))) for r, m in shapes.tolist()]
        return Assignments(shapes, some_truths(rng, every, right)), every
    k, sizes = 2 if kind == "networks" else 3, rng.integers(1, most, n)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    edges = [(a, a + 1) for low, high in pairwise(offsets) for a in range(low, high - 1)]
    edges = np.array(edges, dtype=np.int64).reshape(-1, 2)
    every = [np.array(list(product(range(k), repeat=int(p)))) for p in sizes]
    if kind == "networks":
        networks = Graphs(np.zeros(offsets[-1], bool), offsets, edges)
    else:
        networks = ClassGraphs(np.zeros(offsets[-1], np.int64), offsets, edges, k, True)
    return Labelings(networks, some_truths(rng, every, right)), every


def some_truths(rng, every, right):
    """Some of all labels, none of them included."""
    return [rows[rng.permutation(len(rows))[: rng.integers(0, right + 1)]] for rows in every]


def some_scores(rng, batch, kind):
    return drawn(rng, batch.n_scores, kind)


def own(batch, i, scores):
    return scores[batch.score_offsets[i] : batch.score_offsets[i + 1]]


def objectives(batch, i, scores, labels, costs, slack):
    """The objective of each label, by psi and the definition; its membership is wrong."""
    one = batch.take(np.array([i]))
    part = own(batch, i, scores)
    psi = np.array([one.indicators(label + 1) for label in labels])
    f = np.array([(row * part).sum() for row in psi])
    right = np.array([any((label == y).all() for y in batch.truths[i]) for label in labels])
    won = np.where(right, -f, f)
    cost = np.zeros(len(labels)) if costs is None else costs.factor * costs.of(one, 0, labels)
    return cost * (1.0 + won) if slack else cost + won


def slip_of(batch, i, scores, costs, values):
    size = 1.0 + np.abs(own(batch, i, scores)).sum()
    return 1e-11 * (size * (1.0 if costs is None else 1.0 + costs.factor * costs.most) + np.abs(values).max())
