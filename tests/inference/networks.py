"""Random networks of k labels with their scores, for tests of inference."""

from itertools import combinations

import numpy as np

from setwise.core import enumerate as brute
from setwise.core.networks import ClassGraphs, Graphs

KINDS = ("reals", "reals", "ties", "zeros", "huge", "attracting")


def grid(height, width):
    at = np.arange(height * width).reshape(height, width)
    across = np.column_stack([at[:, :-1].ravel(), at[:, 1:].ravel()])
    return np.vstack([across, np.column_stack([at[:-1].ravel(), at[1:].ravel()])])


def chain(p):
    return np.column_stack([np.arange(p - 1), np.arange(1, p)])


def tree(rng, p):
    """Edges of either direction to an earlier node, or to none."""
    joined = [(i, int(rng.integers(0, i))) for i in range(1, p) if rng.random() < 0.9]
    return mixed(rng, np.array(joined, dtype=np.int64).reshape(-1, 2))


def some(rng, p):
    """Some of all pairs, some of them twice."""
    pairs = [e for e in combinations(range(p), 2) for _ in range(2) if rng.random() < 0.35]
    return mixed(rng, np.array(pairs, dtype=np.int64).reshape(-1, 2))


def mixed(rng, edges):
    """The edges in any order and direction."""
    edges = np.where(rng.random((len(edges), 1)) < 0.5, edges, edges[:, ::-1])
    return np.ascontiguousarray(rng.permutation(edges))


def network(rng, shape):
    """One network of random labels, some of them unknown; two labels make Graphs now and then."""
    k = int(rng.integers(2, 4 if shape == "grid" else 5))
    p = int(rng.integers(1, 7 if k < 4 else 6))
    edges = {"tree": tree, "some": some, "chain": lambda rng, p: chain(p), "grid": lambda rng, p: grid(2, 3)}[shape](
        rng, p
    )
    p, tables = 6 if shape == "grid" else p, bool(rng.integers(2))
    labels = rng.integers(-1 if rng.random() < 0.5 else 0, k, p)
    ends = np.array([0, p])
    if k == 2 and not tables:
        return Graphs(labels.astype(np.int8), ends, edges)
    return ClassGraphs(labels, ends, edges, k, tables)


def scores(rng, batch, kind):
    s = rng.choice([0.1, 1.0, 5.0]) * rng.standard_normal(batch.n_scores)
    s[batch.edge_columns] *= rng.choice([0.3, 1.0, 2.0])
    if kind == "attracting":
        s[batch.edge_columns] = np.abs(s[batch.edge_columns])
    return {"ties": np.round(s), "zeros": 0.0 * s, "huge": 1e9 * s}.get(kind, s)


def labelings(batch):
    """All labelings of a batch of one set, in its code."""
    rows = brute.labelings(batch.total, batch.n_labels)
    return rows == 1 if isinstance(batch, Graphs) else rows


def slip(s):
    """What rounding may change in sums of the scores."""
    return 1e-11 * (1.0 + np.abs(s).sum())
