from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from cases import truths_and_scores
from setwise import loss_augmented_inference
from setwise.core import enumerate as brute
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.inference import Auto, ByArea
from setwise.losses import (
    AreaWeightedLoss,
    BalancedError,
    ClassWeightedLoss,
    ErrorRate,
    FBeta,
    GMean,
    Hamming,
    Jaccard,
    RocArea,
    Trait,
    Tversky,
    ZeroOne,
)
from setwise.surrogates import LovaszHinge

LOSSES = [
    Jaccard(),
    Jaccard("fraction"),
    Jaccard("ignore"),
    FBeta(),
    FBeta(0.5),
    FBeta(2.0),
    Tversky(0.3, 0.8),
]
SHAPE = {Trait.INCREASING, Trait.SUBMODULAR, Trait.SUPERMODULAR, Trait.MODULAR}


@settings(max_examples=60)
@given(truths_and_scores(max_p=9))
def test_bound_and_labeling_enclose_the_truth_and_mostly_meet(problem):
    y, scores, rng = problem
    areas = np.ceil(10 * rng.random(len(y))) if rng.random() < 0.5 else 0.1 + rng.random(len(y))
    slack = 1e-9 * (1 + np.abs(scores).astype("f8").sum())
    for inner in LOSSES:
        loss = AreaWeightedLoss(inner, areas)
        bound_loss = loss.bind(Sets.single(y))
        # In a set of one class a quotient may be a sum of costs.
        found = (Auto() if ByArea().refuses(bound_loss) else ByArea()).prepare(bound_loss).maximize(scores)
        truth = brute.margin_rescaling(loss, y, scores)
        assert found.values[0] <= truth + slack
        assert found.bounds[0] >= truth - slack
        if found.exact[0]:
            assert found.values[0] == pytest.approx(truth, abs=slack)


def test_exact_in_most_cases_of_moderate_scores():
    rng = np.random.default_rng(0)
    exact = []
    for _ in range(200):
        y, areas = rng.random(12) < 0.4, 1 + rng.integers(0, 30, 12)
        bound_loss = AreaWeightedLoss(Jaccard(), areas).bind(Sets.single(y))
        exact.append(ByArea().prepare(bound_loss).maximize(0.1 * rng.standard_normal(12)).exact[0])
    assert np.mean(exact) > 0.9


@given(truths_and_scores(max_p=5, dtypes=("f8",)))
def test_equals_the_loss_of_the_single_pixels(problem):
    """DD 4.1: an area of m pixels is m equal decisions that share its score."""
    y, scores, rng = problem
    areas = rng.integers(1, 4, len(y))
    wrong = rng.random(len(y)) < 0.5
    for inner in LOSSES:
        loss = AreaWeightedLoss(inner, areas)
        assert loss(y, y ^ wrong) == pytest.approx(inner(np.repeat(y, areas), np.repeat(y ^ wrong, areas)))
        assert loss.traits & SHAPE <= brute.traits(loss, y)
        pixels = (
            brute.margin_rescaling(inner, np.repeat(y, areas), np.repeat(scores / areas, areas))
            if areas.sum() < 13
            else np.inf
        )
        assert brute.margin_rescaling(loss, y, scores) <= pixels + 1e-9 * (1 + np.abs(scores).sum())


def test_areas_reach_the_lovasz_hinge():
    rng = np.random.default_rng(1)
    y, s = rng.random(6) < 0.5, rng.standard_normal(6)
    loss = AreaWeightedLoss(Jaccard(), rng.integers(1, 20, 6))
    assert LovaszHinge(loss)(y, s).value == pytest.approx(brute.lovasz_hinge(loss, y, s, True))


@pytest.mark.slow
@given(truths_and_scores(max_p=7, dtypes=("f8",)))
def test_loss_augmented_inference_equals_enumeration(problem):
    y, scores, rng = problem
    guesses = brute.subsets(len(y)) ^ y
    for loss in (Jaccard(), FBeta(), ZeroOne(), BalancedError()):
        truth = np.max([loss(y, guess) + scores @ guess for guess in guesses])
        found = loss_augmented_inference(loss, y, scores)
        assert found.exact
        assert found.value == found.bound == pytest.approx(truth, rel=1e-9, abs=1e-9)
        assert loss(y, found.labels) + scores @ found.labels == pytest.approx(found.value, rel=1e-9, abs=1e-9)
    areas = 1 + rng.random(len(y))
    weighted = AreaWeightedLoss(Jaccard(), areas)
    truth = np.max([weighted(y, guess) + scores @ guess for guess in guesses])
    found = loss_augmented_inference(Jaccard(), y, scores, weights=areas)
    assert found.value - 1e-9 * (1 + abs(truth)) <= truth <= found.bound + 1e-9 * (1 + abs(truth))


