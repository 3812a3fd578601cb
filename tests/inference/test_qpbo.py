"""QPBO is enumeration within its certificate; persistent labels are in all best labelings; cuts are MaxFlow."""

from itertools import pairwise

import numpy as np
import pytest

from rounds import rounds
from setwise.core import enumerate as brute
from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.exceptions import Refusal
from setwise.core.networks import ClassGraphs, Graphs
from setwise.inference import QPBO, MaxFlow, qpbo
from setwise.kernels.threads import thread_limit
from setwise.losses import Hamming, Jaccard


def random_edges(rng, offsets, share=0.4):
    spans = pairwise(offsets)
    edges = [(a, b) for first, last in spans for a in range(first, last) for b in range(first, last) if a != b]
    return np.array([edge for edge in edges if rng.random() < share], np.int64).reshape(-1, 2)


def random_batch(rng, kind, unknown=False, largest=7):
    """A batch of one set with edges of both signs, and its scores."""
    n = int(rng.integers(1, largest + 1))
    offsets, labels = np.array([0, n]), rng.integers(0, 2, n)
    edges = random_edges(rng, offsets)
    if unknown:
        labels = np.where(rng.random(n) < 0.3, -1, labels)
    if kind == "graphs":
        batch = Graphs(labels.astype(np.int8 if unknown else bool), offsets, edges)
    else:
        batch = ClassGraphs(labels.astype(np.int64), offsets, edges, 2, kind == "tables")
    scores = rng.choice([0.1, 1.0, 3.0]) * rng.standard_normal(batch.n_scores)
    scores[batch.node_columns.ravel()] = rng.standard_normal(batch.node_columns.size)
    return batch, {0: scores, 1: np.round(scores), 2: 0 * scores, 3: 1e12 * scores}[
        int(rng.choice(4, p=[0.5, 0.3, 0.1, 0.1]))
    ]


def every(batch):
    rows = brute.labelings(batch.total, 2)
    return rows.astype(bool) if isinstance(batch, Graphs) else rows


@pytest.mark.draw(6)
@pytest.mark.parametrize("kind", ["graphs", "potts", "tables"])
@pytest.mark.parametrize("unknown", [False, True])
def test_value_best_bound_and_persistent_labels(kind, unknown):
    rng = np.random.default_rng(0)
    exact, best_found, cases = 0, 0, rounds(150, 100)
    for _ in range(cases):
        batch, scores = random_batch(rng, kind, unknown)
        for bound_loss in (BoundLoss(batch), (1.5 * Hamming()).bind(batch), Hamming().bind(batch).zero()):
            one = QPBO().prepare(bound_loss)
            found = one.maximize(scores)
            rows = every(batch)
            values = brute.objectives(bound_loss, scores, rows)
            slip = 1e-11 * (1.0 + np.abs(scores).sum())
            own = values[(rows == found.labels).all(axis=1)][0]
            assert found.values[0] == pytest.approx(own, abs=slip)
            assert found.values[0] <= values.max() + slip
            assert values.max() <= found.bounds[0] + slip
            assert not found.exact[0] or own >= values.max() - slip
            certain = QPBO().persistent(bound_loss, scores)
            optima = rows[values >= values.max() - slip]
            agree = ((certain == optima) | (certain < 0)).all(axis=1)
            # Losses are lost in the rounding of huge scores, and more labelings look like the best ones.
            assert agree.any() if np.abs(scores).max() > 1e9 else agree.all()
            assert found.labels.dtype == rows.dtype
            exact += found.exact[0]
            best_found += own >= values.max() - slip
    assert best_found >= 0.95 * 3 * cases
    assert 0.5 * 3 * cases < exact < 3 * cases, "roof duality should be tight often, and not always"


