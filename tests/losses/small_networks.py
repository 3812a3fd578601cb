"""Small networks with labels that are not known, and all their labelings."""

from itertools import product

import numpy as np

from setwise.core.batch import Sets
from setwise.core.networks import Graphs


def grid(height, width, diagonals=False):
    """The edges of a grid with four neighbors, or eight."""
    at = np.arange(height * width).reshape(height, width)
    parts = [(at[:, :-1], at[:, 1:]), (at[:-1], at[1:])]
    if diagonals:
        parts += [(at[:-1, :-1], at[1:, 1:]), (at[1:, :-1], at[:-1, 1:])]
    return np.vstack([np.column_stack([a.ravel(), b.ravel()]) for a, b in parts])


def labelings(p):
    return np.array(list(product([False, True], repeat=p)))


ROWS = labelings(12)


def boxed(rng, kind):
    """Labels of a 3 x 4 grid with a box: -1 inside, 0 outside."""
    labels = np.zeros((3, 4), np.int8)
    if kind == "full":
        labels[:] = -1
    elif kind == "single":
        labels[rng.integers(3), rng.integers(4)] = -1
    elif kind != "empty":
        top, left = rng.integers(2), rng.integers(2)
        labels[top : top + 2, left : left + 3] = -1
        if kind == "strokes":
            labels[top, left], labels[top + 1, left + 2] = 1, 0
    return labels.ravel()


def scored(rng, graphs, kind="reals"):
    """Scores of nodes and edges of a random size and coupling."""
    size, coupling = rng.choice([0.2, 1.0, 5.0]), rng.choice([0.1, 1.0, 3.0])
    scores = size * (rng.standard_normal(graphs.n_scores) + 0.3)
    if isinstance(graphs, Graphs):
        scores[graphs.edge_places] = size * coupling * rng.random(len(graphs.edges))
    return {"reals": scores, "ties": np.round(2 * scores) / 2, "zeros": 0 * scores, "huge": 1e9 * scores}[kind]


def values_of(bound_loss, rows):
    """The value of each labeling of a bound loss of one set, by a batch of as many copies of the set."""
    return bound_loss.take(np.zeros(len(rows), np.int64)).values(rows.ravel())


def won_by(graphs, scores, rows):
    """``<s, phi(y) - target>`` of each labeling."""
    if isinstance(graphs, Sets):
        return rows @ scores - scores @ graphs.target
    agree = rows[:, graphs.edges[:, 0]] == rows[:, graphs.edges[:, 1]]
    return rows @ scores[graphs.node_places] + agree @ scores[graphs.edge_places] - scores @ graphs.target


def index_of(labels):
    return int(np.asarray(labels, dtype=np.int64) @ (1 << np.arange(len(labels))[::-1]))
