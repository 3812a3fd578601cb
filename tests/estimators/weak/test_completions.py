"""Completions, calibration and descent against enumeration and known cases."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit

from setwise import WeakSetClassifier
from setwise.estimators.weak.bags import Bagging
from setwise.estimators.weak.knowledge import Knowledge, Posterior
from setwise.estimators.weak.problem import calibrated
from setwise.estimators.weak.selection import interval_of


def known_bag(rng):
    """A bag of at most 8 rows, some of them known, with a range of numbers of positives that can be met."""
    p = int(rng.integers(1, 9))
    labels = np.where(rng.random(p) < 0.3, rng.integers(0, 2, p), -1).astype(np.int8)
    given, unknown = int((labels == 1).sum()), int((labels == -1).sum())
    low = int(rng.integers(given, given + unknown + 1))
    high = int(rng.integers(low, given + unknown + 1))
    return labels, low, high


@pytest.mark.slow
def test_completions_and_posteriors_equal_enumeration():
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(300):
        labels, low, high = known_bag(rng)
        p = len(labels)
        if (labels == -1).all() and low == 0 and high == p:
            continue
        knowledge = Knowledge.of(Bagging.of(None, p), labels, np.array([low]), np.array([high]))
        s = rng.choice([rng.standard_normal(p), np.round(rng.standard_normal(p)), np.zeros(p), rng.uniform(-30, 30, p)])
        rows = knowledge.order
        every = np.array(list(product((0, 1), repeat=p)))
        agree = ((every == labels) | (labels == -1)).all(axis=1) & (every.sum(1) >= low) & (every.sum(1) <= high)
        allowed, scores = every[agree][:, rows], s[rows]
        posterior = Posterior(knowledge)
        completion = posterior(scores, np.inf)
        assert (allowed == completion).all(axis=1).any()
        np.testing.assert_allclose(completion @ scores, (allowed @ scores).max(), atol=1e-9)
        for sharpness in (0.5, 1.0, 3.0):
            weight = np.exp(sharpness * (allowed @ scores - (allowed @ scores).max()))
            np.testing.assert_allclose(posterior(scores, sharpness), weight @ allowed / weight.sum(), atol=1e-10)
        seen += 1
    assert seen > 200


def in_bags(seed=0, bags=200, size=5):
    """Log-odds of rows, and what is known of their bags: the numbers of positives that these log-odds drew."""
    rng = np.random.default_rng(seed)
    s = 2 * rng.standard_normal(bags * size)
    groups = Bagging.of(np.repeat(np.arange(bags), size), len(s))
    counts = np.bincount(groups.owners, rng.random(len(s)) < expit(s)).astype(np.int64)
    knowledge = Knowledge.of(groups, np.full(len(s), -1, np.int8), counts, counts)
    return s[knowledge.order], knowledge


def test_calibration_finds_the_scale_and_the_constant():
    s, knowledge = in_bags()
    slope, shift = calibrated(knowledge, (s - 3.0) / 5.0)
    np.testing.assert_allclose(slope, 5.0, rtol=0.15)
    np.testing.assert_allclose(shift, 3.0, atol=0.3)
    # Scores of one value have a constant alone.
    slope, shift = calibrated(knowledge, np.zeros(len(s)))
    np.testing.assert_allclose(expit(shift), knowledge.shares.mean(), atol=0.01)
    assert 0.01 <= slope <= 100
    # Where the boundary stays, only the factor is found.
    slope, shift = calibrated(knowledge, s / 5.0, boundary_stays=True)
    np.testing.assert_allclose(slope, 5.0, rtol=0.15)
    assert shift == 0.0


@pytest.mark.slow
def test_the_interval_holds_the_true_constant():
    # 95 of 100 intervals do on average; fewer than 88, and all of them, are unlikely.
    inside = 0
    for seed in range(100):
        s, knowledge = in_bags(seed, bags=30)
        found = interval_of(knowledge, s)
        inside += found.low <= 0.0 <= found.high
    assert 88 <= inside <= 99


@pytest.mark.parametrize("method", ["count_likelihood", "margin"])
def test_the_rows_of_the_user_stay_as_they_are(method):
    s, knowledge = in_bags()
    X = np.column_stack([s, np.ones(len(s))]) + 5.0
    before, ids = X.copy(), np.repeat(np.arange(len(knowledge)), knowledge.sets.sizes)
    WeakSetClassifier(method=method, C=1.0).fit(X, groups=ids, counts=knowledge.low)
    np.testing.assert_array_equal(X, before)
