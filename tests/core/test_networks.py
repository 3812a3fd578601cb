"""Batches of networks: the places of scores, the scores of labelings, and what is a forest."""

from itertools import pairwise

import numpy as np
import pytest

from setwise.core.networks import ClassGraphs, Graphs
from setwise.losses import FBeta, Hamming, Jaccard, MeanOverClasses, OneClass, ZeroOne

OFFSETS = np.array([0, 3, 4, 8])
EDGES = np.array([[0, 1], [2, 1], [4, 5], [7, 4], [5, 7]])


@pytest.mark.parametrize("tables", [False, True])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_score_of_a_labeling_is_that_of_its_nodes_and_edges(k, tables):
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, yhat = rng.integers(-1, k, 8), rng.integers(0, k, 8)
        graphs = ClassGraphs(y, OFFSETS, EDGES, k, tables)
        scores = rng.standard_normal(graphs.n_scores)
        at = 0
        for i, (first, last) in enumerate(pairwise(OFFSETS)):
            expected, own = 0.0, graphs.take(np.array([i]))
            for node in range(first, last):
                expected += scores[at + yhat[node]]
                at += k
            for a, b in EDGES[(EDGES[:, 0] >= first) & (EDGES[:, 0] < last)]:
                if tables:
                    expected += scores[at + yhat[a] * k + yhat[b]]
                elif yhat[a] == yhat[b]:
                    expected += scores[at]
                at += k * k if tables else 1
            span = slice(*graphs.score_offsets[i : i + 2])
            assert scores[span] @ own.encode(yhat[first:last]) == pytest.approx(expected)
            assert scores[span] @ graphs.encode(yhat)[span] == pytest.approx(expected)
        assert at == graphs.n_scores


def test_unknown_labels_have_no_score():
    graphs = ClassGraphs(np.array([0, -1, 2, 1, -1, 1, 0, 1]), OFFSETS, EDGES, 3, tables=True)
    target = graphs.target
    assert target[graphs.node_columns].sum(axis=1).tolist() == [1, 0, 1, 1, 0, 1, 1, 1]
    assert target[graphs.edge_columns].sum(axis=1).tolist() == [0, 0, 0, 0, 1]


def test_two_labels_are_those_of_graphs():
    rng = np.random.default_rng(1)
    y, yhat = rng.random(8) < 0.5, rng.random(8) < 0.5
    graphs, classes = Graphs(y, OFFSETS, EDGES), ClassGraphs(y.astype(np.int64), OFFSETS, EDGES, 2)
    s = rng.standard_normal(graphs.n_scores)
    both = np.zeros(classes.n_scores)
    both[classes.node_columns[:, 1]] = s[graphs.node_places]
    both[classes.edge_columns] = s[graphs.edge_columns]
    np.testing.assert_allclose(classes.won(both, yhat.astype(np.int64)), graphs.won(s, yhat))


@pytest.mark.parametrize("loss", [Hamming(), ZeroOne(), MeanOverClasses(Jaccard()), OneClass(FBeta(), 1)], ids=repr)
def test_losses_of_k_labels_are_bound(loss):
    rng = np.random.default_rng(2)
    graphs = ClassGraphs(rng.integers(0, 3, 8), OFFSETS, EDGES, 3)
    guess, bound_loss = rng.integers(0, 3, 8), loss.bind(graphs)
    np.testing.assert_array_equal(bound_loss.values(graphs.labels), 0)
    assert (bound_loss.values(guess) > 0).any()
    part = np.array([2, 0])
    np.testing.assert_allclose(
        bound_loss.take(part).values(np.concatenate([guess[4:], guess[:3]])), bound_loss.values(guess)[part]
    )


def test_forests_are_known():
    assert ClassGraphs(np.zeros(8, np.int64), OFFSETS, EDGES, 2).forest.tolist() == [True, True, False]
    twice = Graphs(np.zeros(3, bool), np.array([0, 3]), np.array([[0, 1], [1, 0]]))
    assert not twice.forest[0]
    assert Graphs(np.zeros(3, bool), np.array([0, 3]), EDGES[:0]).forest[0]
    chain = np.column_stack([np.arange(999), np.arange(1, 1000)])
    assert Graphs(np.zeros(1000, bool), np.array([0, 1000]), chain).forest[0]
    closed = np.vstack([chain, [[999, 0]]])
    assert not Graphs(np.zeros(1000, bool), np.array([0, 1000]), closed).forest[0]


@pytest.mark.parametrize(
    ("labels", "k", "words"), [([0, 3], 3, "labels must be in -1..2; got 0 to 3"), ([0, 1], 1, "k must be at least 2")]
)
def test_what_does_not_fit_is_refused(labels, k, words):
    with pytest.raises(ValueError, match=words):
        ClassGraphs(np.array(labels), np.array([0, 2]), np.array([[0, 1]]), k)
