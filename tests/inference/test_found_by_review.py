"""Defects that a review found, each with the case that showed it."""

import time

import numpy as np
import pytest

from setwise import SetClassifier
from setwise.core import enumerate as brute
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.inference import loss_augmented_inference, max_marginals, mean_over_classes, multi_class_inference
from setwise.losses import (
    NDCG,
    AreaWeighted,
    BalancedError,
    BreakEven,
    ClassWeighted,
    CountLoss,
    ErrorRate,
    FBeta,
    GMean,
    Jaccard,
    PrecisionAtK,
    RocArea,
)
from setwise.surrogates import MarginRescaling


def test_mean_over_classes_refuses_losses_that_tie_a_number():
    for loss in (PrecisionAtK(1), BreakEven()):
        with pytest.raises(Refusal, match="ties the number of predicted positives of each class"):
            mean_over_classes(loss, [0, 1], [[0.4, -1.9], [0.0, -0.9]])


@pytest.mark.parametrize("loss", [BalancedError(), Jaccard("fraction"), Jaccard(), FBeta()], ids=repr)
def test_weighted_counts_may_be_fractions(loss):
    rng = np.random.default_rng(0)
    assert AreaWeighted(loss, np.full(4, 0.25))([1, 0, 0, 0], [0, 1, 1, 1]) == 1.0
    assert ClassWeighted(loss, 0.1, 0.1)([1, 0], [0, 1]) == 1.0
    for _ in range(30):
        y, s = rng.random(6) < rng.choice([0.0, 0.4]), 0.3 * rng.standard_normal(6)
        weighted = ClassWeighted(loss, 0.01, 0.02)
        np.testing.assert_allclose(max_marginals(weighted, y, s), brute.max_marginals(weighted, y, s), atol=1e-12)


def test_a_set_without_positives_and_a_policy_between_0_and_1():
    rng = np.random.default_rng(1)
    found = loss_augmented_inference(ClassWeighted(FBeta(50.0, 0.25), 0.01, 0.3), np.zeros(5, int), np.zeros(5))
    assert found.value == pytest.approx(1.0)
    y, s = np.zeros(30, int), rng.standard_normal(30) / 30
    assert loss_augmented_inference(FBeta(1.0, 0.5), y, s, weights=np.ones(30)).exact
    X, groups = rng.standard_normal((30, 2)), np.repeat([0, 1, 2], 10)
    target = (rng.random(30) < 0.5) & (groups > 0)
    model = SetClassifier(FBeta(zero_division=0.5), "margin", class_weight="balanced").fit(X, target, groups=groups)
    assert model.duality_gap_ <= 1e-3


@pytest.mark.parametrize(
    "f",
    [
        lambda fn, fp, P, N: np.sum(fn + fp),
        lambda *_: 0.5,
        lambda fn, fp, P, N: (fn + fp) * 1j,
        lambda fn, fp, P, N: np.zeros(7),
        lambda fn, fp, P, N: "none",
    ],
)
def test_a_function_of_counts_must_be_vectorized(f):
    loss = CountLoss(f)
    with pytest.raises(ValueError, match="f must return real numbers of shape"):
        loss([1, 0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="f must return real numbers of shape"):
        loss_augmented_inference(loss, [1, 0, 1], np.zeros(3))


def test_ndcg_of_more_ranks_than_decisions_is_ndcg_of_all():
    rng = np.random.default_rng(2)
    y, s = rng.random(20_000) < 0.3, rng.standard_normal(20_000)
    begin = time.perf_counter()
    deep = MarginRescaling(NDCG(10**6))(y, s).value
    assert time.perf_counter() - begin < 5.0
    assert deep == pytest.approx(MarginRescaling(NDCG())(y, s).value)


def test_a_loss_of_a_ranking_is_refused_in_a_sentence_everywhere():
    for run in (
        lambda: max_marginals(RocArea(), [0, 1], [0.0, 1.0]),
        lambda: multi_class_inference(RocArea(), [0, 1], [[0.0, 1.0], [1.0, 0.0]], 1),
        lambda: mean_over_classes(RocArea(), [0, 1], [[0.0, 1.0], [1.0, 0.0]]),
    ):
        with pytest.raises(Refusal, match=r"refuses RocArea\(\): it judges a ranking"):
            run()


def test_a_modular_part_leaves_max_marginals_structured():
    rng = np.random.default_rng(3)
    y, s = rng.random(7) < 0.4, 0.2 * rng.standard_normal(7)
    loss = Jaccard() + ErrorRate() + 0.5 * BalancedError()
    np.testing.assert_allclose(max_marginals(loss, y, s), brute.max_marginals(loss, y, s), atol=1e-12)
    y, s = rng.random(200_000) < 0.4, rng.standard_normal(200_000)
    assert max_marginals(loss, y, s).shape == (200_000, 2)


def test_one_huge_score_does_not_drown_the_loss():
    rng = np.random.default_rng(4)
    y, rest = rng.random(30) < 0.5, 0.05 * rng.standard_normal(29)
    y[0] = False
    small, huge = (loss_augmented_inference(GMean(), y, np.r_[first, rest]).labels for first in (1e2, 1e17))
    assert GMean()(y, huge) + rest @ huge[1:] == pytest.approx(GMean()(y, small) + rest @ small[1:])


def test_a_depth_beyond_the_set_is_refused_in_batches_too():
    sets = Sets.single([1, 0, 1])
    for run in (MarginRescaling(PrecisionAtK(7)).batch, PrecisionAtK(7).judge):
        with pytest.raises(ValueError, match="fits sets of 7 decisions or more; got one of 3"):
            run(sets, np.zeros(3))


def test_weights_reach_a_multiple_of_a_loss():
    y, s = [1, 0, 1], [0.1, 0.2, -0.3]
    plain = loss_augmented_inference(2 * Jaccard(), y, s, weights=[1.0, 1.0, 1.0])
    assert plain.value == pytest.approx(loss_augmented_inference(2 * Jaccard(), y, s).value)


def test_nearly_equal_doubles_are_sorted_exactly_and_not_slowly():
    rng = np.random.default_rng(5)
    y = rng.random(200_000) < 0.5
    s = np.where(y, 1.0, -1.0) * (1e-8 + 1e-16 * rng.random(200_000))
    begin = time.perf_counter()
    bound = MarginRescaling(Jaccard())(y, s)
    assert time.perf_counter() - begin < 5.0
    assert bound.exact
