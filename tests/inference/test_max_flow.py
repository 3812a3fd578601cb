"""MaxFlow on graphs is enumeration: values, bounds, max-marginals, forced and unknown labels, k best."""

from itertools import pairwise, product

import numpy as np
import pytest

from rounds import rounds
from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.exceptions import Refusal
from setwise.core.networks import Graphs
from setwise.inference import MaxFlow, max_flow
from setwise.inference.max_flow import blocks
from setwise.kernels.threads import thread_limit
from setwise.losses import FBeta, Hamming


def random_graphs(rng, n=3, largest=5, unknown=False):
    """Some sets of up to ``largest`` nodes, each pair of a set an edge now and then, also twice."""
    sizes = rng.integers(1, largest + 1, n)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    edges = [(a, b) for i in range(n) for a in range(*offsets[i : i + 2]) for b in range(*offsets[i : i + 2]) if a != b]
    kept = np.array([edge for edge in edges if rng.random() < 0.35], np.int64).reshape(-1, 2)
    labels = rng.integers(0, 2, offsets[-1]).astype(bool)
    if unknown:
        labels = np.where(rng.random(len(labels)) < 0.3, -1, labels).astype(np.int8)
    return Graphs(labels, offsets, kept)


def random_scores(rng, graphs, kind):
    scores = np.zeros(graphs.n_scores)
    coupling = rng.choice([0.1, 1.0, 3.0])
    scores[graphs.node_places] = rng.standard_normal(graphs.total)
    scores[graphs.edge_places] = coupling * rng.random(len(graphs.edges))
    return {"reals": scores, "integers": np.round(2 * scores), "zeros": 0 * scores, "huge": 1e12 * scores}[kind]


def by_hand(graphs, i, bound_loss, scores):
    """The labelings of set i, and the value of each: its loss, and its score less that of the target."""
    a, b = graphs.offsets[i : i + 2]
    rows = np.array(list(product([0, 1], repeat=b - a)))
    labels = np.zeros((len(rows), graphs.total), np.int8)
    labels[:, a:b] = rows
    s, edges = scores[graphs.node_places][a:b], (graphs.edges[:, 0] >= a) & (graphs.edges[:, 0] < b)
    agree = labels[:, graphs.edges[edges, 0]] == labels[:, graphs.edges[edges, 1]]
    own = rows @ s + agree @ scores[graphs.edge_places][edges]
    span = slice(*graphs.score_offsets[i : i + 2])
    target = scores[span] @ graphs.target[span]
    return rows, own - target + np.array([bound_loss.values(row.astype(bool))[i] for row in labels])


def losses(rng, graphs):
    sizes = graphs.sizes
    yield BoundLoss(graphs)
    yield Hamming().bind(graphs)
    yield 2.5 * Hamming(rng.random(sizes[0])).bind(graphs) if (sizes == sizes[0]).all() else BoundLoss(graphs)
    yield Hamming().bind(graphs).zero()


@pytest.mark.draw(5)
@pytest.mark.parametrize("kind", ["reals", "integers", "zeros", "huge"])
@pytest.mark.parametrize("unknown", [False, True])
def test_cuts_are_enumeration(kind, unknown):
    rng = np.random.default_rng(0)
    for _ in range(rounds(60, 20)):
        graphs = random_graphs(rng, unknown=unknown)
        scores = random_scores(rng, graphs, kind)
        slip = 1e-12 * (1.0 + np.abs(scores).sum())
        for bound_loss in losses(rng, graphs):
            one = MaxFlow().prepare(bound_loss)
            found, marginals = one.maximize(scores), one.max_marginals(scores, 1.5)
            assert found.exact.all()
            for i in range(len(graphs)):
                span = slice(*graphs.offsets[i : i + 2])
                rows, values = by_hand(graphs, i, bound_loss, scores)
                assert found.values[i] == pytest.approx(values.max(), abs=slip)
                assert found.bounds[i] >= values.max() - slip
                row = int("".join(str(int(v)) for v in found.labels[span]), 2)
                assert values[row] == pytest.approx(values.max(), abs=slip)
                expected = [[values[rows[:, k] == v].max() + 1.5 for v in (0, 1)] for k in range(rows.shape[1])]
                np.testing.assert_allclose(marginals[span], expected, rtol=1e-12, atol=10 * slip)