def test_refusals_are_sentences():
    with pytest.raises(Refusal, match=r"AreaWeightedLoss refuses GMean\(\): it is not a quotient"):
        AreaWeightedLoss(GMean(), [1.0, 2.0])
    with pytest.raises(ValueError, match="areas must be above 0"):
        AreaWeightedLoss(Jaccard(), [1.0, 0.0])
    with pytest.raises(Refusal, match=r"refuses RocArea\(\): it reads a ranking"):
        loss_augmented_inference(RocArea(), [0, 1], [0.0, 1.0])
    with pytest.raises(ValueError, match="has 2 weights"):
        loss_augmented_inference(Jaccard(), [0, 1, 1], [0.0, 1.0, 2.0], weights=[1.0, 2.0])
    convex = AreaWeightedLoss(Tversky(0.5, 2.0), np.ones(30)).bind(Sets.single(np.arange(30) % 2))
    assert "not convex in fn" in ByArea().refuses(convex)


def test_a_multiple_of_a_loss_of_areas_keeps_its_method():
    """A bound loss is data, so nothing is forgotten on the way through * and +."""
    rng = np.random.default_rng(2)
    y, s, areas = rng.random(40) < 0.4, 0.05 * rng.standard_normal(40), 1 + rng.random(40)
    loss, sets = AreaWeightedLoss(Jaccard(), areas), Sets.single(y)
    for twin in (1.0 * loss, 0.5 * loss, loss + Hamming(areas / 100), 2 * (loss + Hamming())):
        assert isinstance(Auto().choice(twin.bind(sets)), ByArea)
    once, same = (Auto().prepare(one.bind(sets)).maximize(s) for one in (loss, 1.0 * loss))
    assert once.values[0] == same.values[0]
    assert once.bounds[0] == same.bounds[0]


def test_weights_reach_a_multiple_of_a_loss():
    y, s = [1, 0, 1], [0.1, 0.2, -0.3]
    plain = loss_augmented_inference(2 * Jaccard(), y, s, weights=[1.0, 1.0, 1.0])
    assert plain.value == pytest.approx(loss_augmented_inference(2 * Jaccard(), y, s).value)


def test_a_set_without_positives_and_a_policy_between_0_and_1():
    rng = np.random.default_rng(1)
    found = loss_augmented_inference(ClassWeightedLoss(FBeta(50.0, 0.25), 0.01, 0.3), np.zeros(5, int), np.zeros(5))
    assert found.value == pytest.approx(1.0)
    y, s = np.zeros(30, int), rng.standard_normal(30) / 30
    assert loss_augmented_inference(FBeta(1.0, 0.5), y, s, weights=np.ones(30)).exact


@pytest.mark.parametrize("inner", [ErrorRate(), Hamming()])
def test_sums_of_costs_are_maximized_exactly(inner):
    rng = np.random.default_rng(0)
    for p in (1, 2, 7):
        y, scores, areas = rng.random(p) < 0.5, rng.standard_normal(p), 1.0 + rng.integers(0, 9, p)
        loss = AreaWeightedLoss(inner, areas)
        found = Auto().prepare(loss.bind(Sets.single(y))).maximize(scores)
        assert found.exact[0]
        assert found.values[0] == pytest.approx(brute.margin_rescaling(loss, y, scores))
        assert loss(y, ~y) == pytest.approx(1.0 if inner == ErrorRate() else areas.sum())


@pytest.mark.parametrize("inner", [Jaccard(), FBeta(), ErrorRate(), Hamming()])
def test_sets_of_any_sizes_have_an_area_for_each_decision(inner):
    rng = np.random.default_rng(1)
    sizes, areas = np.array([3, 1, 6]), 0.5 + rng.random(10)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    y, guess, scores = rng.random(10) < 0.4, rng.random(10) < 0.5, 0.3 * rng.standard_normal(10)
    sets = Sets(y, ends)
    loss = AreaWeightedLoss(inner, areas)
    each = [AreaWeightedLoss(inner, areas[a:b])(y[a:b], guess[a:b]) for a, b in pairwise(ends)]
    np.testing.assert_allclose(loss.values(sets, guess), each)
    found = Auto().prepare(loss.bind(sets)).maximize(scores)
    for i, (a, b) in enumerate(pairwise(ends)):
        best = brute.margin_rescaling(AreaWeightedLoss(inner, areas[a:b]), y[a:b], scores[a:b])
        assert found.values[i] - 1e-9 <= best <= found.bounds[i] + 1e-9
    with pytest.raises(ValueError, match="has 10 weights, one for each place; got a set of"):
        loss.bind(sets.take(np.array([0, 2])))
