import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setwise.core import enumerate as brute
from setwise.core.batch import Sets
from setwise.inference import Auto, ByCardinality, Enumeration, minimize_submodular
from setwise.losses import (
    CappedLoss,
    Cardinality,
    EarlyDetection,
    Hamming,
    Jaccard,
    SaturatingLoss,
    SetFunctionLoss,
    Trait,
)


@pytest.mark.parametrize("slack", [False, True])
def test_cardinality_search_equals_enumeration_on_a_ragged_batch(slack):
    rng = np.random.default_rng(0)
    offsets = np.array([0, 1, 8, 20, 32])
    sets = Sets(rng.random(32) < 0.4, offsets)
    for scores in (rng.standard_normal(32), np.zeros(32), rng.integers(-2, 3, 32) * 0.1):
        bound_loss = SaturatingLoss(0.3).bind(sets)
        fast, slow = (method.prepare(bound_loss, slack).maximize(scores) for method in (ByCardinality(), Enumeration()))
        np.testing.assert_allclose(fast.values, slow.values, atol=1e-12)
        assert fast.exact.all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_min_norm_point_finds_the_minimum_of_cut_functions(seed, p):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.random((p, p)) * (rng.random((p, p)) < 0.5), 1)
    unary = np.round(rng.standard_normal(p), 1)

    def value(mask):
        return float(unary @ mask + (weights * (mask[:, None] != mask[None, :])).sum())

    def gains(order):
        mask = np.zeros(p)
        out = np.empty(p)
        for j, i in enumerate(order):
            before = value(mask)
            mask[i] = 1
            out[j] = value(mask) - before
        return out

    best, bound = minimize_submodular(gains, p)
    truth = min(value(mask.astype(float)) for mask in brute.subsets(p))
    assert value(best.astype(float)) == pytest.approx(truth, abs=1e-9)
    assert bound <= truth + 1e-12
    assert bound == pytest.approx(truth, abs=1e-7)


def test_min_norm_point_of_nothing():
    best, bound = minimize_submodular(lambda order: np.zeros(0), 0)
    assert len(best) == 0
    assert bound == 0.0


def test_the_default_is_exact_wherever_the_traits_allow():
    rng = np.random.default_rng(0)
    names = {}
    for p in (6, 40):
        sets = Sets.single(rng.random(p) < 0.5)
        for loss in (
            Hamming(rng.random(p)),
            SaturatingLoss(1.0, rng.random(p)),
            Cardinality(rng.random(p + 1)),
            EarlyDetection(),
            CappedLoss(rng.random(p), 1.0),
            SetFunctionLoss(lambda _, wrong: float(wrong.sum()) ** 2, (Trait.SUPERMODULAR,)),
            SetFunctionLoss(lambda _, wrong: 0.5 * float(wrong.sum()), [Trait.MODULAR, Trait.INCREASING]),
            Hamming(rng.random(p)) + Cardinality(rng.random(p + 1)),
        ):
            names[type(loss).__name__, p] = type(Auto().choice(loss.bind(sets))).__name__
    assert names["Hamming", 40] == "ModularMaximum"
    assert names["SaturatingLoss", 40] == names["Cardinality", 40] == names["Combination", 40] == "ByCardinality"
    assert names["EarlyDetection", 6] == names["CappedLoss", 6] == "Enumeration"
    assert names["EarlyDetection", 40] == names["CappedLoss", 40] == "GreedySearch"
    assert names["SetFunctionLoss", 40] == "ModularMaximum"


def test_enumeration_tables_each_distinct_truth_once():
    calls = []

    def count(y, wrong):
        calls.append(tuple(y))
        return float((wrong & y).any())

    sets = Sets.rows(np.array([[1, 0], [1, 0], [0, 1], [1, 0]]))
    maximizer = Enumeration().prepare(SetFunctionLoss(count).bind(sets))
    assert len(calls) == 2 * 4
    for _ in range(2):
        assert maximizer.maximize(np.zeros(8)).values.tolist() == [1.0] * 4
    assert len(calls) == 2 * 4 + 2 * 4


@pytest.mark.slow
def test_jaccard_of_twenty_decisions_by_enumeration_is_at_least_any_guess():
    rng = np.random.default_rng(3)
    y, scores = rng.random(20) < 0.4, 0.2 * rng.standard_normal(20)
    best = Enumeration().prepare(Jaccard().bind(Sets.single(y))).maximize(scores).values[0]
    for _ in range(200):
        guess = rng.random(20) < 0.5
        assert Jaccard()(y, guess) + scores @ (guess.astype(float) - y) <= best + 1e-12
