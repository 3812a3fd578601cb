import numpy as np
import pytest
from hypothesis import given, settings

from problems import truths_and_scores
from setwise.core import enumerate as brute
from setwise.core.inference import Problem
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.inference import ByArea, loss_augmented_inference
from setwise.losses import (
    AreaWeighted,
    BalancedError,
    ErrorRate,
    FBeta,
    GMean,
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
    ErrorRate(),
]
SHAPE = {Trait.INCREASING, Trait.SUBMODULAR, Trait.SUPERMODULAR, Trait.MODULAR}


@settings(max_examples=60)
@given(truths_and_scores(max_p=9))
def test_bound_and_labeling_enclose_the_truth_and_mostly_meet(problem):
    y, scores, rng = problem
    areas = np.ceil(10 * rng.random(len(y))) if rng.random() < 0.5 else 0.1 + rng.random(len(y))
    slack = 1e-9 * (1 + np.abs(scores).astype("f8").sum())
    for inner in LOSSES:
        loss = AreaWeighted(inner, areas)
        found = ByArea().maximize(Problem(loss, Sets.single(y), scores))
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
        problem = Problem(AreaWeighted(Jaccard(), areas), Sets.single(y), 0.1 * rng.standard_normal(12))
        exact.append(ByArea().maximize(problem).exact[0])
    assert np.mean(exact) > 0.9


@given(truths_and_scores(max_p=5, dtypes=("f8",)))
def test_equals_the_loss_of_the_single_pixels(problem):
    """DD 4.1: an area of m pixels is m equal decisions that share its score."""
    y, scores, rng = problem
    areas = rng.integers(1, 4, len(y))
    wrong = rng.random(len(y)) < 0.5
    for inner in LOSSES:
        loss = AreaWeighted(inner, areas)
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
    loss = AreaWeighted(Jaccard(), rng.integers(1, 20, 6))
    assert LovaszHinge(loss)(y, s).value == pytest.approx(brute.lovasz_hinge(loss, y, s, True))


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
    weighted = AreaWeighted(Jaccard(), areas)
    truth = np.max([weighted(y, guess) + scores @ guess for guess in guesses])
    found = loss_augmented_inference(Jaccard(), y, scores, weights=areas)
    assert found.value - 1e-9 * (1 + abs(truth)) <= truth <= found.bound + 1e-9 * (1 + abs(truth))


def test_refusals_are_sentences():
    with pytest.raises(Refusal, match=r"AreaWeighted refuses GMean\(\): it is not a quotient"):
        AreaWeighted(GMean(), [1.0, 2.0])
    with pytest.raises(ValueError, match="areas must be above 0"):
        AreaWeighted(Jaccard(), [1.0, 0.0])
    with pytest.raises(Refusal, match=r"refuses RocArea\(\): it judges a ranking"):
        loss_augmented_inference(RocArea(), [0, 1], [0.0, 1.0])
    with pytest.raises(ValueError, match="has 2 weights"):
        loss_augmented_inference(Jaccard(), [0, 1, 1], [0.0, 1.0, 2.0], weights=[1.0, 2.0])
    convex = Problem(AreaWeighted(Tversky(0.5, 2.0), np.ones(30)), Sets.single(np.arange(30) % 2), np.zeros(30))
    assert "not convex in fn" in ByArea().refuses(convex)