def test_forced_labels_and_the_k_best_are_enumeration():
    rng = np.random.default_rng(1)
    for _ in range(20):
        graphs = random_graphs(rng, n=2, largest=4)
        scores, bound_loss = random_scores(rng, graphs, "reals"), Hamming().bind(graphs)
        one, forced = MaxFlow().prepare(bound_loss), rng.integers(-1, 2, graphs.total)
        found, ranked = one.best(scores, forced), one.k_best(scores, 5)
        for i in range(2):
            rows, values = by_hand(graphs, i, bound_loss, scores)
            own = forced[slice(*graphs.offsets[i : i + 2])]
            assert found.values[i] == pytest.approx(values[((rows == own) | (own < 0)).all(axis=1)].max())
            best = [solution.value for solution in ranked[i]]
            np.testing.assert_allclose(best, np.sort(values)[::-1][:5])
            single = one.take(np.array([i])).maximize(scores[slice(*graphs.score_offsets[i : i + 2])])
            assert single.values[0] == pytest.approx(values.max())


def test_blocks_and_threads_change_nothing(monkeypatch):
    rng = np.random.default_rng(2)
    graphs = random_graphs(rng, n=40, largest=12)
    scores, bound_loss = random_scores(rng, graphs, "reals"), Hamming().bind(graphs)
    whole = MaxFlow().prepare(bound_loss)
    expected, marginals = whole.maximize(scores), whole.max_marginals(scores)
    monkeypatch.setattr(max_flow, "BLOCK", 15)
    with thread_limit(2):
        many = MaxFlow().prepare(bound_loss)
        found = many.maximize(scores)
        assert len(many._inner._blocks) > 5
        np.testing.assert_allclose(many.max_marginals(scores), marginals, atol=1e-9)
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.values, expected.values)
    assert (found.bounds >= found.values).all()


def test_of_the_best_labels_those_with_the_fewest_positives_are_found_from_any_start():
    rng, tied = np.random.default_rng(4), 0
    for _ in range(40):
        graphs = random_graphs(rng)
        bound_loss = BoundLoss(graphs)
        one = MaxFlow().prepare(bound_loss)
        for kind in ("integers", "zeros", "integers"):
            scores = random_scores(rng, graphs, kind)
            found = one.maximize(scores)
            for i in range(len(graphs)):
                rows, values = by_hand(graphs, i, bound_loss, scores)
                best = rows[values >= values.max() - 1e-9]
                tied += len(best) > 1
                np.testing.assert_array_equal(found.labels[slice(*graphs.offsets[i : i + 2])], best.all(axis=0))
    assert tied > 100


def test_no_edge_joins_two_blocks():
    rng = np.random.default_rng(3)
    for _ in range(50):
        graphs = random_graphs(rng, n=int(rng.integers(1, 8)))
        found = blocks(graphs.edges, graphs.total, int(rng.integers(1, 8)))
        ends = [0, *(last for _, last in found)]
        assert found == list(pairwise(ends))
        assert ends[-1] == graphs.total
        assert (np.diff(ends) > 0).all()
        block = np.searchsorted(ends, graphs.edges, side="right")
        assert (block[:, 0] == block[:, 1]).all()


def test_what_is_no_cut_is_refused():
    graphs = Graphs(np.array([True, False]), np.array([0, 2]), np.array([[0, 1]]))
    bound_loss = Hamming().bind(graphs)
    with pytest.raises(ValueError, match=r"^MaxFlow needs nonnegative scores of edges; got -0\.5\. Keep the weights"):
        MaxFlow().prepare(bound_loss).maximize(np.array([1.0, 1.0, -0.5]))
    found = MaxFlow().prepare(bound_loss).maximize(np.array([2.0, -3.0, -1e-13]))
    assert found.exact.all()
    assert found.labels.tolist() == [True, False]
    with pytest.raises(Refusal, match=r"MaxFlow refuses slack rescaling: the product is not a sum\. Use margin"):
        MaxFlow().prepare(bound_loss, slack=True)
    with pytest.raises(Refusal, match=r"MaxFlow refuses FBeta.*: the loss is not a sum of one cost per mistake"):
        MaxFlow().prepare(FBeta().bind(graphs))
    with pytest.raises(Refusal, match=r"MaxFlow refuses Sets: it takes Graphs\. Use an inference made for Sets"):
        MaxFlow().prepare(Hamming().bind(Sets.single([1, 0])))
