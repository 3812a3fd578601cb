"""Large sets: lower bounds of intervals of numbers, certified gaps, and rules that need no search."""

import numpy as np
import pytest

from cases import in_turn
from decisions.probabilities import COUNTS, slow
from setwise.decisions import expected_loss, least_expected_loss
from setwise.decisions.branch_and_bound import WORK, ByBounds, _Search
from setwise.decisions.distributions import CountRuns, Pmf, convolved, count_of
from setwise.decisions.formula import formula_of
from setwise.decisions.large_sets import BySums, ByWindow, expected
from setwise.kernels.poisson_binomial import count, count_by_pairs
from setwise.losses import (
    MCC,
    BalancedError,
    CountFunctionLoss,
    ErrorRate,
    FBeta,
    GMean,
    Hamming,
    HMean,
    Jaccard,
    SaturatingLoss,
    Trait,
    ZeroOne,
)


def sets(p):
    rng = np.random.default_rng(p)
    return {
        "uniform": rng.random(p),
        "rare": rng.random(p) ** 8,
        "certain": np.round(rng.random(p)),
        "tied": np.round(3 * rng.random(p)) / 3,
        "equal": np.full(p, 0.3),
        "never": np.zeros(p),
        "very rare": np.minimum(10.0 * rng.random(p) / p, 1.0),
        "nearly all": 1.0 - np.minimum(10.0 * rng.random(p) / p, 1.0),
        "zeros and ones": rng.choice([0.0, 0.5, 1.0], p),
        "two values": np.where(rng.random(p) < 0.3, 0.7, 1e-3),
        "few": np.where(np.arange(p) < 9, 0.7, 1e-6),
    }


@pytest.mark.draw(12)
@pytest.mark.parametrize("loss", COUNTS, ids=repr)
def test_bounds_of_intervals_are_below_all_their_numbers(loss):
    p = 50
    rng = np.random.default_rng(1)
    for q in sets(p).values():
        ordered = np.sort(q)[::-1]
        exact = slow(loss, ordered)
        search = _Search(formula_of(loss, p), ordered, 1e-3)
        for low, high in np.sort(rng.integers(0, p + 1, (60, 2)), axis=1):
            if low < high:
                assert search._bound(low, high) <= exact[low : high + 1].min() + 1e-9 * max(1.0, exact.max())


@pytest.mark.draw(18)
@pytest.mark.parametrize("tol", [1e-9, 1e-3])
@pytest.mark.parametrize("loss", COUNTS, ids=repr)
def test_the_search_by_bounds_finds_what_all_numbers_give(loss, tol):
    p = 150
    for q in sets(p).values():
        scale = max(1.0, formula_of(loss, p).largest)
        exact = ByWindow(formula_of(loss, p)).decide(q[None, :]).values[0]
        found = ByBounds(formula_of(loss, p), tol * scale).decide(q[None, :])
        assert found.bounds[0] <= exact + 1e-11 * scale
        assert exact <= found.values[0] + 1e-11 * scale
        assert found.values[0] <= found.bounds[0] + 1.001 * tol * scale
        np.testing.assert_allclose(expected_loss(q, found.labels[0], loss), found.values, atol=1e-11 * scale)


@pytest.mark.draw(3)
@pytest.mark.parametrize("loss", [FBeta(), Jaccard(), GMean()], ids=repr)
def test_a_large_set_has_a_certified_gap(loss):
    for q in sets(40_000).values():
        found = least_expected_loss(q, loss)
        assert found.bounds[0] <= found.values[0] <= found.bounds[0] + 1e-3
        assert found.exact[0] == (found.bounds[0] == found.values[0])
        np.testing.assert_allclose(expected_loss(q, found.labels, loss), found.values, atol=1e-10)


