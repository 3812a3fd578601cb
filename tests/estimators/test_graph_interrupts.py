"""GraphClassifier under Ctrl-C, with losses of one batch, and with losses of weak labels."""

import numpy as np
import pytest

from setwise import GraphClassifier, SetClassifier
from setwise.core.exceptions import Refusal
from setwise.core.networks import Graphs
from setwise.datasets import textured_objects
from setwise.estimators import graph_classifier, graph_training, set_classifier
from setwise.graphs import Graph, from_image
from setwise.losses import AreaWeightedLoss, BorderConvexity, BoxFullness, Jaccard, OneClass

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
    monkeypatch.setattr(graph_classifier, "held_out_bias", interrupt)
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


@pytest.mark.slow
def test_ctrl_c_in_the_start_keeps_its_best_weights(chains, monkeypatch):
    class InterruptedLearner:
        def minimize(self, risk):
            return type("End", (), {"status": "interrupted", "w": np.zeros(risk.size)})()

    words = "GraphClassifier was interrupted in its start; these are the best weights so far"
    start = GraphClassifier("jaccard", C=0).fit(*chains)
    for place in ("OneSlack", "_descend"):
        stop = interrupt if place == "_descend" else lambda *args: InterruptedLearner()
        with monkeypatch.context() as patch:
            patch.setattr(graph_training, place, stop)
            for parameters in ({}, {"C": 0}, {"surrogate": "margin", "start": "logistic"}):
                model = GraphClassifier("jaccard", **parameters)
                with pytest.warns(RuntimeWarning, match=words), pytest.raises(KeyboardInterrupt):
                    model.fit(*chains)
                assert model.status_ == "interrupted"
                assert model.duality_gap_ == np.inf
                assert model.score(*chains) > 0.2
                assert model.coef_.any()
        assert bool(model.edge_coef_.any()) == bool(start.edge_coef_.any() and place == "OneSlack")


def test_ctrl_c_before_there_are_weights_goes_on(chains, monkeypatch):
    monkeypatch.setattr(graph_training, "LogisticRegressions", interrupt)
    model = GraphClassifier("jaccard")
    with pytest.raises(KeyboardInterrupt):
        model.fit(*chains)
    assert not hasattr(model, "coef_")


def test_losses_that_number_nodes_need_their_order(chains):
    graphs, labels = chains
    known = [np.where(np.arange(6) < 3, -1, y) for y in labels]
    boxes = BoxFullness(0.5, boxes=np.concatenate([np.where(y < 0, 0, -1) for y in known]))
    model = GraphClassifier("hamming", max_iter=5).fit(graphs, labels)
    mixed, ordered = [0, 1, 0, 1, 0, 1], [0, 0, 0, 1, 1, 1]
    for loss in (boxes, boxes + 0.5 * Jaccard(), BorderConvexity(paths=[np.arange(3)])):
        with pytest.raises(Refusal, match="groups must keep the order for .*next to each other"):
            model.evaluate(graphs, known, mixed, loss)
        assert np.isfinite(model.evaluate(graphs, known, ordered, loss).score)
    # Areas of a batch, too, follow the numbers of its nodes.
    weighed = AreaWeightedLoss(Jaccard(), np.arange(1.0, 37.0))
    for loss in (weighed, 0.5 * weighed, OneClass(weighed, 1)):
        with pytest.raises(Refusal, match="groups must keep the order for .*next to each other"):
            model.evaluate(graphs, labels, mixed, loss)
        assert np.isfinite(model.evaluate(graphs, labels, ordered, loss).score)
    rows = SetClassifier(boxes, surrogate="margin")
    with pytest.raises(Refusal, match="groups must keep the order"):
        rows.fit(np.ones((36, 1)), np.concatenate(labels), groups=np.repeat(mixed, 6))


