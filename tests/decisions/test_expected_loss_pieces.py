"""The labeling of least expected loss of probabilities in pieces is that of all of them."""

import pickle

import numpy as np
import pytest

from decisions.probabilities import losses_of_all, probabilities, truths
from decisions.test_moments import nasty
from rounds import rounds
from setwise.core.exceptions import Refusal
from setwise.core.surrogate import ended
from setwise.decisions import expected_loss, expected_loss_pieces, least_expected_loss, levels
from setwise.decisions.expected_loss_pieces import LeastExpectedLossInPieces
from setwise.decisions.formula import formula_of
from setwise.decisions.levels import around_range
from setwise.distributed.decisions import predicted
from setwise.losses import (
    AE,
    MCC,
    BalancedError,
    ClassWeightedLoss,
    CountFunctionLoss,
    EarlyDetection,
    ErrorRate,
    FBeta,
    GMean,
    Hamming,
    Jaccard,
    PrecisionAtK,
    SaturatingLoss,
    Trait,
    Tversky,
    ZeroOne,
    as_loss,
)

QUOTIENTS = [
    Jaccard(),
    FBeta(),
    FBeta(0.5, zero_division=0.25),
    Tversky(0.3, 0.8),
    ClassWeightedLoss(Jaccard(), 0.5, 2.0),
]
OTHERS = [ErrorRate(), Hamming(), BalancedError(), ZeroOne(), GMean(), MCC(), FBeta() + 0.5 * Jaccard()]


def searched(loss, q, edges=(), tol=0.0, log=None):
    """The decision from pieces that end at the edges, and its labels."""
    pieces = np.split(q, edges)

    def ask(question):
        answers = [pickle.loads(pickle.dumps(question))(piece) for piece in pieces]
        if log is not None:
            log.append(len(pickle.dumps(question)) + max(len(pickle.dumps(answer)) for answer in answers))
        return answers

    found = ended(LeastExpectedLossInPieces(loss, tol).search(), ask)
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


@pytest.mark.draw(20)
@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("loss", QUOTIENTS + OTHERS, ids=repr)
def test_it_is_the_decision_for_all(loss, small, monkeypatch):
    rng = np.random.default_rng(0)
    if small:
        monkeypatch.setattr(expected_loss_pieces, "GATHERED", 0)
        monkeypatch.setattr(levels, "BINS", 8)
    # Without a search it is the rule itself.
    for turn in range(rounds(200, 36) if small else rounds(30, 20)):
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


