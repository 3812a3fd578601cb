"""Bounds by means and variances, for quotients of the counts."""

import numpy as np
import pytest

from decisions.probabilities import slow
from decisions.test_large_sets import sets
from setwise.decisions import expected_loss, least_expected_loss
from setwise.decisions.formula import formula_of
from setwise.decisions.large_sets import ByMoments, ByWindow
from setwise.losses import MCC, BalancedError, ClassWeightedLoss, FBeta, GMean, Jaccard, Tversky

FRACTIONS = [
    FBeta(), FBeta(2.0, zero_division=0.0), FBeta(0.5, zero_division=0.25), Jaccard(), Jaccard("fraction"),
    Jaccard("ignore"), Tversky(0.3, 0.8), Tversky(2.0, 1.0, zero_division=0.5), ClassWeightedLoss(Jaccard(), 0.5, 2.0),
    3.0 * Jaccard(), ClassWeightedLoss(FBeta(zero_division=0.5), 3.0, 1.0),
]  # fmt: skip


def nasty(p):
    rng = np.random.default_rng(p)
    return sets(p) | {
        "always": np.ones(p),
        "tiny": np.full(p, 1e-200),
        "nearly none": np.full(p, 1e-3 / p),
        "one": np.eye(1, p)[0],
        "all but one": 1.0 - np.eye(1, p)[0],
        "two kinds": rng.permutation(np.where(np.arange(p) < p // 3, 0.9, 0.01)),
    }


@pytest.mark.draw(2)
@pytest.mark.parametrize("loss", FRACTIONS, ids=repr)
def test_bounds_hold_for_every_number_predicted(loss):
    for p in (2, 3, 40):
        rule = ByMoments(formula_of(loss, p), 0.0)
        for q in nasty(p).values():
            ordered = np.sort(q)[::-1].copy()
            exact = slow(loss, ordered)
            lower, upper, guess = rule._bounds(ordered)
            assert (lower <= exact + 1e-12).all()
            assert (exact[1:] <= upper[1:] + 1e-12).all()
            assert (guess >= lower).all()
            assert (np.abs(guess - exact)[1:] <= 0.05 * rule.formula.largest).all()


@pytest.mark.draw(20)
@pytest.mark.parametrize("tol", [0.0, 1e-3])
@pytest.mark.parametrize("loss", FRACTIONS, ids=repr)
def test_the_decision_is_best_up_to_the_tolerance(loss, tol):
    p = 300
    for q in nasty(p).values():
        exact = ByWindow(formula_of(loss, p)).decide(q[None, :]).values[0]
        found = ByMoments(formula_of(loss, p), tol).decide(q[None, :])
        assert found.bounds[0] <= exact + 1e-9
        assert found.values[0] <= found.bounds[0] + tol + 1e-12
        assert found.values[0] <= exact + tol + 1e-9
        np.testing.assert_allclose(expected_loss(q, found.labels[0], loss), found.values, atol=1e-10)


def test_the_gap_of_large_sets_falls_with_their_size():
    gaps = []
    for p in (10_000, 100_000):
        q = np.random.default_rng(0).random(p)
        found = least_expected_loss(q, "jaccard")
        gaps.append(float((found.values - found.bounds)[0]))
    assert gaps[1] < 0.2 * gaps[0] < 2e-5


def test_only_quotients_that_are_linear_in_the_positives_have_such_bounds():
    assert all(formula_of(loss, 50).fraction is not None for loss in FRACTIONS)
    assert all(formula_of(loss, 50).fraction is None for loss in (MCC(), GMean(), BalancedError(), FBeta() + Jaccard()))
