"""GraphClassifier trains networks for measures of sets of nodes."""

import pickle
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from setwise import GraphClassifier, SetClassifier
from setwise.core.batch import Classes
from setwise.core.bound_loss import BoundLoss
from setwise.core.networks import Graphs
from setwise.estimators.graph_training import SINGLY, best_bias, with_edges
from setwise.graphs import Graph, from_image
from setwise.inference import MaxFlow
from setwise.losses import ErrorRate, FBeta, Hamming, Jaccard, MeanOverClasses, OneClass, as_loss
from setwise.models import GraphModel
from setwise.risks import MeanRisk
from setwise.surrogates import MarginRescaling

SIDE = 6
pytestmark = pytest.mark.filterwarnings("ignore:GraphClassifier stopped after")


def disks(n, seed=0, noise=0.8):
    """Noisy grey images of a disk, as graphs, and their labels."""
    rng = np.random.default_rng(seed)
    row, column = np.indices((SIDE, SIDE))
    graphs, labels = [], []
    for middle, radius in zip(rng.uniform(1, 5, (n, 2)), rng.uniform(1.2, 2.5, n), strict=True):
        mask = np.hypot(row - middle[0], column - middle[1]) < radius
        graphs.append(from_image(mask + noise * rng.standard_normal(mask.shape), node_features=["color", "texture"]))
        labels.append(np.where(mask.ravel(), "disk", "ground"))
    return graphs, labels


def quick(**more):
    return GraphClassifier(**({"pos_label": "disk", "max_iter": 15} | more))


def alone(graphs):
    """The same nodes without edges."""
    return [Graph(graph.X, [], None, graph.areas) for graph in graphs]


@pytest.fixture(scope="module")
def images():
    return disks(8)


@pytest.fixture(scope="module")
def fitted(images):
    return quick(loss="error_rate", surrogate="margin", tol=1e-3, max_iter=200).fit(*images)


@pytest.mark.slow
def test_neighbors_help(images):
    graphs, labels = images
    test = disks(20, seed=1)
    model = quick(surrogate="ramp", max_iter=4).fit(graphs, labels)
    without = quick(surrogate="ramp", max_iter=4).fit(alone(graphs), labels)
    assert model.edge_coef_.max() > 0
    assert model.score(*test) > without.score(alone(test[0]), test[1]) + 0.03
    assert model.classes_.tolist() == ["ground", "disk"]
    assert all(guess.shape == (36,) for guess in model.predict(test[0]))


def test_predictions_are_best_labelings_and_signs_of_max_marginals(fitted, images):
    graphs, _ = images
    rng = np.random.default_rng(0)
    small = [Graph(rng.standard_normal((5, 6)), [[0, 1], [1, 2], [3, 2], [4, 0]], rng.random((4, 2))) for _ in range(4)]
    rows = np.array(list(product([False, True], repeat=5)))
    w = np.concatenate([fitted.coef_[0], fitted.intercept_, fitted.edge_coef_])
    for graph, guess, margin in zip(small, fitted.predict(small), fitted.decision_function(small), strict=True):
        batch = Graphs(np.zeros(5, dtype=bool), np.array([0, 5]), graph.edges)
        scores = GraphModel(graph.X, graph.Z, batch).scores(w)
        values = np.array([batch.encode(row) @ scores for row in rows])
        np.testing.assert_array_equal(guess == "disk", rows[values.argmax()])
        expected = [values[rows[:, i]].max() - values[~rows[:, i]].max() for i in range(5)]
        np.testing.assert_allclose(margin, expected, atol=1e-9)
    for guess, margin in zip(fitted.predict(graphs), fitted.decision_function(graphs), strict=True):
        np.testing.assert_array_equal(guess == "disk", margin > 0)