@pytest.mark.parametrize("rounds", [0, 5])
def test_a_grid_of_mixed_signs(rounds):
    rng = np.random.default_rng(1)
    rows, edges = brute.labelings(12, 2).astype(bool), Graphs.images([np.zeros((3, 4), bool)], 4).edges
    found_best = 0
    for _ in range(100):
        graphs = Graphs(rng.random(12) < 0.5, np.array([0, 12]), edges)
        scores = rng.standard_normal(graphs.n_scores)
        scores[graphs.edge_places] *= rng.choice([0.3, 1.0, 3.0])
        agree = rows[:, edges[:, 0]] == rows[:, edges[:, 1]]
        values = rows @ scores[graphs.node_places] + agree @ scores[graphs.edge_places] - scores @ graphs.target
        found = QPBO(rounds).prepare(BoundLoss(graphs)).maximize(scores)
        assert found.values[0] <= values.max() + 1e-9
        assert values.max() <= found.bounds[0] + 1e-9
        found_best += found.values[0] >= values.max() - 1e-9
    assert found_best >= (90 if rounds else 40)


def test_where_the_bound_can_be_reached_it_is():
    # Edges that agree with hidden labels are attracting ones of other names, but ties leave all of them open.
    rng = np.random.default_rng(2)
    for _ in range(40):
        hidden, edges = rng.integers(0, 2, 30), random_edges(rng, np.array([0, 30]), 0.1)
        graphs = Graphs(hidden.astype(bool), np.array([0, 30]), edges)
        scores = np.zeros(graphs.n_scores)
        sign = np.where(hidden[edges[:, 0]] == hidden[edges[:, 1]], 1.0, -1.0)
        scores[graphs.edge_places] = sign * rng.integers(0, 3, len(edges))
        found = QPBO(0).prepare(BoundLoss(graphs)).maximize(scores)
        assert found.exact[0]
        assert found.values[0] == pytest.approx(0.0)


@pytest.mark.parametrize("kind", ["graphs", "potts"])
def test_it_is_max_flow_where_all_edges_attract(kind):
    rng = np.random.default_rng(3)
    for _ in range(60):
        offsets = np.array([0, 3, 12, 13])
        edges, labels = random_edges(rng, offsets, 0.3), rng.random(13) < 0.5
        graphs = Graphs(labels, offsets, edges)
        scores = np.round(2 * rng.standard_normal(graphs.n_scores)) / rng.choice([1.0, 3.0])
        scores[graphs.edge_places] = np.abs(scores[graphs.edge_places])
        expected = MaxFlow().prepare(Hamming().bind(graphs)).maximize(scores)
        batch, own = graphs, scores
        if kind == "potts":
            batch = ClassGraphs(labels.astype(np.int64), offsets, edges, 2)
            own = np.zeros(batch.n_scores)
            own[batch.node_columns[:, 1]] = scores[graphs.node_places]
            own[batch.edge_columns[:, 0]] = scores[graphs.edge_places]
        found = QPBO().prepare(Hamming().bind(batch)).maximize(own)
        np.testing.assert_array_equal(found.labels, expected.labels)
        np.testing.assert_allclose(found.values, expected.values, atol=1e-12)
        np.testing.assert_allclose(found.bounds, expected.bounds, atol=1e-10)
        assert found.exact.all()