@pytest.mark.draw(6)
@pytest.mark.parametrize("loss", [MCC(), GMean(), FBeta() + 0.5 * Jaccard(), Jaccard() + Hamming()], ids=repr)
def test_bounds_of_large_intervals_are_below_their_numbers(loss):
    p, rng, normal = 30_000, np.random.default_rng(2), 0
    for name in ("uniform", "equal", "two values", "nearly all"):
        ordered = np.sort(sets(p)[name])[::-1]
        search = _Search(formula_of(loss, p), ordered, 1e-3)
        for low in rng.integers(0, p - 3000, 6):
            low, high = int(low), int(low + rng.choice([30, 300, 3000]))
            # A low bound is wanted, so the blocks are coarse; then a high one, so they are fine.
            bounds = [search._bound(low, high, wanted) for wanted in (0.0, np.inf)]
            normal += search.halves._normal(float(search.halves.variances[high]), 100)
            for k in (low, (low + high) // 2, high):
                value = expected(search.formula, search.halves.first(k), search.halves.others(k), k)
                assert max(bounds) <= value + 1e-9 * max(1.0, value)
    assert normal > 3


@pytest.mark.draw(6)
@pytest.mark.parametrize("loss", [MCC(), GMean(), HMean(), Jaccard() + Hamming(), BalancedError() + GMean()], ids=repr)
def test_the_search_in_sets_of_thousands_finds_what_windows_find(loss):
    p, kinds = 1500, [*sets(1500).values()]
    for q in in_turn(kinds, len(repr(loss)), 2):
        exact = ByWindow(formula_of(loss, p)).decide(q[None, :]).values[0]
        found = ByBounds(formula_of(loss, p), 2e-3).decide(q[None, :])
        assert found.bounds[0] - 1e-9 <= exact <= found.values[0] + 1e-9
        assert found.values[0] <= found.bounds[0] + 2.001e-3


@pytest.mark.draw(6)
@pytest.mark.parametrize(
    ("kind", "loss", "tol", "most"),
    [
        ("equal", MCC(), 4e-3, 1 << 27),
        ("very rare", MCC(), 1e-3, 1 << 27),
        ("nearly all", MCC(), 1e-3, 1 << 27),
        ("equal", GMean(), 1e-3, 1 << 26),
        ("very rare", GMean(), 1e-3, 1 << 27),
        ("very rare", HMean(), 1e-3, 1 << 27),
        ("nearly all", GMean(), 1e-3, 1 << 27),
        ("uniform", Jaccard() + Hamming(), 1e-3, 1 << 26),
        ("equal", FBeta() + 0.5 * Jaccard(), 1e-3, 1 << 26),
        ("two values", BalancedError() + GMean(), 1e-3, 1 << 26),
    ],
    ids=repr,
)
def test_nasty_large_sets_reach_the_gap_with_little_work(kind, loss, tol, most):
    p = 60_000
    search = _Search(formula_of(loss, p), np.sort(sets(p)[kind])[::-1], tol)
    _, value, bound = search.run(np.arange(p + 1))
    assert bound <= value <= bound + tol
    assert search.work < most < WORK


def test_a_search_that_stops_early_says_so(monkeypatch):
    monkeypatch.setattr("setwise.decisions.branch_and_bound.WORK", 1 << 20)
    found = least_expected_loss(np.full(40_000, 0.5), MCC())
    assert found.bounds[0] <= 1.0 - 1e-3
    assert abs(found.values[0] - 1.0) < 1e-9
    assert not found.exact[0]


@pytest.mark.parametrize("loss", [BalancedError(), 2.0 * BalancedError() + Hamming()], ids=repr)
def test_sums_of_costs_are_decided_exactly_in_sets_of_any_size(loss):
    for p in (2, 60, 400):
        for q in sets(p).values():
            window = ByWindow(formula_of(loss, p)).decide(q[None, :])
            np.testing.assert_allclose(BySums(formula_of(loss, p)).decide(q[None, :]).values, window.values, rtol=1e-11)
    assert least_expected_loss(np.random.default_rng(0).random(100_000), loss).exact.all()


@pytest.mark.parametrize("width", [1, 7, 40])
def test_normal_bounds_are_stochastically_larger(width):
    for q in (np.full(12_000, 0.5), np.random.default_rng(0).random(20_000), np.full(90_000, 0.99)):
        exact = count_of(q)
        found = CountRuns.above(len(q), float(q.sum()), float((q * (1.0 - q)).sum()), width, 1e-6)
        at = np.searchsorted(found.high, exact.numbers, side="right")
        # At most this probability is left above each number.
        assert (np.concatenate(([0.0], np.cumsum(found.mass)))[at] <= np.cumsum(exact.pmf) + 1e-9).all()
        np.testing.assert_allclose(found.mass.sum(), 1.0 - 1e-6, atol=1e-12)
        assert found.mass @ found.high <= exact.mean + 5.0 + width


def test_the_gap_is_asked_for():
    q = np.random.default_rng(0).random(20_000)
    gaps = [float((d.values - d.bounds)[0]) for d in (least_expected_loss(q, "f1", tol=tol) for tol in (1e-2, 1e-3))]
    assert gaps[0] <= 1e-2
    assert gaps[1] <= 1e-3


@pytest.mark.parametrize("loss", [ErrorRate(), Hamming(), ZeroOne(), SaturatingLoss(0.01)], ids=repr)
def test_the_more_probable_labels_are_best_for_losses_of_the_number_of_mistakes(loss):
    for q in sets(3000).values():
        found = least_expected_loss(q, loss)
        assert (found.labels == (q > 0.5)).all()
        wrong = count_of(np.minimum(q, 1.0 - q))
        values = loss.bind(batch_of_mistakes(3000, wrong.numbers)).values(np.zeros(3000 * len(wrong.pmf), bool))
        np.testing.assert_allclose(found.values, wrong.pmf @ values, rtol=1e-10, atol=1e-12)


def batch_of_mistakes(p, numbers):
    """Sets with these numbers of positives, which are the mistakes of predicting none."""
    from setwise.core.batch import Sets

    return Sets.rows(np.arange(p) < numbers[:, None])


def test_counts_of_many_decisions_have_the_right_moments():
    q = np.random.default_rng(0).random(50_000) ** 2
    found = count_of(q)
    mean, variance = q.sum(), (q * (1.0 - q)).sum()
    np.testing.assert_allclose(found.pmf.sum(), 1.0, atol=1e-11)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-11)
    np.testing.assert_allclose(found.pmf @ (found.numbers - mean) ** 2, variance, rtol=1e-9)


