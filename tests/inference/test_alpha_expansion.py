"""AlphaExpansion is between half of what can be lost and the best labeling, which it is for two labels."""

import numpy as np
import pytest

from rounds import rounds
from setwise.core import enumerate as brute
from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.exceptions import Refusal
from setwise.core.networks import ClassGraphs, Graphs
from setwise.inference import AlphaExpansion, GreedySearch, MaxFlow, TreeReweightedMessages, cuts
from setwise.kernels.threads import thread_limit
from setwise.losses import Hamming, Jaccard, MeanOverClasses


def random_batch(rng, k, tables=False, unknown=False, sizes=(6,)):
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    pairs = [(a, b) for i in range(len(sizes)) for a in range(*offsets[i : i + 2]) for b in range(*offsets[i : i + 2])]
    edges = np.array([(a, b) for a, b in pairs if a != b and rng.random() < 0.3], np.int64).reshape(-1, 2)
    labels = rng.integers(0, k, offsets[-1])
    return ClassGraphs(np.where(unknown & (rng.random(len(labels)) < 0.3), -1, labels), offsets, edges, k, tables)


def random_scores(rng, batch, kind):
    scores = rng.standard_normal(batch.n_scores)
    pairs = rng.choice([0.1, 1.0, 3.0]) * rng.random(batch.edge_columns.shape)
    if kind == "metric":
        # Distances of places on a line, truncated.
        steps = np.minimum(np.abs(np.subtract.outer(np.arange(batch.k), np.arange(batch.k))), 2.0)
        pairs = -pairs[:, :1] * steps.ravel()
    if kind == "any":
        pairs = rng.standard_normal(batch.edge_columns.shape)
    scores[batch.edge_columns] = pairs
    return np.round(2 * scores) if rng.random() < 0.3 else scores


@pytest.mark.parametrize("bound", [TreeReweightedMessages(), None])
@pytest.mark.parametrize("kind", ["potts", "metric", "any"])
def test_value_best_and_bound(kind, bound):
    rng = np.random.default_rng(0)
    best_found, cases = 0, rounds(100, 36)
    for case in range(cases):
        k = 2 + case % 3
        batch = random_batch(rng, k, tables=kind != "potts", unknown=case % 4 == 0, sizes=(5,))
        scores = random_scores(rng, batch, kind)
        rows = brute.labelings(5, k)
        bound_loss = (BoundLoss(batch), Hamming().bind(batch), Hamming().bind(batch).zero())[case // 3 % 3]
        values = brute.objectives(bound_loss, scores, rows)
        found = AlphaExpansion(bound).prepare(bound_loss).maximize(scores)
        assert found.values[0] == pytest.approx(values[(rows == found.labels).all(axis=1)][0])
        assert found.values[0] <= values.max() + 1e-9
        assert values.max() <= found.bounds[0] + 1e-9
        assert not found.exact[0] or found.values[0] >= values.max() - 1e-9
        best_found += found.values[0] >= values.max() - 1e-9
        if kind == "potts":
            nodes = scores[batch.node_columns]
            most = nodes.max(axis=1).sum() + scores[batch.edge_columns].sum() - scores @ batch.target
            if case // 3 % 3 == 0:
                assert most - found.values[0] <= 2.0 * (most - values.max()) + 1e-9, "the theorem of factor 2"
    assert best_found >= (0.95 if kind != "any" else 0.5) * cases


def test_two_labels_are_cut():
    rng = np.random.default_rng(1)
    for _ in range(60):
        batch = random_batch(rng, 2, sizes=(8, 1, 12))
        scores = random_scores(rng, batch, "potts")
        graphs = Graphs(batch.labels == 1, batch.offsets, batch.edges)
        own = np.zeros(graphs.n_scores)
        nodes = scores[batch.node_columns]
        own[graphs.node_places] = nodes[:, 1] - nodes[:, 0]
        own[graphs.edge_places] = scores[batch.edge_columns[:, 0]]
        found = AlphaExpansion(None).prepare(Hamming().bind(batch)).maximize(scores)
        expected = MaxFlow().prepare(Hamming().bind(graphs)).maximize(own)
        np.testing.assert_allclose(found.values, expected.values, atol=1e-9)


def test_no_single_label_wins_anything_more():
    rng = np.random.default_rng(2)
    batch = random_batch(rng, 3, sizes=(7,))
    scores = random_scores(rng, batch, "potts")
    found = AlphaExpansion(None).prepare(BoundLoss(batch)).maximize(scores)
    moves = brute.labelings(7, 2).astype(bool)
    for alpha in range(3):
        rows = np.where(moves, alpha, found.labels)
        assert brute.objectives(BoundLoss(batch), scores, rows).max() <= found.values[0] + 1e-9


def test_blocks_and_threads_change_no_value(monkeypatch):
    rng = np.random.default_rng(3)
    batch = random_batch(rng, 4, sizes=(5, 9, 1, 12, 7))
    scores, bound_loss = random_scores(rng, batch, "potts"), Hamming().bind(batch)
    expected = AlphaExpansion().prepare(bound_loss).maximize(scores)
    monkeypatch.setattr(cuts, "BLOCK", 6)
    with thread_limit(2):
        found = AlphaExpansion().prepare(bound_loss).maximize(scores)
    np.testing.assert_allclose(found.values, expected.values)
    assert (expected.values <= expected.bounds).all()
    alone = AlphaExpansion().prepare(bound_loss).take(np.array([3]))
    span = slice(*batch.score_offsets[3:5])
    assert alone.maximize(scores[span]).values[0] == pytest.approx(expected.values[3])


def test_what_does_not_fit_is_refused():
    batch = ClassGraphs(np.array([0, 2]), np.array([0, 2]), np.array([[0, 1]]), 3)
    for method, bound_loss, words in (
        (AlphaExpansion(), Hamming().bind(Sets.single([1, 0])), "AlphaExpansion refuses Sets: it takes Class"),
        (
            AlphaExpansion(),
            MeanOverClasses(Jaccard()).bind(batch),
            "the loss is not a sum of one cost per mistake",
        ),
        (AlphaExpansion(GreedySearch()), Hamming().bind(batch), "GreedySearch refuses"),
    ):
        with pytest.raises(Refusal, match=words):
            method.prepare(bound_loss)
    with pytest.raises(Refusal, match="AlphaExpansion refuses slack rescaling"):
        AlphaExpansion().prepare(Hamming().bind(batch), slack=True)
    with pytest.raises(ValueError, match="max_iter must be at least 1"):
        AlphaExpansion(max_iter=0)
    with pytest.raises(TypeError, match="bound must be of the kind Inference"):
        AlphaExpansion(bound=3)