def test_a_maximizer_that_was_used_before_gives_the_same(monkeypatch):
    rng = np.random.default_rng(4)
    offsets = np.array([0, 20, 60, 61, 100])
    batch = Graphs(rng.random(100) < 0.5, offsets, random_edges(rng, offsets, 0.1))
    bound_loss, used = Hamming().bind(batch), QPBO().prepare(Hamming().bind(batch))
    scores = rng.standard_normal(batch.n_scores)
    for change in range(8):
        if change % 4 == 0:
            scores = rng.standard_normal(batch.n_scores)
        elif change % 4 == 1:
            scores[batch.edge_places] *= 1.5
        else:
            scores[batch.node_places[: 100 // change]] = rng.standard_normal(100 // change)
        again, fresh = used.maximize(scores), QPBO().prepare(bound_loss).maximize(scores)
        np.testing.assert_array_equal(again.labels, fresh.labels)
        monkeypatch.setattr(qpbo, "BLOCK", 10)
        blocks = QPBO().prepare(bound_loss).maximize(scores)
        with thread_limit(2):
            np.testing.assert_array_equal(QPBO().prepare(bound_loss).maximize(scores).labels, blocks.labels)
        monkeypatch.undo()
        assert (blocks.values <= fresh.bounds + 1e-9).all()
        np.testing.assert_allclose(again.bounds, fresh.bounds, atol=1e-9)
        np.testing.assert_allclose(blocks.bounds, fresh.bounds, atol=1e-9)
        for i in (1, 2):
            span = slice(*batch.score_offsets[i : i + 2])
            alone = used.take(np.array([i])).maximize(scores[span])
            assert alone.bounds[0] == pytest.approx(fresh.bounds[i])


def test_its_bound_is_that_of_thinqpbo():
    thin = pytest.importorskip("thinqpbo")
    rng = np.random.default_rng(5)
    for n, share in ((5, 0.5), (40, 0.1), (300, 0.01)):
        graphs = Graphs(np.zeros(n, bool), np.array([0, n]), random_edges(rng, np.array([0, n]), share))
        scores = rng.standard_normal(graphs.n_scores)
        peer = thin.QPBODouble()
        peer.add_node(n)
        for i, s in enumerate(scores[graphs.node_places]):
            peer.add_unary_term(i, 0.0, -s)
        for (a, b), s in zip(graphs.edges, scores[graphs.edge_places], strict=True):
            peer.add_pairwise_term(int(a), int(b), -s, 0.0, 0.0, -s)
        peer.solve()
        found = QPBO().prepare(BoundLoss(graphs)).maximize(scores)
        # The peer counts twice the energy, and values are relative to the target.
        assert found.bounds[0] == pytest.approx(-peer.compute_twice_lower_bound() / 2 - scores @ graphs.target)
        labels = np.array([peer.get_label(i) for i in range(n)])
        certain = QPBO().persistent(BoundLoss(graphs), scores)
        np.testing.assert_array_equal(certain, np.where(labels >= 0, labels, -1))


def test_max_marginals_and_forced_labels_where_they_are_exact():
    rng = np.random.default_rng(6)
    batch, scores = None, None
    while batch is None or batch.total < 4:
        batch, scores = random_batch(rng, "tables")
    scores[batch.edge_columns] = 0.01 * rng.standard_normal(batch.edge_columns.shape)
    bound_loss = Hamming().bind(batch)
    rows, one = every(batch), QPBO().prepare(bound_loss)
    values = brute.objectives(bound_loss, scores, rows)
    expected = [[values[rows[:, i] == v].max() for v in (0, 1)] for i in range(batch.total)]
    np.testing.assert_allclose(one.max_marginals(scores), expected, atol=1e-9)


def test_what_does_not_fit_is_refused():
    graphs = Graphs(np.array([True, False]), np.array([0, 2]), np.array([[0, 1]]))
    three = ClassGraphs(np.array([0, 2]), np.array([0, 2]), np.array([[0, 1]]), 3)
    for bound_loss, words in (
        (Hamming().bind(Sets.single([1, 0])), "QPBO refuses Sets: it takes Graphs and ClassGraphs"),
        (Hamming().bind(three), "QPBO refuses 3 labels: it takes two. Use TreeReweightedMessages or AlphaExpansion"),
        (Jaccard().bind(graphs), "QPBO refuses Jaccard.*: the loss is not a sum of one cost per mistake"),
    ):
        with pytest.raises(Refusal, match=words):
            QPBO().prepare(bound_loss)
    with pytest.raises(Refusal, match="QPBO refuses slack rescaling: the product is not a sum"):
        QPBO().prepare(Hamming().bind(graphs), slack=True)
    with pytest.raises(ValueError, match="rounds must be at least 0; got -1"):
        QPBO(-1)