@pytest.mark.parametrize("p", [1, 2, 31, 33, 100, 1000])
def test_counts_by_pairs_equal_those_one_by_one(p):
    rng = np.random.default_rng(p)
    for q in (rng.random(p), rng.random(p) ** 20, np.round(rng.random(p)), np.full(p, 1e-30)):
        low, pmf, _ = count(q, 0.0)
        first, found = count_by_pairs(q, 32, 1e-20)
        wide = np.zeros(p + 1)
        wide[first : first + len(found)] = found
        slow_one = np.zeros(p + 1)
        slow_one[low : low + len(pmf)] = pmf
        np.testing.assert_allclose(wide, slow_one, atol=1e-15)


def test_convolutions_equal_the_slow_ones():
    a, b = (count_of(np.random.default_rng(i).random(900)) for i in range(2))
    both, slow_one = convolved(a, b), np.convolve(a.pmf, b.pmf)
    assert both.low == a.low + b.low
    np.testing.assert_allclose(both.pmf, slow_one, atol=1e-16)
    assert Pmf(3, np.array([0.25, 0.75])).at(4) == 0.75


def test_a_promised_function_of_counts_is_decided_in_large_sets():
    loss = CountFunctionLoss(lambda fn, fp, P, N: (2 * fn + fp) / (P + N), promises=[Trait.INCREASING])
    q = np.random.default_rng(0).random(1000)
    # Each decision alone: a miss costs two alarms.
    np.testing.assert_array_equal(least_expected_loss(q, loss).labels, q > 1 / 3)


def test_all_decisions_equal_and_a_flat_curve():
    found = least_expected_loss(np.full(6000, 0.5), MCC())
    np.testing.assert_allclose(found.values, 1.0, atol=1e-12)