@pytest.mark.parametrize("loss", ["error_rate", "f1"])
def test_without_edges_the_objective_is_that_of_set_classifier(images, loss):
    graphs, labels = images
    X = np.vstack([graph.X for graph in graphs])
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    surrogate = MarginRescaling(loss, scale="size")
    network = quick(loss=loss, surrogate="margin", C=50.0, tol=1e-3, max_iter=1000).fit(alone(graphs), labels)
    rows = SetClassifier(loss, surrogate, C=50.0, tol=1e-3, max_iter=1000, pos_label="disk")
    rows.fit(scaled, np.concatenate(labels), groups=np.repeat(np.arange(8), 36))
    assert network.objective_ == pytest.approx(rows.objective_, rel=2e-3)
    margins = np.concatenate(network.decision_function(alone(graphs)))
    np.testing.assert_allclose(margins, rows.decision_function(scaled), atol=0.1 * np.abs(margins).max())


def test_the_certificate_is_that_of_the_risk(fitted, images):
    graphs, labels = images
    assert fitted.surrogate_ == "margin"
    assert fitted.status_ == "converged"
    assert fitted.duality_gap_ <= 1e-3
    assert (fitted.edge_coef_ >= 0).all()
    X, Z = (np.vstack([getattr(graph, name) for graph in graphs]) for name in ("X", "Z"))
    edges = np.vstack([graph.edges + 36 * i for i, graph in enumerate(graphs)])
    batch = Graphs(np.concatenate(labels) == "disk", np.arange(9) * 36, edges)
    model = GraphModel((X - X.mean(axis=0)) / X.std(axis=0), Z / Z.mean(axis=0), batch)
    risk = MeanRisk(model, MarginRescaling(ErrorRate(), scale="size").on(batch))
    coef, bias = fitted.coef_[0] * X.std(axis=0), fitted.intercept_[0] + fitted.coef_[0] @ X.mean(axis=0)
    w = np.concatenate([coef, [bias], fitted.edge_coef_ * Z.mean(axis=0)])
    assert 0.5 * w @ w + fitted.C_ * risk.cut(w).value == pytest.approx(fitted.objective_)


@pytest.mark.draw(2)
@pytest.mark.parametrize(("surrogate", "C"), [("margin", 300.0), ("ramp", 1e4), ("lovasz", 30.0)])
def test_the_default_of_c_is_that_of_the_docstring_and_the_objective_bounds_the_loss(images, surrogate, C):
    graphs = alone(images[0]) if surrogate == "lovasz" else images[0]
    model = quick(surrogate=surrogate).fit(graphs, images[1])
    assert model.C_ == C
    assert model.objective_ / model.C_ >= 1.0 - model.score(graphs, images[1])


def test_features_need_not_be_scaled(images):
    graphs, labels = images
    factors, shift = np.array([1e3, 1e-3, 1.0, 10.0, 0.1, 5.0]), np.arange(6.0)
    moved = [Graph(graph.X * factors + shift, graph.edges, graph.Z * [100.0, 0.01]) for graph in graphs]
    a, b = (
        quick(loss="hamming", surrogate="margin", C=1.0, tol=1e-5, max_iter=500).fit(x, labels) for x in (graphs, moved)
    )
    assert a.objective_ == pytest.approx(b.objective_, rel=2e-5)
    np.testing.assert_allclose(
        np.concatenate(a.decision_function(graphs)), np.concatenate(b.decision_function(moved)), atol=0.02
    )


def test_groups_join_graphs_to_sets(images):
    graphs, labels = images
    ids = np.array(["b", "a", "b", "a", "b", "a", "b", "a"])
    model = quick(surrogate="margin", C=20.0, max_iter=5).fit(graphs, labels, groups=ids)
    guess, truth = (
        np.array([np.concatenate([one[i] for i in np.flatnonzero(ids == name)]) == "disk" for name in "ab"])
        for one in (model.predict(graphs), labels)
    )
    losses = [Jaccard()(row, found) for row, found in zip(truth, guess, strict=True)]
    found = model.evaluate(graphs, labels, ids)
    np.testing.assert_allclose(found.scores, 1 - np.array(losses))
    assert found.score == model.score(graphs, labels, ids) == pytest.approx(1 - np.mean(losses))
    assert found.pooled == pytest.approx(1 - Jaccard()(truth.ravel(), guess.ravel()))
    assert (found.predicted, found.true) == pytest.approx((guess.mean(), truth.mean()))


