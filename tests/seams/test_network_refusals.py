"""What networks refuse, in a sentence that names the way out, and what they take in its place."""

from dataclasses import MISSING, fields

import numpy as np
import pytest

from setwise import GraphClassifier
from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.enumerate import subsets
from setwise.core.exceptions import Refusal
from setwise.core.networks import ClassGraphs, Graphs
from setwise.graphs import Graph
from setwise.inference import INFERENCES, Auto, Enumeration, MaxFlow
from setwise.learners import OneSlack
from setwise.losses import (
    NDCG,
    AveragePrecision,
    BreakEven,
    ErrorRate,
    Hamming,
    Jaccard,
    MeanOverClasses,
    PrecisionAtK,
    RecallAtK,
    RocArea,
    ZeroOne,
)
from setwise.models import GraphModel
from setwise.risks import MeanRisk
from setwise.spaces import SEARCHES
from setwise.surrogates import LovaszHinge, MarginRescaling, Ramp, SlackRescaling

WITH_EDGES = (
    r"LovaszHinge refuses Graphs with edges: it sorts independent decisions\. Leave the edges out, which holds their "
    r"weights at 0, or use surrogate='margin'\."
)
RANKS = (
    r"\) refuses to train on Graphs: a network predicts labels, not a ranking\. Train for a loss of labels, and "
    r"measure "
    r"this one by the differences of max-marginals\."
)
NO_EDGES = np.zeros((0, 2), np.int64)


def chain(p, n=1):
    """The edges of n chains of p nodes."""
    first = np.arange(n * p).reshape(n, p)
    return np.column_stack([first[:, :-1].ravel(), first[:, 1:].ravel()])


def graphs(p, n=1, edges=None, seed=0):
    labels = np.random.default_rng(seed).random(n * p) < 0.4
    return Graphs(labels, np.arange(n + 1) * p, chain(p, n) if edges is None else edges)