@pytest.mark.draw(4)
@pytest.mark.parametrize("loss", [Tversky(1e-3, 1.0), Tversky(0.3, 0.8), Jaccard() + Hamming(), MCC()], ids=repr)
def test_what_takes_too_long_is_bounded_from_both_sides(loss, monkeypatch):
    monkeypatch.setattr(expected_loss_pieces, "GATHERED", 0)
    monkeypatch.setattr(levels, "BINS", 8)
    rng, open_ = np.random.default_rng(0), 0
    for turn in range(rounds(150, 50)):
        monkeypatch.setattr(levels, "WORK", int(rng.choice([0, 4, 64])))
        p = int(rng.choice([1, 3, 10, 40]))
        cases = list(kinds(p, rng).values())
        q, tol = cases[turn % len(cases)], float(rng.choice([0.0, 1e-2]))
        found, labels = searched(loss, q, [p // 2], tol)
        best, size = least_expected_loss(q, loss, tol=0.0).values[0], 1e-9 * max(1.0, formula_of(loss, p).largest)
        assert found.bound - size <= best <= found.value + size
        assert expected_loss(q, labels, loss)[0] <= found.value + size
        assert found.certified == (found.bound >= found.value - tol)
        open_ += not found.certified
    assert open_ > 0 or not isinstance(loss, Tversky)


@pytest.mark.draw(6)
@pytest.mark.parametrize("loss", [Jaccard(), FBeta(zero_division=0.0), BalancedError(), MCC(), Hamming()], ids=repr)
def test_no_labeling_has_a_smaller_expected_loss(loss, monkeypatch):
    monkeypatch.setattr(expected_loss_pieces, "GATHERED", 0)
    for p in (1, 2, 5):
        cases = probabilities(p, n=40)
        every = truths(cases) @ losses_of_all(loss, p)
        for q, expected_losses in zip(cases, every, strict=True):
            found, _ = searched(loss, q, [p // 2])
            assert found.certified
            assert found.value == pytest.approx(expected_losses.min(), abs=1e-9)


@pytest.mark.draw(12)
@pytest.mark.parametrize("loss", [Jaccard(), FBeta(), ErrorRate(), BalancedError(), PrecisionAtK(77_777)], ids=repr)
@pytest.mark.parametrize("kind", ["rare", "uniform", "tied", "equal"])
def test_a_large_set(loss, kind):
    p, rng, log = rounds(1_000_000, 300_000), np.random.default_rng(2), []
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
    monkeypatch.setattr(expected_loss_pieces, "GATHERED", 0)
    monkeypatch.setattr(expected_loss_pieces, "MOST", 1)
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
        found = around_range(q, level, level)
        assert (found.above, found.below) == ((q.astype(float) > level).sum(), (q.astype(float) < level).sum())
        np.testing.assert_array_equal(predicted(q, level, None), q.astype(float) >= level)
        np.testing.assert_array_equal(predicted(q, level, 0), q.astype(float) > level)


@pytest.mark.parametrize("loss", [AE(), EarlyDetection(), as_loss("auc"), as_loss("break_even")], ids=repr)
def test_other_losses_are_refused(loss):
    with pytest.raises(Refusal, match="refuse"):
        searched(loss, np.linspace(0.1, 0.9, 30), [4])


def test_weights_of_single_decisions_are_refused():
    with pytest.raises(Refusal, match="a function of the counts"):
        searched(SaturatingLoss(0.5, weights=np.arange(1.0, 4.0)), np.full(3, 0.5))


@pytest.mark.parametrize("q", [np.empty(0)])
def test_nothing_to_decide(q):
    with pytest.raises(ValueError, match="probabilities must not be empty in all places"):
        searched(Jaccard(), q)


def test_more_equal_probabilities_than_may_be_sent(monkeypatch):
    monkeypatch.setattr(expected_loss_pieces, "GATHERED", 0)
    monkeypatch.setattr(expected_loss_pieces, "MOST", 100)
    q = np.random.default_rng(5).choice([0.05, 0.2, 0.45, 0.8], 3_000)
    for loss in (Jaccard(), FBeta(), PrecisionAtK(1_000), BalancedError()):
        found, labels = searched(loss, q, [500, 700], 1e-2)
        assert found.certified
        wanted = least_expected_loss(q, loss, tol=0.0).values[0]
        assert found.bound - 1e-12 <= wanted <= found.value + 1e-12
        assert expected_loss(q, labels, loss)[0] == pytest.approx(found.value, abs=1e-12)


@pytest.mark.slow
@pytest.mark.draw(9)
@pytest.mark.parametrize("kind", ["skewed", "tied", "zeros", "ones"])
@pytest.mark.parametrize("loss", [MCC(), GMean(), FBeta() + 0.5 * ErrorRate()], ids=repr)
@pytest.mark.parametrize("size", [12_000, pytest.param(30_000, marks=pytest.mark.slow)])
def test_sets_that_are_too_large_to_be_sent(loss, size, kind, monkeypatch):
    monkeypatch.setattr(expected_loss_pieces, "GATHERED", 0)
    monkeypatch.setattr(expected_loss_pieces, "MOST", 1)
    rng = np.random.default_rng(8)
    q = {
        "skewed": rng.random(size) ** 2,
        "tied": np.round(rng.random(size), 1),
        "zeros": np.zeros(500),
        "ones": np.ones(500),
    }[kind]
    found, labels = searched(loss, q, [100, 100, size // 3], 1e-2)
    wanted = least_expected_loss(q, loss, tol=1e-4)
    assert found.certified
    assert found.bound <= wanted.values[0] + 1e-9
    assert wanted.bounds[0] <= found.value + 1e-9
    assert expected_loss(q, labels, loss)[0] == pytest.approx(found.value, abs=1e-9)
