"""The labeling of least expected loss of probabilities in pieces is that of all of them."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

from decisions.cases import slow
from decisions.test_moments import FRACTIONS, nasty
from setwise.core.pieces import ended
from setwise.core.refusal import Refusal
from setwise.decisions import expected_loss, least_expected_loss, least_in_pieces, levels
from setwise.decisions.block_bounds import BlockBounds
from setwise.decisions.formula import formula_of
from setwise.decisions.least_in_pieces import LeastInPieces
from setwise.decisions.level_bounds import LevelBounds
from setwise.decisions.level_region import binomial
from setwise.decisions.levels import InBins, Levels, Range, no_positives
from setwise.decisions.pmf import count_of
from setwise.estimators.placed.least import predicted
from setwise.kernels.chances import chances
from setwise.losses import (
    AE,
    MCC,
    BalancedError,
    ClassWeighted,
    CountFunctionLoss,
    EarlyDetection,
    ErrorRate,
    FBeta,
    GMean,
    Hamming,
    HMean,
    Jaccard,
    PrecisionAtK,
    Saturating,
    Trait,
    Tversky,
    ZeroOne,
    as_loss,
)

QUOTIENTS = [Jaccard(), FBeta(), FBeta(0.5, zero_division=0.25), Tversky(0.3, 0.8), ClassWeighted(Jaccard(), 0.5, 2.0)]
OTHERS = [ErrorRate(), Hamming(), BalancedError(), ZeroOne(), GMean(), MCC(), FBeta() + 0.5 * Jaccard()]


def searched(loss, q, edges=(), tol=0.0, log=None):
    """The decision from pieces that end at the edges, and its labels."""
    pieces = np.split(q, edges)

    def ask(question):
        answers = [pickle.loads(pickle.dumps(question))(piece) for piece in pieces]
        if log is not None:
            log.append(len(pickle.dumps(question)) + max(len(pickle.dumps(answer)) for answer in answers))
        return answers

    found = ended(LeastInPieces(loss, tol).search(), ask)
    level = np.float64(found.threshold)
    equal = q == level
    labels = (q > level) | (equal & (np.cumsum(equal) <= (len(q) if found.ties is None else found.ties)))
    assert labels.sum() == found.size
    return found, labels


def kinds(p, rng):
    """Probabilities, random and nasty."""
    return {
        **nasty(p),
        "tiny beside others": np.where(rng.random(p) < 0.5, 1e-300, rng.random(p)),
        "certain beside others": np.where(rng.random(p) < 0.3, rng.integers(0, 2, p), rng.random(p)),
        "denormal": np.full(p, 5e-324),
        "float32": rng.random(p).astype(np.float32) ** 3,
        "far apart": 10.0 ** rng.uniform(-300, 0, p),
        "nearly sure": 1.0 - 1e-12 * rng.random(p),
    }


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("loss", QUOTIENTS + OTHERS, ids=repr)
def test_it_is_the_decision_for_all(loss, small, monkeypatch):
    rng = np.random.default_rng(0)
    if small:
        monkeypatch.setattr(least_in_pieces, "GATHERED", 0)
        monkeypatch.setattr(levels, "BINS", 8)
    # Without a search it is the rule itself.
    for turn in range(200 if small else 30):
        p = int(rng.choice([1, 2, 3, 10, 40, 120], p=[0.1, 0.15, 0.2, 0.3, 0.2, 0.05]))
        cases = list(kinds(p, rng).values())
        q = rng.permutation(cases[turn % len(cases)])
        tol = float(rng.choice([0.0, 1e-6, 1e-2]))
        found, labels = searched(loss, q, np.sort(rng.integers(0, p + 1, rng.integers(0, 8))), tol)
        wanted = least_expected_loss(q, loss, tol=0.0)
        scale = max(1.0, formula_of(loss, p).largest)
        assert found.certified
        assert found.value - tol <= found.bound <= found.value
        assert found.bound <= wanted.values[0] + 1e-9 * scale
        assert wanted.values[0] <= found.value + 1e-9 * scale
        assert expected_loss(q, labels, loss)[0] == pytest.approx(found.value, abs=1e-9 * scale)


@pytest.mark.parametrize("loss", FRACTIONS, ids=repr)
def test_bounds_hold_at_the_ends_and_inside(loss):
    p, rng = 60, np.random.default_rng(1)
    for q in kinds(p, rng).values():
        ordered = np.sort(q.astype(float))[::-1].copy()
        exact = np.array([slow(loss, ordered, k) for k in range(p + 1)])
        bounds = LevelBounds(formula_of(loss, p), float(np.exp(no_positives(q))))
        for n in (1, 3, 20):
            edges = np.unique(np.append(rng.random(n) ** rng.choice([0.2, 1.0, 8.0]), [0.0, 2.0]))
            known = Levels.of([InBins(edges)(part) for part in np.split(q, [7, 7, 30])])
            lower, upper = bounds.at(*known.ends, *known.rests)
            ends = known.ends[0]
            assert (lower <= exact[ends] + 1e-12).all()
            assert (exact[ends] <= upper + 1e-12).all()
            for (a, b), low in zip(pairwise(ends), bounds.inside(known), strict=True):
                assert low <= exact[a + 1 : b].min(initial=np.inf) + 1e-12


def test_bounds_of_bins_are_narrow_where_bins_are():
    q = np.sort(np.random.default_rng(0).random(10_000) ** 3)[::-1].copy()
    formula = formula_of(Jaccard(), len(q))
    known = Levels.of([InBins(np.append(q[::-20], 2.0))(q)])
    lower, upper = LevelBounds(formula, 0.0).at(*known.ends, *known.rests)
    assert (upper - lower)[len(lower) // 4 :].max() < 2e-4
    assert (lower[1:] - LevelBounds(formula, 0.0).inside(known)).max() < 0.01


@pytest.mark.parametrize("loss", [Jaccard(), FBeta(), ErrorRate(), BalancedError(), PrecisionAtK(77_777)], ids=repr)
@pytest.mark.parametrize("kind", ["rare", "uniform", "tied", "equal"])
def test_a_large_set(loss, kind):
    p, rng, log = 1_000_000, np.random.default_rng(2), []
    q = {
        "rare": rng.random(p) ** 12,
        "uniform": rng.random(p),
        "tied": rng.integers(0, 50, p) / 100,
        "equal": np.full(p, 0.3),
    }[kind]
    edges = np.sort(rng.integers(0, p, 7))
    found, labels = searched(loss, q, edges, 1e-4, log)
    wanted = least_expected_loss(q, loss, tol=1e-4)
    assert found.certified
    assert found.bound <= wanted.values[0] + 1e-9
    assert wanted.bounds[0] <= found.value + 1e-9
    assert expected_loss(q, labels, loss)[0] == pytest.approx(found.value, abs=1e-9)
    assert sum(log) < 500_000
    assert len(log) <= 12


def test_ties_are_cut_where_that_is_better():
    # Of equal probabilities the number of positives is nearly known, and so many predicted are best.
    q = np.full(20_000, 0.3)
    found, labels = searched(PrecisionAtK(5_000), q, [3_000])
    assert (found.threshold, found.ties, found.size) == (0.3, 5_000, 5_000)
    assert labels[:5_000].all()
    assert found.value == pytest.approx(0.7)


def test_where_nothing_can_be_sent_the_bound_says_so(monkeypatch):
    monkeypatch.setattr(least_in_pieces, "GATHERED", 0)
    monkeypatch.setattr(least_in_pieces, "MOST", 1)
    q = np.random.default_rng(3).random(400) ** 2
    found, labels = searched(Jaccard(), q, [100], 0.0)
    exact = least_expected_loss(q, Jaccard(), tol=0.0).values[0]
    assert not found.certified
    assert found.bound <= exact <= found.value + 1e-12 <= found.bound + 0.01
    assert expected_loss(q, labels, Jaccard())[0] == pytest.approx(found.value)
    unknown = CountFunctionLoss(lambda fn, fp, P, N: (fn + fp) / (fn + fp + 9.0), promises=[Trait.INCREASING])
    with pytest.raises(Refusal, match="is refused for 400 probabilities in several places, at most 1"):
        searched(unknown, q)


def test_thresholds_between_numbers_of_float32():
    q = np.float32(0.3) + np.float32(2.0**-25) * np.arange(-3, 4, dtype=np.float32)
    for level in np.linspace(float(q[0]), float(q[-1]), 50).tolist():
        found = Range(level, level)(q)
        assert (found.above, found.below) == ((q.astype(float) > level).sum(), (q.astype(float) < level).sum())
        np.testing.assert_array_equal(predicted(q, level, None), q.astype(float) >= level)
        np.testing.assert_array_equal(predicted(q, level, 0), q.astype(float) > level)


@pytest.mark.parametrize("loss", [AE(), EarlyDetection(), as_loss("auc"), as_loss("break_even")], ids=repr)
def test_other_losses_are_refused(loss):
    with pytest.raises(Refusal, match="refuse"):
        searched(loss, np.linspace(0.1, 0.9, 30), [4])


def test_weights_of_single_decisions_are_refused():
    with pytest.raises(Refusal, match="a function of the counts"):
        searched(Saturating(0.5, weights=np.arange(1.0, 4.0)), np.full(3, 0.5))


@pytest.mark.parametrize("q", [np.empty(0)])
def test_nothing_to_decide(q):
    with pytest.raises(ValueError, match="probabilities must not be empty in all places"):
        searched(Jaccard(), q)


def test_bins_of_probabilities():
    rng = np.random.default_rng(4)
    for q in (rng.random(500), rng.random(500).astype(np.float32), 10.0 ** rng.uniform(-320, 0, 500), np.ones(3)):
        for edges in (np.array([0.0, 0.5, 2.0]), np.sort(rng.random(40)), np.sort(10.0 ** rng.uniform(-320, 0, 30))):
            found = chances(q, edges)
            x = q.astype(np.float64)
            for j, (low, high) in enumerate(pairwise(edges)):
                part = x[(x >= low) & (x < high)]
                assert found.counts[j] == len(part)
                assert found.means[j] == pytest.approx(part.sum(), rel=1e-12, abs=0)
                assert found.variances[j] == pytest.approx((part * (1 - part)).sum(), rel=1e-12, abs=0)
                assert found.least[j] == part.min(initial=np.inf)
                assert found.most[j] == part.max(initial=-np.inf)


@pytest.mark.parametrize("q", [0.0, 5e-324, 1e-9, 0.3, 0.5, 1.0 - 1e-9, 1.0])
def test_the_count_of_equal_probabilities(q):
    for n in (0, 1, 2, 37, 5_000):
        found, wanted = binomial(n, q), count_of(np.full(n, q))
        dense = np.zeros((2, n + 1))
        for row, pmf in zip(dense, (found, wanted), strict=True):
            row[pmf.low : pmf.low + len(pmf.pmf)] = pmf.pmf
        np.testing.assert_allclose(dense[0], dense[1], atol=1e-14)


def test_more_equal_probabilities_than_may_be_sent(monkeypatch):
    monkeypatch.setattr(least_in_pieces, "GATHERED", 0)
    monkeypatch.setattr(least_in_pieces, "MOST", 100)
    q = np.random.default_rng(5).choice([0.05, 0.2, 0.45, 0.8], 3_000)
    for loss in (Jaccard(), FBeta(), PrecisionAtK(1_000), BalancedError()):
        found, labels = searched(loss, q, [500, 700], 1e-2)
        assert found.certified
        wanted = least_expected_loss(q, loss, tol=0.0).values[0]
        assert found.bound - 1e-12 <= wanted <= found.value + 1e-12
        assert expected_loss(q, labels, loss)[0] == pytest.approx(found.value, abs=1e-12)


DILUTED = [
    MCC(),
    GMean(),
    HMean(),
    Tversky(0.3, 0.8),
    FBeta() + 0.5 * Jaccard(),
    FBeta() + 0.5 * ErrorRate(),
    FBeta(2.0),
]


@pytest.mark.parametrize("loss", DILUTED, ids=repr)
def test_bounds_by_blocks_hold_at_the_ends_and_inside(loss):
    p, rng = 60, np.random.default_rng(6)
    for q in kinds(p, rng).values():
        ordered = np.sort(q.astype(float))[::-1].copy()
        exact = np.array([slow(loss, ordered, k) for k in range(p + 1)])
        bounds = BlockBounds(formula_of(loss, p))
        assert bounds.formula.without_costs.diluted
        for n in (1, 3, 20):
            edges = np.unique(np.append(rng.random(n) ** rng.choice([0.2, 1.0, 8.0]), [0.0, 2.0]))
            known = Levels.of([InBins(edges)(part) for part in np.split(q, [7, 7, 30])])
            lower, upper = bounds.at(*known.ends, *known.rests)
            ends = known.ends[0]
            assert (lower <= exact[ends] + 1e-12).all()
            assert (exact[ends] <= upper + 1e-12).all()
            for (a, b), low in zip(pairwise(ends), bounds.inside(known), strict=True):
                assert low <= exact[a + 1 : b].min(initial=np.inf) + 1e-12


@pytest.mark.parametrize("loss", DILUTED[:6], ids=repr)
def test_bounds_by_blocks_are_narrow_in_large_sets(loss):
    p = 3_000_000
    q = np.sort(np.random.default_rng(7).random(p) ** 6)[::-1].copy()
    known = Levels.of([InBins(np.append(q[:: -p // 8], 2.0))(q)])
    mean = q.sum()
    formula = formula_of(loss, p, (int(mean) - 20_000, int(mean) + 20_000))
    lower, upper = BlockBounds(formula).at(*known.ends, *known.rests)
    assert (upper - lower)[1:-1].max() < 5e-4


@pytest.mark.parametrize("loss", [MCC(), GMean(), FBeta() + 0.5 * ErrorRate()], ids=repr)
def test_sets_that_are_too_large_to_be_sent(loss, monkeypatch):
    monkeypatch.setattr(least_in_pieces, "GATHERED", 0)
    monkeypatch.setattr(least_in_pieces, "MOST", 1)
    rng = np.random.default_rng(8)
    for q in (rng.random(30_000) ** 2, np.round(rng.random(30_000), 1), np.zeros(500), np.ones(500)):
        found, labels = searched(loss, q, [100, 100, 9_000], 1e-2)
        wanted = least_expected_loss(q, loss, tol=1e-4)
        assert found.certified
        assert found.bound <= wanted.values[0] + 1e-9
        assert wanted.bounds[0] <= found.value + 1e-9
        assert expected_loss(q, labels, loss)[0] == pytest.approx(found.value, abs=1e-9)