def images(n=6, p=8, edges=True, seed=0):
    rng = np.random.default_rng(seed)
    labels = [(np.arange(p) < p // 2) ^ (rng.random(p) < 0.1) for _ in range(n)]
    return [Graph(np.c_[y, y] + rng.standard_normal((p, 2)), chain(p) if edges else []) for y in labels], [
        y.astype(int) for y in labels
    ]


@pytest.mark.parametrize("loss", [Jaccard(), Hamming(), ZeroOne()], ids=repr)
def test_slack_rescaling_is_known_to_enumeration_alone(loss):
    large = graphs(30)
    with pytest.raises(
        Refusal, match=r"Auto refuses slack rescaling of .* on Graphs: there it is known to Enumeration "
    ):
        SlackRescaling(loss).on(large)
    with pytest.raises(Refusal, match=r"for sets of at most 2\^20 labelings\. Use surrogate='margin'\."):
        SlackRescaling(loss).on(large)
    with pytest.raises(Refusal, match=r"2\^30 labelings are too many\. Use surrogate='margin'\."):
        SlackRescaling(loss, Enumeration()).on(large)
    for labels in (2, 3):
        classes = ClassGraphs(np.arange(30) % labels, np.array([0, 30]), chain(30), labels)
        lifted = loss if loss != Jaccard() else MeanOverClasses(loss)
        with pytest.raises(
            Refusal, match=r"Auto refuses slack rescaling of .* on ClassGraphs: .*Use surrogate='margin'"
        ):
            SlackRescaling(lifted).on(classes)
    # Without edges the decisions are independent.
    bare = graphs(30, edges=NO_EDGES)
    scores = np.random.default_rng(0).standard_normal(30)
    ours, theirs = (SlackRescaling(loss).on(batch)(scores) for batch in (bare, Sets(bare.labels, bare.offsets)))
    np.testing.assert_array_equal(ours.values, theirs.values)
    np.testing.assert_array_equal(ours.gradient, theirs.gradient)


@pytest.mark.parametrize("name", sorted(set(INFERENCES | SEARCHES) - {"enumeration", "auto"}))
@pytest.mark.parametrize("loss", [Jaccard(), Hamming()], ids=repr)
def test_every_other_inference_refuses_slack_rescaling_of_networks(name, loss):
    kind = (INFERENCES | SEARCHES)[name]
    # Some need an inference for the problems that they make.
    method = kind(*[Auto() for one in fields(kind) if one.default is MISSING])
    assert method.refuses(loss.bind(graphs(6)), slack=True).endswith(".")


def test_slack_rescaling_of_small_networks_is_its_definition():
    batch = graphs(6, 3, seed=2)
    scores = np.random.default_rng(1).standard_normal(batch.n_scores)
    found = SlackRescaling(Jaccard()).on(batch)(scores)
    assert found.exact.all()
    for i in range(3):
        one = batch.take(np.array([i]))
        own = scores[slice(*batch.score_offsets[i : i + 2])]
        bound_loss = Jaccard().bind(one)
        values = [bound_loss.values(row)[0] * (1 + one.won(own, row)[0]) for row in subsets(6)]
        assert found.values[i] == pytest.approx(max(values))


def test_the_lovasz_hinge_takes_graphs_only_without_edges():
    with pytest.raises(Refusal, match=WITH_EDGES):
        LovaszHinge(Jaccard()).on(graphs(6))
    with pytest.raises(Refusal, match=r"LovaszHinge refuses ClassGraphs: .*Use surrogate='margin'\."):
        LovaszHinge(Hamming()).on(ClassGraphs(np.arange(6) % 3, np.array([0, 6]), NO_EDGES, 3))
    unknown = Graphs(np.array([1, -1, 0], np.int8), np.array([0, 3]), NO_EDGES)
    with pytest.raises(Refusal, match="LovaszHinge refuses sets with unknown labels"):
        LovaszHinge(Jaccard()).on(unknown)


def test_without_edges_the_lovasz_hinge_is_that_of_independent_decisions():
    for p, n in ((1, 1), (7, 4)):
        bare = graphs(p, n, NO_EDGES)
        scores = np.random.default_rng(3).standard_normal(n * p)
        ours, theirs = (LovaszHinge(Jaccard()).on(batch)(scores) for batch in (bare, Sets(bare.labels, bare.offsets)))
        np.testing.assert_array_equal(ours.values, theirs.values)
        np.testing.assert_array_equal(ours.gradient, theirs.gradient)


def test_the_weights_of_edges_stay_at_0_under_the_lovasz_hinge():
    bare = graphs(7, 4, NO_EDGES)
    X = np.random.default_rng(4).standard_normal((28, 2)) + bare.labels[:, None]
    model = GraphModel(X, np.zeros((0, 1)), bare)
    fit = OneSlack(C=10.0, tol=1e-4).minimize(MeanRisk(model, LovaszHinge(Jaccard()).on(bare)))
    assert fit.status == "converged"
    assert fit.w[-1] == 0.0


def test_the_estimator_takes_the_lovasz_hinge_without_edges():
    given, labels = images(edges=False)
    fitted = GraphClassifier("jaccard", surrogate="lovasz", tol=1e-3).fit(given, labels)
    assert fitted.surrogate_ == "lovasz"
    assert fitted.duality_gap_ <= 1e-3
    np.testing.assert_array_equal(fitted.edge_coef_, 0.0)
    assert fitted.score(given, labels) > 0.6
    # Areas of nodes count in the loss.
    heavy = [Graph(one.X, [], areas=1.0 + np.arange(len(one))) for one in given]
    assert np.isfinite(GraphClassifier("jaccard", surrogate="lovasz").fit(heavy, labels).objective_)


def test_the_estimator_refuses_in_the_same_sentences():
    given, labels = images()
    for surrogate in ("lovasz", LovaszHinge("jaccard")):
        with pytest.raises(Refusal, match=WITH_EDGES):
            GraphClassifier("jaccard", surrogate=surrogate).fit(given, labels)
    with pytest.raises(Refusal, match=r"surrogate='lovasz' refuses an inference: it sorts\. Use inference='auto'\."):
        GraphClassifier("jaccard", surrogate="lovasz", inference=MaxFlow()).fit(*images(edges=False))
    classes = [np.arange(8) % 3 for _ in labels]
    with pytest.raises(Refusal, match=r"LovaszHinge refuses MeanOverClasses.*Use surrogate='margin'\."):
        GraphClassifier("jaccard", surrogate="lovasz").fit(images(edges=False)[0], classes)
    assert GraphClassifier("jaccard", surrogate="slack", max_iter=10, tol=1.0).fit(given, labels).surrogate_ == "slack"
    with pytest.raises(Refusal, match=r"there it is known to Enumeration alone.*Use surrogate='margin'\."):
        GraphClassifier("jaccard", surrogate="slack").fit(*images(p=24))


@pytest.mark.parametrize("loss", [RocArea(), AveragePrecision(), NDCG()], ids=repr)
def test_rankings_are_refused_in_training(loss):
    for batch in (graphs(6), graphs(6, edges=NO_EDGES)):
        for surrogate in (MarginRescaling, SlackRescaling, Ramp):
            with pytest.raises(Refusal, match=RANKS):
                surrogate(loss).on(batch)
    with pytest.raises(Refusal, match="which reads scores, not labels. Train for another loss, and pass this one to"):
        GraphClassifier(loss).fit(*images())
    with pytest.raises(Refusal, match=RANKS):
        GraphClassifier(surrogate=MarginRescaling(loss)).fit(*images())


@pytest.mark.parametrize("loss", [RocArea(), AveragePrecision()], ids=repr)
def test_rankings_are_measured_by_differences_of_max_marginals(loss):
    batch = graphs(8, 4, seed=5)
    scores = np.random.default_rng(6).standard_normal(batch.n_scores)
    scores[batch.edge_places] = np.abs(scores[batch.edge_places])
    marginals = MaxFlow().prepare(BoundLoss(batch)).max_marginals(scores)
    turns = marginals[:, 1] - marginals[:, 0]
    # The differences by all labelings.
    rows = subsets(8)
    for i in range(4):
        one = batch.take(np.array([i]))
        won = np.array([one.won(scores[slice(*batch.score_offsets[i : i + 2])], row)[0] for row in rows])
        each = [won[rows[:, j]].max() - won[~rows[:, j]].max() for j in range(8)]
        np.testing.assert_allclose(turns[8 * i : 8 * i + 8], each, atol=1e-12)
    np.testing.assert_array_equal(loss.values(batch, turns), loss.values(Sets(batch.labels, batch.offsets), turns))
    with pytest.raises(ValueError, match=r"predictions must have shape \(32,\)"):
        loss.values(batch, scores)
    unknown = Graphs(np.where(np.arange(32) == 3, -1, batch.labels).astype(np.int8), batch.offsets, batch.edges)
    with pytest.raises(Refusal, match=r"it ranks whole sets of binary decisions, all known\."):
        loss.values(unknown, turns)


@pytest.mark.parametrize(("name", "loss"), [("auc", RocArea()), ("average_precision", AveragePrecision())])
def test_the_estimator_measures_rankings(name, loss):
    given, labels = images()
    fitted = GraphClassifier(ErrorRate(), surrogate="margin", tol=0.1).fit(given, labels)
    differences = fitted.decision_function(given)
    found = fitted.evaluate(given, labels, loss=name)
    each = [1.0 - loss(y, s) for y, s in zip(labels, differences, strict=True)]
    np.testing.assert_allclose(found.scores, each)
    assert found.score == pytest.approx(np.mean(each))
    assert found.pooled == pytest.approx(1.0 - loss(np.concatenate(labels), np.concatenate(differences)))
    classes = [np.arange(8) % 3 for _ in labels]
    with pytest.raises(
        Refusal, match=r"(RocArea|AveragePrecision)\(\) refuses 3 classes: it ranks positives\. Use two"
    ):
        GraphClassifier("jaccard", surrogate="margin", max_iter=2, tol=1.0).fit(given, classes).evaluate(
            given, classes, loss=name
        )


@pytest.mark.parametrize("loss", [BreakEven(), PrecisionAtK(2), RecallAtK(2)])
def test_numbers_predicted_are_refused_on_networks(loss):
    batch = Graphs.images([np.eye(3, dtype=bool)])
    for surrogate in (MarginRescaling(loss), Ramp(loss)):
        with pytest.raises(Refusal, match=r"refuses Graphs: it fixes the number of predicted positives"):
            surrogate.on(batch)


def test_decompositions_come_before_large_enumerations():
    chosen = Auto().choice
    for p, name in ((12, "Enumeration"), (13, "DualDecomposition"), (20, "DualDecomposition")):
        batch = Graphs(np.arange(p) % 3 == 0, np.array([0, p]), chain(p))
        assert type(chosen(Jaccard().bind(batch))).__name__ == name
    classes = ClassGraphs(np.arange(12) % 3, np.array([0, 12]), chain(12), 3)
    assert type(chosen(MeanOverClasses(Jaccard()).bind(classes))).__name__ == "ClassDecomposition"
    assert type(chosen(MeanOverClasses(Jaccard()).bind(classes), slack=True)).__name__ == "Enumeration"
