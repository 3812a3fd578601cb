"""The bias at which each node turns, against all labelings and against cuts at single biases."""

from itertools import product

import numpy as np
import pytest

from setwise.core.graphs import Graphs
from setwise.core.structure import Structure
from setwise.inference import MaxFlow
from setwise.inference.nested_cuts import flips


def networks(seed, p=7, whole=False):
    rng = np.random.default_rng(seed)
    pairs = np.array([(a, b) for a in range(p) for b in range(a + 1, p)])
    edges = np.vstack([pairs[rng.random(len(pairs)) < 0.4] + start for start in (0, p)])
    graphs = Graphs(rng.random(2 * p) < 0.5, np.array([0, p, 2 * p]), edges)
    draw = (lambda n: rng.integers(-3, 4, n).astype(float)) if whole else rng.standard_normal
    scores = np.empty(graphs.n_scores)
    scores[graphs.node_places], scores[graphs.edge_places] = draw(2 * p), np.abs(draw(len(edges)))
    return graphs, scores


def with_bias(graphs, scores, bias):
    moved = scores.copy()
    moved[graphs.node_places] += bias
    return moved


@pytest.mark.parametrize("whole", [False, True])
def test_nodes_turn_where_the_best_of_all_labelings_changes(whole):
    for seed in range(10):
        graphs, scores = networks(seed, 5, whole)
        t = flips(graphs, scores)
        ends = np.unique(t)
        between = np.concatenate([[ends[0] - 1], (ends[:-1] + ends[1:]) / 2, [ends[-1] + 1]])
        rows = np.array(list(product([False, True], repeat=5)))
        for bias in np.concatenate([between, ends]):
            moved = with_bias(graphs, scores, bias)
            for i in range(2):
                one, s = graphs.take(np.array([i])), moved[graphs.score_offsets[i] : graphs.score_offsets[i + 1]]
                values = np.array([one.encode(row) @ s for row in rows])
                best = np.flatnonzero(values >= values.max() - 1e-9)
                # Of the best labelings that with the fewest positives counts.
                fewest = rows[best[rows[best].sum(axis=1).argmin()]]
                turned = t[graphs.offsets[i] : graphs.offsets[i + 1]]
                np.testing.assert_array_equal(turned < bias - 1e-9, fewest)


def test_cuts_at_single_biases_are_nested_and_agree():
    rng = np.random.default_rng(1)
    side = 12
    at = np.arange(side * side).reshape(side, side)
    one = np.vstack(
        [np.column_stack([at[:, :-1].ravel(), at[:, 1:].ravel()]), np.column_stack([at[:-1].ravel(), at[1:].ravel()])]
    )
    graphs = Graphs(np.zeros(2 * side**2, dtype=bool), np.array([0, 1, 2]) * side**2, np.vstack([one, one + side**2]))
    scores = np.abs(rng.standard_normal(graphs.n_scores))
    scores[graphs.node_places] = 2 * rng.standard_normal(graphs.total)
    t, cut = flips(graphs, scores), MaxFlow().prepare(Structure(graphs))
    before = np.zeros(graphs.total, dtype=bool)
    for bias in np.quantile(t, np.linspace(0.01, 0.99, 23)) + 1e-6:
        found = cut.maximize(with_bias(graphs, scores, bias)).labels
        assert (found >= before).all()
        np.testing.assert_array_equal(found, t < bias)
        before = found


def test_without_edges_each_node_turns_at_its_score():
    graphs = Graphs(np.zeros(4, dtype=bool), np.array([0, 1, 4]), np.zeros((0, 2), dtype=np.int64))
    scores = np.array([1.0, -2.0, 0.0, 5.0])
    np.testing.assert_allclose(flips(graphs, scores), -scores)


def test_strong_edges_turn_a_whole_graph_at_its_mean_score():
    graphs, scores = networks(0)
    scores[graphs.edge_places] = 1e3
    graphs = Graphs(graphs.labels, graphs.offsets, np.array([[i, i + 1] for i in (*range(6), *range(7, 13))]))
    s = np.full(graphs.n_scores, 1e3)
    s[graphs.node_places] = nodes = np.random.default_rng(0).standard_normal(14)
    np.testing.assert_allclose(flips(graphs, s), -np.repeat(nodes.reshape(2, 7).mean(axis=1), 7), atol=1e-9)


def test_malformed_arguments_are_refused():
    graphs, scores = networks(0)
    with pytest.raises(TypeError, match="graphs must be of the kind Graphs"):
        flips(None, scores)
    with pytest.raises(ValueError, match="scores must have shape"):
        flips(graphs, scores[:-1])
    with pytest.raises(ValueError, match="scores of edges from 0 on"):
        flips(graphs, -1 - np.abs(scores))