def test_losses_of_neighbors_are_measured_on_the_network(chains):
    graphs, labels = chains
    known = [np.array([1, -1, -1, -1, -1, 0])] * 6
    model = GraphClassifier("hamming", max_iter=5).fit(graphs, labels)
    found = model.evaluate(graphs, known, loss=BorderConvexity())
    batch = Graphs(np.array([1, -1, -1, -1, -1, 0], np.int8), np.array([0, 6]), CHAIN)
    expected = [BorderConvexity().bind(batch).values(guess)[0] for guess in model.predict(graphs)]
    assert len(set(expected)) > 1
    assert 1.0 - found.scores == pytest.approx(expected)


@pytest.fixture(scope="module")
def boxed():
    """Six images of objects to train and six to test: graphs, labels, labels of boxes, and how full the boxes are."""
    found = textured_objects(12, (14, 16), random_state=0)
    graphs, labels, known = [from_image(one) for one in found.images], [one.ravel() for one in found.labels], []
    for mask in found.labels:
        rows, columns = np.nonzero(mask)
        box = np.zeros(mask.shape, int)
        box[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1] = -1
        known.append(box.ravel())
    full = np.array([y.sum() / (one < 0).sum() for y, one in zip(labels, known, strict=True)])
    return graphs, labels, known[:6], full[:6]


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{}, {"surrogate": "margin"}])
def test_boxes_alone_are_enough(boxed, parameters):
    graphs, labels, known, full = boxed
    share = float(full.mean())

    def scores(loss):
        model = GraphClassifier(loss, max_iter=20, **parameters).fit(graphs[:6], known)
        assert model.classes_.tolist() == [0, 1]
        new = model.evaluate(graphs[6:], labels[6:], loss="jaccard").score
        return new, 1.0 - model.evaluate(graphs[:6], known, loss=BoxFullness(share)).score

    # R = 1 takes the box for the truth.
    as_truth, too_full = scores(BoxFullness(1.0))
    better, full_enough = scores(BoxFullness(share))
    assert better > as_truth + 0.1
    assert full_enough < 0.5 * too_full
    # A share for each box fills them alike. Whether its labels are better depends on the images.
    assert scores(BoxFullness(full))[1] < 0.5 * too_full


@pytest.mark.slow
def test_nothing_but_shares_of_positives_is_known(boxed):
    graphs, labels, known, _ = boxed
    nothing = [np.full(len(one), -1) for one in known]
    shares = np.array([y.mean() for y in labels[:6]])
    model = GraphClassifier(BoxFullness(shares), max_iter=5).fit(graphs[:6], nothing)
    assert np.isfinite(model.coef_).all()
    with pytest.raises(ValueError, match="labels must have two classes"):
        GraphClassifier("jaccard").fit(graphs[:6], known)


@pytest.mark.slow
def test_boxes_beside_full_labels(chains):
    graphs, labels = chains
    known = [np.where(np.arange(6) < 3, -1, y) for y in labels]
    for parameters in ({}, {"surrogate": "margin"}):
        model = GraphClassifier(BoxFullness(0.5), max_iter=20, **parameters).fit(graphs, known)
        assert model.evaluate(graphs, labels, loss="jaccard").score > 0.35


def test_the_best_of_some_biases_is_the_best_of_these():
    rng = np.random.default_rng(0)
    batch = Graphs(np.array([0, -1, -1, -1, 0, -1, -1, 0], np.int8), np.array([0, 4, 8]), np.array([[0, 1], [5, 6]]))
    loss = BoxFullness(np.array([0.5, 1.0]))
    for _ in range(10):
        turned = rng.standard_normal(8)
        bias, least = graph_training._best_of_some(turned, batch, loss)
        every = [loss.values(batch, turned < b).mean() for b in (*np.sort(turned), np.inf)]
        assert least == min(every)
        assert loss.values(batch, turned < bias).mean() == least


@pytest.mark.slow
def test_borders_alone_are_enough(chains):
    graphs, _ = chains
    known = [np.array([1, -1, -1, -1, -1, 0])] * 6
    for parameters in ({}, {"surrogate": "margin"}):
        model = GraphClassifier(BorderConvexity(), max_iter=5, **parameters).fit(graphs, known)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.evaluate(graphs, known).score)