def test_one_group_has_the_pooled_loss(images):
    graphs, labels = images
    model = quick(max_iter=3).fit(graphs, labels, groups=np.zeros(8))
    assert model.surrogate_ == "ramp", "the automatic surrogate of a single set"
    found = model.evaluate(graphs, labels, np.zeros(8))
    assert found.score == found.pooled == model.evaluate(graphs, labels).pooled
    assert len(found.scores) == 1


@pytest.mark.slow
def test_threads_change_nothing(images):
    graphs, labels = images
    one, two = (quick(n_jobs=n, surrogate="ramp", max_iter=3).fit(graphs, labels) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.edge_coef_, two.edge_coef_)
    assert one.intercept_ == two.intercept_
    for a, b in zip(one.decision_function(graphs), two.decision_function(graphs), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_order_of_graphs_does_not_matter(images):
    graphs, labels = images
    order = np.array([3, 1, 7, 0, 2, 6, 5, 4])
    a = quick(loss="hamming", surrogate="margin", C=1.0, tol=1e-4, max_iter=200).fit(graphs, labels)
    b = clone(a).fit([graphs[i] for i in order], [labels[i] for i in order])
    assert a.objective_ == pytest.approx(b.objective_, rel=2e-4)
    for i, guess in zip(order, a.predict([graphs[i] for i in order]), strict=True):
        np.testing.assert_array_equal(guess, a.predict(graphs)[i])


@pytest.mark.slow
def test_the_ramp_does_not_depend_on_the_order_of_graphs(images):
    graphs, labels = images
    order, groups = np.array([3, 1, 7, 0, 2, 6, 5, 4]), np.array([2, 0, 1, 0, 3, 1, 4, 5])
    for ids in (None, groups):
        a = quick(surrogate="ramp", max_iter=3, threshold="exact", random_state=0).fit(graphs, labels, ids)
        b = clone(a).fit([graphs[i] for i in order], [labels[i] for i in order], None if ids is None else ids[order])
        assert (a.coef_.tobytes(), a.edge_coef_.tobytes()) == (b.coef_.tobytes(), b.edge_coef_.tobytes())
        assert (a.intercept_, a.threshold_) == (b.intercept_, b.threshold_)


def test_the_best_bias_is_the_best_of_all(images):
    graphs, labels = images
    networks = Graphs(
        np.concatenate(labels[:3]) == "disk", np.arange(4) * 36, np.vstack([graphs[i].edges + 36 * i for i in range(3)])
    )
    rng = np.random.default_rng(0)
    scores = np.abs(rng.standard_normal(networks.n_scores))
    scores[networks.node_places] = networks.labels + 2 * rng.standard_normal(networks.total)
    cut = MaxFlow().prepare(BoundLoss(networks))

    def at(bias):
        moved = scores.copy()
        moved[networks.node_places] += bias
        return Jaccard().values(networks, cut.maximize(moved).labels).mean()

    bias, loss = best_bias(scores, networks, Jaccard())
    assert at(bias) == pytest.approx(loss)
    assert loss <= min(at(b) for b in np.linspace(-8, 8, 801)) + 1e-12


@pytest.mark.parametrize("count", [2, SINGLY + 2])
def test_many_weights_of_edges_are_tried_as_one(count):
    rng = np.random.default_rng(0)
    row, column = np.indices((8, 8))
    masks = [np.hypot(row - 4, column - 3 - i % 2) < 3 for i in range(4)]
    networks = Graphs.images(masks)
    features = GraphModel(
        networks.truth[:, None] + 1.5 * rng.standard_normal((networks.total, 1)),
        rng.uniform(0.5, 1.5, (len(networks.edges), count)),
        networks,
    )
    w = with_edges(np.array([2.0, -1.0]), features, networks, Jaccard(), True)
    assert len(w) == 2 + count
    assert w[2:].sum() > 0.0
    assert (count <= SINGLY) or np.ptp(w[2:]) == 0.0
    # The weights found are not worse than none.
    found, none = (
        best_bias(features.scores(v), networks, Jaccard())[1] for v in (w, np.append(w[:2], np.zeros(count)))
    )
    assert found < none


@pytest.mark.slow
def test_exact_threshold_is_the_best_bias_on_held_out_graphs(images):
    graphs, labels = images
    model = quick(threshold="exact", loss="hamming", surrogate="margin", C=1.0, tol=1e-3).fit(graphs, labels)
    plain = quick(loss="hamming", surrogate="margin", C=1.0, tol=1e-3)
    assert model.intercept_[0] + model.threshold_ == pytest.approx(clone(plain).fit(graphs, labels).intercept_[0])
    models, held = [], [np.arange(8) % 5 == k for k in range(5)]
    for test in held:
        models.append(clone(plain).fit(*([x[i] for i in np.flatnonzero(~test)] for x in (graphs, labels))))

    def loss(shift):
        total = 0
        for one, test in zip(models, held, strict=True):
            one = pickle.loads(pickle.dumps(one))
            one.intercept_ = one.intercept_ - shift
            for i in np.flatnonzero(test):
                total += (one.predict([graphs[i]])[0] != labels[i]).sum()
        return total

    assert loss(model.threshold_) <= min(loss(shift) for shift in np.linspace(-3, 3, 41))


def test_unknown_labels_count_nothing(images):
    graphs, labels = images
    rng = np.random.default_rng(1)
    codes = [np.where(rng.random(36) < 0.3, -1, one == "disk") for one in labels]
    model = GraphClassifier("error_rate", C=30.0, tol=1e-3, max_iter=300).fit(graphs, codes)
    assert model.classes_.tolist() == [0, 1]
    guess = model.predict(graphs)
    losses = [ErrorRate()(code[code >= 0], one[code >= 0]) for code, one in zip(codes, guess, strict=True)]
    assert model.score(graphs, codes) == pytest.approx(1 - np.mean(losses))
    ramp = GraphClassifier(surrogate="ramp", max_iter=2).fit(graphs, codes)
    assert ramp.score(graphs, codes) > 0.5
    assert np.mean([(one == (label == "disk")).mean() for one, label in zip(guess, labels, strict=True)]) > 0.8


def test_areas_are_counted():
    rng = np.random.default_rng(0)
    graphs, labels = [], []
    for seed in range(6):
        row, column = np.indices((12, 12))
        mask = np.hypot(row - 6, column - 6) < 2 + seed / 2
        graph = from_image(mask + 0.5 * rng.standard_normal(mask.shape), row // 3 * 5 + column // 5)
        graphs.append(graph)
        labels.append(graph.labels_of(mask))
    model = GraphClassifier("error_rate", surrogate="margin", C=30.0).fit(graphs, labels)
    jaccard = GraphClassifier(surrogate="ramp", max_iter=2).fit(graphs, labels)
    for loss in (Jaccard(), FBeta(), ErrorRate(), Hamming()):
        guess, found = model.predict(graphs), model.evaluate(graphs, labels, loss=loss)
        painted = [[g.paint(y).ravel() for g, y in zip(graphs, z, strict=True)] for z in (labels, guess)]
        whole = [loss(y, z) for y, z in zip(*painted, strict=True)]
        np.testing.assert_allclose(1 - found.scores, whole, atol=1e-12)
        assert found.pooled == pytest.approx(1 - loss(*(np.concatenate(one) for one in painted)))
        assert found.true == pytest.approx(np.concatenate(painted[0]).mean())
    assert jaccard.score(graphs, labels) == jaccard.evaluate(graphs, labels, loss="jaccard").score > 0.5
    with pytest.raises(ValueError, match="AreaWeightedLoss refuses GMean"):
        GraphClassifier("g_mean").fit(graphs, labels)


def test_the_usual_c_grows_with_a_loss_that_counts_nodes(images):
    graphs, labels = images
    count, share = (
        quick(loss=loss, surrogate="margin", max_iter=60).fit(graphs, labels) for loss in ("hamming", "error_rate")
    )
    pixels = len(graphs[0])
    assert count.status_ == share.status_ == "converged"
    assert pytest.approx(pixels * share.C_) == count.C_
    agree = [a == b for a, b in zip(count.predict(graphs), share.predict(graphs), strict=True)]
    assert np.mean(np.concatenate(agree)) > 0.99


@pytest.mark.parametrize("size", [1e-140, 1e-100, 1e100, 1e140])
def test_features_of_any_size_give_the_same_labels(images, size):
    graphs, labels = images
    scaled = [Graph(size * graph.X, graph.edges, graph.Z) for graph in graphs]
    plain = [Graph(graph.X, graph.edges, graph.Z) for graph in graphs]
    # The ramp would end in another place after other roundings.
    found = [
        quick(loss="hamming", surrogate="margin", C=300.0).fit(one, labels).predict(one) for one in (plain, scaled)
    ]
    assert np.mean(np.concatenate(found[0]) == np.concatenate(found[1])) > 0.999


def test_features_whose_squares_overflow_are_refused(images):
    graphs, labels = images
    huge = [Graph(1e200 * graph.X, graph.edges, graph.Z) for graph in graphs]
    with pytest.raises(OverflowError, match="X is too large"):
        quick(loss="hamming").fit(huge, labels).predict(huge)


def test_masks_and_images_are_told_how_they_become_labels_and_graphs():
    mask = np.eye(4, dtype=int)
    halves = Graph(np.eye(2), [[0, 1]], regions=np.repeat([[0, 0, 1, 1]], 4, axis=0))
    for graph, labels in ((from_image(1.0 * mask), mask), (halves, mask.ravel())):
        with pytest.raises(ValueError, match=r"labels must have shape .*\. graph\.labels_of\(mask\) reads them off"):
            GraphClassifier().fit([graph], [labels])
    with pytest.raises(ValueError, match=r"labels must have shape .* got shape \(4, 4\)\.$"):
        GraphClassifier().fit([Graph(np.eye(2), [[0, 1]])], [mask])
    with pytest.raises(TypeError, match="such as setwise.graphs.from_image returns"):
        GraphClassifier().fit([mask], [mask])


def test_a_ranking_can_be_measured_but_not_trained_for(fitted, images):
    graphs, labels = images
    found = fitted.evaluate(graphs, labels, loss="auc")
    margins = fitted.decision_function(graphs)
    first = [(m[y == "disk"][:, None] > m[y != "disk"]).mean() for m, y in zip(margins, labels, strict=True)]
    np.testing.assert_allclose(found.scores, first, atol=1e-12)
    with pytest.raises(ValueError, match="refuses to train for RocArea.*pass this one to evaluate"):
        quick(loss="auc").fit(graphs, labels)


def test_c_of_0_leaves_the_start_as_it_is(images):
    graphs, labels = images
    start = quick(C=0, surrogate="ramp").fit(graphs, labels)
    assert (start.status_, start.n_iter_) == ("start", 0)
    assert "nothing was minimized" in start.stop_reason_
    assert np.isnan(start.duality_gap_)
    own = quick(C=0, surrogate="ramp", start=LogisticRegression(C=1e-6)).fit(graphs, labels)
    assert np.abs(own.coef_).sum() != pytest.approx(np.abs(start.coef_).sum())
    with pytest.raises(ValueError, match="C must be above 0 where the start is w = 0"):
        quick(C=0, surrogate="margin").fit(graphs, labels)


def test_pickle_clone_and_warm_start(images):
    graphs, labels = images
    model = quick(loss="hamming", C=1.0, tol=1e-4, max_iter=300, warm_start=True).fit(graphs, labels)
    again = pickle.loads(pickle.dumps(model))
    for a, b in zip(model.predict(graphs), again.predict(graphs), strict=True):
        np.testing.assert_array_equal(a, b)
    objective, cold = model.objective_, model.n_iter_
    model.fit(graphs, labels)
    assert model.history_["objective"][0] == pytest.approx(objective, rel=1e-6)
    assert model.n_iter_ <= cold
    assert clone(model).get_params() == model.get_params()


def test_ctrl_c_keeps_the_best_weights(images, monkeypatch):
    graphs, labels = images
    cut, calls = MeanRisk.cut, []

    def interrupted(self, w, tol=0.0):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return cut(self, w, tol)

    monkeypatch.setattr(MeanRisk, "cut", interrupted)
    model = quick(loss="hamming", tol=1e-6)
    with pytest.warns(RuntimeWarning, match="GraphClassifier was interrupted"), pytest.raises(KeyboardInterrupt):
        model.fit(graphs, labels)
    assert model.n_iter_ == 3
    assert np.isfinite(model.score(graphs, labels))


def test_a_refused_fit_leaves_the_model_as_it_was(fitted, images):
    graphs, labels = images
    model = pickle.loads(pickle.dumps(fitted))
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    for parameters in ({"surrogate": "lovasz"}, {"loss": "auc"}, {"surrogate": "slack"}):
        model.set_params(**parameters)
        with pytest.raises(ValueError, match="refuses|knows no method"):
            model.fit(graphs, labels)
        model.set_params(loss="error_rate", surrogate="auto")
        after = {name: value for name, value in vars(model).items() if name.endswith("_")}
        assert after.keys() == before.keys()
        assert all(after[name] is value for name, value in before.items())


def test_too_few_iterations_warn(images):
    with pytest.warns(ConvergenceWarning, match="GraphClassifier stopped after max_iter=1") as seen:
        quick(loss="hamming", max_iter=1, C=100.0).fit(*images)
    assert seen[0].filename == __file__


def test_the_ramp_promises_no_gap(images):
    with pytest.warns(ConvergenceWarning, match="before its descent ended; it has no certificate.*not convex") as seen:
        model = quick(surrogate="ramp", max_iter=1).fit(*images)
    assert model.duality_gap_ == 1.0
    assert "gap" not in str(seen[0].message)
    ended = quick(surrogate="ramp", tol=0.5).fit(*images)
    assert (ended.status_, ended.duality_gap_) == ("local", 1.0)
    assert ended.stop_reason_.endswith("without a certificate")


def stripes(n, seed=0, chain=False):
    """Rows of pixels, or grids of them, in stripes of three labels that noise hides."""
    rng = np.random.default_rng(seed)
    graphs, labels = [], []
    for _ in range(n):
        label = np.repeat(rng.integers(0, 3, 4), 5)
        image = np.eye(3)[label][None] + rng.standard_normal((1 if chain else 2, 20, 3))
        graphs.append(from_image(image, node_features=["color"]))
        labels.append(np.array(["a", "b", "c"])[np.tile(label, 1 if chain else 2)])
    return graphs, labels


@pytest.mark.slow
def test_three_labels():
    graphs, labels = stripes(6)
    test = stripes(10, seed=1)
    model = GraphClassifier(surrogate="ramp", max_iter=3).fit(graphs, labels)
    assert model.coef_.shape == (3, 9)
    assert model.intercept_.shape == (3,)
    assert model.classes_.tolist() == ["a", "b", "c"]
    single = GraphClassifier(surrogate="ramp", max_iter=3).fit(alone(graphs), labels)
    assert model.score(*test) > single.score(alone(test[0]), test[1]) + 0.05
    codes = [np.searchsorted(["a", "b", "c"], one) for one in test[1]]
    guess = [np.searchsorted(["a", "b", "c"], one) for one in model.predict(test[0])]
    losses = MeanOverClasses(Jaccard()).values(
        Classes(np.concatenate(codes), np.arange(11) * 40, 3), np.concatenate(guess)
    )
    found = model.evaluate(*test)
    np.testing.assert_allclose(found.scores, 1 - losses)
    assert np.isnan(found.predicted)
    with pytest.raises(ValueError, match="decision_function refuses 3 labels on graphs with cycles"):
        model.decision_function(graphs)


def test_three_labels_on_chains_have_max_marginals():
    graphs, labels = stripes(6, chain=True)
    unknown = [np.where(np.arange(20) % 7 == 0, -1, np.searchsorted(["a", "b", "c"], one)) for one in labels]
    model = GraphClassifier("hamming", surrogate="margin", learner="nrbm", C=1.0, max_iter=5).fit(graphs, unknown)
    for margins, guess in zip(model.decision_function(graphs), model.predict(graphs), strict=True):
        assert margins.shape == (20, 3)
        np.testing.assert_array_equal(margins.argmax(axis=1), guess)
    one = GraphClassifier("jaccard", surrogate="ramp", C=0, pos_label="c").fit(graphs, labels)
    assert one.loss_ == OneClass(Jaccard(), 2)


def test_what_more_than_two_labels_cannot_have():
    graphs, labels = stripes(3)
    with pytest.raises(ValueError, match="refuses threshold='exact' for 3 labels: use 'zero'"):
        GraphClassifier(threshold="exact").fit(graphs, labels)
    areas = [Graph(graph.X, graph.edges, areas=np.ones(40)) for graph in graphs]
    with pytest.raises(ValueError, match=r"AreaWeightedLoss refuses ZeroOne\(\)"):
        GraphClassifier("zero_one").fit(areas, labels)


@pytest.mark.draw(4)
@pytest.mark.parametrize("loss", ["jaccard", "f1", "error_rate", "hamming"])
def test_areas_of_three_labels_are_those_of_repeated_nodes(loss):
    graphs, labels = stripes(3)
    rng = np.random.default_rng(0)
    areas = [rng.integers(1, 4, len(graph)) for graph in graphs]
    weighed = [Graph(g.X, g.edges, g.Z, areas=a.astype(float)) for g, a in zip(graphs, areas, strict=True)]
    model = GraphClassifier(loss, surrogate="ramp", C=3.0, max_iter=2).fit(weighed, labels)
    found, guess = model.evaluate(weighed, labels), model.predict(weighed)
    codes = [np.searchsorted(["a", "b", "c"], np.concatenate(one)) for one in (labels, guess)]
    repeated = [np.repeat(one, np.concatenate(areas)) for one in codes]
    ends = np.cumsum([0, *(a.sum() for a in areas)])
    measure = MeanOverClasses(as_loss(loss)) if loss in ("jaccard", "f1") else as_loss(loss)
    np.testing.assert_allclose(1 - found.scores, measure.values(Classes(repeated[0], ends, 3), repeated[1]))
    whole = Classes(repeated[0], ends[[0, -1]], 3)
    assert found.pooled == pytest.approx(1 - measure.values(whole, repeated[1])[0])
    one = GraphClassifier(loss, surrogate="ramp", C=3.0, max_iter=2, pos_label="b").fit(weighed, labels)
    assert one.score(weighed, labels) >= 0.3


def test_single_nodes_and_graphs_without_edges():
    rng = np.random.default_rng(0)
    graphs = [Graph(rng.standard_normal((p, 2)), []) for p in (1, 3, 1, 5, 2)]
    labels = [(graph.X[:, 0] > 0).astype(int) for graph in graphs]
    labels[0], labels[1] = np.array([1]), np.array([0, 0, 0])
    for loss in ("jaccard", "error_rate"):
        model = GraphClassifier(loss, max_iter=30, C=10.0).fit(graphs, labels)
        assert model.score(graphs, labels) > 0.4
        assert [len(guess) for guess in model.predict(graphs)] == [1, 3, 1, 5, 2]


def test_equal_features_and_a_constant_target_of_a_graph():
    graphs = [Graph(np.ones((4, 2)), [[0, 1], [2, 3]]) for _ in range(3)]
    labels = [np.array([1, 1, 1, 1]), np.array([0, 0, 0, 0]), np.array([1, 1, 0, 1])]
    model = GraphClassifier("hamming", C=1.0).fit(graphs, labels)
    assert all((guess == 1).all() for guess in model.predict(graphs))
