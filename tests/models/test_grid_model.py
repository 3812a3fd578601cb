"""Images as features: the scores are those of GraphModel with the edges written out."""

import numpy as np
import pytest

from setwise.core.networks import Graphs
from setwise.models import GraphModel, GridModel

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("neighbors", [4, 8])
@pytest.mark.parametrize("shapes", [[(4, 5)] * 3, [(4, 5), (1, 3), (2, 2)], [(1, 1)]])
def test_scores_are_those_of_all_edges(neighbors, shapes):
    X, colors = ([RNG.random((*shape, d)) for shape in shapes] for d in (2, 3))
    graphs = Graphs.images([RNG.random(shape) < 0.5 for shape in shapes], neighbors)
    model = GridModel(X, graphs, colors)
    w = RNG.random(model.size)
    assert model.size == 5
    offsets = np.concatenate([[0], np.cumsum([h * v for h, v in shapes])])
    for i, (x, c) in enumerate(zip(X, colors, strict=True)):
        own = (graphs.edges >= offsets[i]).all(axis=1) & (graphs.edges < offsets[i + 1]).all(axis=1)
        edges = graphs.edges[own] - offsets[i]
        flat = c.reshape(-1, 3)
        squares = ((flat[edges[:, 0]] - flat[edges[:, 1]]) ** 2).sum(axis=1)
        Z = np.column_stack([np.ones(len(edges)), np.exp(-squares / (2 * squares.mean()) if len(edges) else squares)])
        one = GraphModel(x.reshape(-1, 2), Z, Graphs(np.zeros(len(flat), dtype=bool), np.array([0, len(flat)]), edges))
        np.testing.assert_allclose(model.scores(w, np.array([i])), one.scores(w))


@pytest.mark.parametrize("neighbors", [4, 8])
def test_features_of_edges_by_direction(neighbors):
    shapes = [(3, 4), (2, 5)]
    ways = [(0, 1), (1, 0), (1, 1), (1, -1)][: neighbors // 2]
    Z = [[RNG.random((h - a, w - abs(b), 2)) for h, w in shapes] for a, b in ways]
    graphs = Graphs.images([np.zeros(shape, dtype=bool) for shape in shapes], neighbors)
    model = GridModel([np.ones((*shape, 1)) for shape in shapes], graphs, Z=Z)
    expected, start = {}, 0
    for i, (h, w) in enumerate(shapes):
        at = np.arange(h * w).reshape(h, w) + start
        start += h * w
        for (a, b), values in zip(ways, Z, strict=True):
            first = at[: h - a, max(-b, 0) : w - max(b, 0)]
            second = at[a:, max(b, 0) : w + min(b, 0)]
            for p, q, z in zip(first.ravel(), second.ravel(), values[i].reshape(-1, 2), strict=True):
                expected[p, q] = z
    assert len(expected) == len(graphs.edges)
    for edge, z in zip(graphs.edges.tolist(), model.Z, strict=True):
        np.testing.assert_array_equal(z, expected[tuple(edge)])


def test_without_colors_edges_have_one_weight():
    graphs = Graphs.images(np.zeros((2, 3, 3), dtype=bool))
    model = GridModel(np.ones((2, 3, 3, 1)), graphs)
    np.testing.assert_array_equal(model.Z, np.ones((24, 1)))
    np.testing.assert_array_equal(model.lower, [-np.inf, -np.inf, 0.0])


def test_other_graphs_are_refused():
    plain = Graphs(np.zeros(2, dtype=bool), np.array([0, 2]), np.array([[0, 1]]))
    volume = Graphs.images(np.zeros((1, 2, 2, 2), dtype=bool), 6)
    for graphs in (plain, volume):
        with pytest.raises(ValueError, match="graphs must be made of images"):
            GridModel(np.ones((1, 1, 2, 1)), graphs)
    with pytest.raises(ValueError, match="Z must be None where colors are given"):
        GridModel(
            np.ones((1, 1, 2, 1)), Graphs.images(np.zeros((1, 1, 2), dtype=bool)), np.ones((1, 1, 2, 1)), [[], []]
        )
