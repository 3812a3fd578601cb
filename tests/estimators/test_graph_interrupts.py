"""GraphClassifier under Ctrl-C, with losses of one batch, and with losses of weak labels."""

import numpy as np
import pytest

from setwise import GraphClassifier, SetClassifier
from setwise.core.graphs import Graphs
from setwise.core.refusal import Refusal
from setwise.estimators import graph_threshold, network_start, set_classifier
from setwise.graphs import Graph
from setwise.losses import BorderConvexity, BoxFullness, Jaccard

CHAIN = np.column_stack([np.arange(5), np.arange(1, 6)])
pytestmark = pytest.mark.filterwarnings("ignore:GraphClassifier stopped after")


@pytest.fixture(scope="module")
def chains():
    """Six chains of six nodes, and their labels 0 and 1."""
    rng = np.random.default_rng(0)
    labels = [rng.permutation([0, 0, 0, 1, 1, 1]) for _ in range(6)]
    graphs = [Graph(y[:, None] + rng.standard_normal((6, 2)), CHAIN) for y in labels]
    return graphs, labels


def interrupt(*args, **more):
    raise KeyboardInterrupt


def test_ctrl_c_in_the_folds_of_the_threshold_keeps_the_weights(chains, monkeypatch):
    plain = GraphClassifier("jaccard", max_iter=5).fit(*chains)
    monkeypatch.setattr(graph_threshold, "join", interrupt)
    model = GraphClassifier("jaccard", max_iter=5, threshold="exact")
    words = "GraphClassifier was interrupted while its threshold was chosen"
    with pytest.warns(RuntimeWarning, match=words), pytest.raises(KeyboardInterrupt):
        model.fit(*chains)
    assert (model.coef_ == plain.coef_).all()
    assert model.threshold_ == 0.0


def test_the_same_for_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 2)), rng.random(40) < 0.3
    plain = SetClassifier("f1", max_iter=20).fit(X, y)
    monkeypatch.setattr(set_classifier, "held_out_thresholds", interrupt)
    model = SetClassifier("f1", max_iter=20, threshold="exact")
    words = "SetClassifier was interrupted while its threshold was chosen"
    with pytest.warns(RuntimeWarning, match=words), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert (model.coef_ == plain.coef_).all()


def test_ctrl_c_in_the_start_goes_on(chains, monkeypatch):
    class Interrupted:
        def minimize(self, risk):
            return type("End", (), {"status": "interrupted", "w": np.zeros(risk.size)})()

    monkeypatch.setattr(network_start, "OneSlack", lambda *args: Interrupted())
    with pytest.raises(KeyboardInterrupt):
        GraphClassifier("jaccard").fit(*chains)


def test_losses_that_number_nodes_need_their_order(chains):
    graphs, labels = chains
    known = [np.where(np.arange(6) < 3, -1, y) for y in labels]
    boxes = BoxFullness(0.5, boxes=np.concatenate([np.where(y < 0, 0, -1) for y in known]))
    model = GraphClassifier("hamming", max_iter=5).fit(graphs, labels)
    mixed, ordered = [0, 1, 0, 1, 0, 1], [0, 0, 0, 1, 1, 1]
    for loss in (boxes, boxes + 0.5 * Jaccard(), BorderConvexity(paths=[np.arange(3)])):
        with pytest.raises(Refusal, match="groups must keep the order for .*side by side"):
            model.evaluate(graphs, known, mixed, loss)
        assert np.isfinite(model.evaluate(graphs, known, ordered, loss).score)
    rows = SetClassifier(boxes, surrogate="margin")
    with pytest.raises(Refusal, match="groups must keep the order"):
        rows.fit(np.ones((36, 1)), np.concatenate(labels), groups=np.repeat(mixed, 6))


def test_losses_of_neighbors_are_measured_on_the_network(chains):
    graphs, labels = chains
    known = [np.array([1, -1, -1, -1, -1, 0])] * 6
    model = GraphClassifier("hamming", max_iter=5).fit(graphs, labels)
    found = model.evaluate(graphs, known, loss=BorderConvexity())
    batch = Graphs(np.array([1, -1, -1, -1, -1, 0], np.int8), np.array([0, 6]), CHAIN)
    expected = [BorderConvexity().structure(batch).values(guess)[0] for guess in model.predict(graphs)]
    assert len(set(expected)) > 1
    assert 1.0 - found.scores == pytest.approx(expected)


def test_weak_labels_ask_for_another_start(chains):
    graphs, labels = chains
    known = [np.where(np.arange(6) < 3, -1, y) for y in labels]
    with pytest.raises(Refusal, match=r"start='logistic' refuses BoxFullness.*Use start='zero'"):
        GraphClassifier(BoxFullness(0.5)).fit(graphs, known)
