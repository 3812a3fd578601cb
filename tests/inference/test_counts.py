import numpy as np
import pytest

from cases import (
    KINDS,
    close,
    composites,
    count_losses,
    counts_of,
    examples,
    fits,
    in_turn,
    objectives,
    problem,
    slow_maximum,
    waves,
)
from rounds import rounds
from setwise import SetClassifier, loss_augmented_inference
from setwise.core import enumerate as brute
from setwise.core.batch import Sets
from setwise.core.counts import Counts
from setwise.core.exceptions import Refusal
from setwise.inference import Auto, CountSearch
from setwise.losses import (
    MCC,
    BreakEven,
    CountFunctionLoss,
    EarlyDetection,
    FBeta,
    GMean,
    Hamming,
    HMean,
    Jaccard,
    PrecisionAtK,
    SaturatingLoss,
    Trait,
)
from setwise.surrogates import MarginRescaling

SLACKS = pytest.mark.parametrize("slack", [False, True])


def search(loss, y, scores, slack=False, budget=1 << 27):
    """What the method finds for one set; None where it refuses."""
    bound_loss = loss.bind(Sets.single(y))
    method = CountSearch(budget)
    return None if method.refuses(bound_loss, slack) else method.prepare(bound_loss, slack).maximize(scores)


def target_shift(loss, y, scores):
    """What the truth wins in score over what labelings are compared with."""
    away = loss.bind(Sets.single(y)).batch.target_shift
    return 0.0 if away is None else float(away @ scores.astype(float))


@pytest.mark.draw(24)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@SLACKS
@pytest.mark.parametrize("p", [1, 2, 3, 5, 8, 10])
def test_the_maximum_equals_enumeration(p, slack, dtype):
    rng = np.random.default_rng(0)
    for turn, loss in enumerate(count_losses(p), p):
        for kind in in_turn(KINDS, turn):
            y, scores = problem(rng, p, kind, dtype)
            found = search(loss, y, scores, slack)
            if found is None:
                assert slack or counts_of(loss, y) is None
                continue
            values = objectives(loss, y, scores, slack)
            row = int((found.labels ^ y) @ (1 << np.arange(p)))
            assert close(found.values[0], values.max() + target_shift(loss, y, scores), scores), (loss, kind, y, scores)
            assert close(values[row], values.max(), scores), (loss, kind, y, scores)
            assert found.exact.all()


@pytest.mark.draw(6)
@SLACKS
@pytest.mark.parametrize("p", [33, 150, 400])
def test_the_maximum_equals_the_scan_of_the_table(p, slack):
    rng = np.random.default_rng(1)
    for loss in count_losses(p):
        for kind in rng.choice(KINDS, rounds(4, 2 if p < 100 else 1), replace=False):
            for dtype in (np.float32, np.float64):
                y, scores = problem(rng, p, kind, dtype)
                found = search(loss, y, scores, slack)
                if found is not None:
                    truth = slow_maximum(loss, y, scores, slack) + target_shift(loss, y, scores)
                    assert close(found.values[0], truth, scores), (loss, kind)
                    assert found.exact.all()


@pytest.mark.slow
@pytest.mark.draw(2)
@SLACKS
def test_a_ragged_batch_is_its_sets_one_by_one(slack):
    rng = np.random.default_rng(2)
    sizes = np.concatenate((rng.integers(3, 9, rounds(30, 6)), [70, 3, 90]))
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    rate = np.repeat(rng.choice([0.0, 0.3, 0.7, 1.0], len(sizes)), sizes)
    sets = Sets(rng.random(offsets[-1]) < rate, offsets)
    every = [loss for loss in examples(3) + composites(3) + examples(3, "scores") if fits(loss, 3)]
    for loss in every:
        try:
            bound_loss = loss.bind(sets)
        except ValueError:
            continue  # its weights fit sets of three decisions only
        if CountSearch().refuses(bound_loss, slack) is not None or not isinstance(bound_loss.counts, Counts):
            continue
        maximizer = CountSearch().prepare(bound_loss, slack)
        for scores in (0.2 * rng.standard_normal(sets.total), np.round(rng.standard_normal(sets.total)) / 8):
            together = maximizer.maximize(scores)
            for i in range(len(sets)):
                part = slice(offsets[i], offsets[i + 1])
                alone = maximizer.take(np.array([i])).maximize(scores[part])
                assert alone.values[0] == pytest.approx(together.values[i], abs=1e-12)
                assert (alone.labels == together.labels[part]).all()


@pytest.mark.parametrize("loss", [GMean(), HMean(), MCC(), Jaccard() + FBeta(), 3.0 * MCC()], ids=repr)
@pytest.mark.parametrize("slack", [False, True])
def test_large_tables_are_searched_exactly(loss, slack):
    rng = np.random.default_rng(3)
    for kind in ("normal", "in question", "ties", "zero"):
        y, scores = problem(rng, 1500, kind, np.float64)
        y[:400] = True
        scores = scores / (100 if kind == "normal" else 1)
        found = search(loss, y, scores, slack)
        assert found.exact.all()
        assert close(found.values[0], slow_maximum(loss, y, scores, slack), scores)


def test_a_budget_that_ends_leaves_an_honest_bound():
    rng = np.random.default_rng(4)
    y = rng.random(4000) < 0.3
    scores = np.where(y, 1.0, -1.0) * rng.random(4000) * 1e-3
    truth, short = search(MCC(), y, scores), search(MCC(), y, scores, budget=3000)
    assert truth.exact.all()
    assert not short.exact.any()
    assert short.values[0] <= truth.values[0] <= short.bounds[0]
    near = CountSearch().prepare(MCC().bind(Sets.single(y))).maximize(scores, tol=0.05)
    assert near.values[0] <= truth.values[0] <= near.bounds[0] <= near.values[0] + 0.05


def test_the_modular_part_of_a_loss_moves_into_the_scores():
    rng = np.random.default_rng(5)
    y, scores, loss = rng.random(8) < 0.5, rng.standard_normal(8), SaturatingLoss(0.7, rng.random(8))
    found = search(loss, y, scores)
    assert found.values[0] == pytest.approx(brute.margin_rescaling(loss, y, scores))


def test_a_sum_of_counts_is_bound_once():
    """What a table shows of its shape is found when the sum is bound, not at each cut."""
    calls = []

    def counted(fn, fp, P, N):
        calls.append(np.size(fn))
        return np.sqrt(fn) + fp

    rng = np.random.default_rng(6)
    y = rng.random(300) < 0.3
    bound_loss = (MCC() + (CountFunctionLoss(counted) + Hamming())).bind(Sets.single(y))
    maximizer = Auto().prepare(bound_loss)
    bound = sum(calls)
    assert bound >= bound_loss.counts.P[0] * bound_loss.counts.N[0]
    for _ in range(5):
        maximizer.maximize(rng.standard_normal(300) / 300)
    assert sum(calls) - bound <= 5 * bound


def test_one_huge_score_does_not_drown_the_loss():
    rng = np.random.default_rng(4)
    y, rest = rng.random(30) < 0.5, 0.05 * rng.standard_normal(29)
    y[0] = False
    small, huge = (loss_augmented_inference(GMean(), y, np.r_[first, rest]).labels for first in (1e2, 1e17))
    assert GMean()(y, huge) + rest @ huge[1:] == pytest.approx(GMean()(y, small) + rest @ small[1:])


def test_nearly_equal_doubles_are_sorted_exactly():
    rng = np.random.default_rng(5)
    y = rng.random(2000) < 0.5
    s = np.where(y, 1.0, -1.0) * (1e-8 + 1e-16 * rng.random(2000))
    bound = MarginRescaling(Jaccard())(y, s)
    assert bound.exact
    assert bound.value == pytest.approx(slow_maximum(Jaccard(), y, s, False), abs=1e-15)


@pytest.mark.parametrize("weight", [0.01, 0.25])
def test_weighted_counts_may_be_fractions(weight):
    X, groups = np.random.default_rng(1).standard_normal((30, 2)), np.repeat([0, 1, 2], 10)
    target = (np.random.default_rng(2).random(30) < 0.5) & (groups > 0)
    loss = FBeta(zero_division=0.5)
    model = SetClassifier(loss, "margin", class_weight={False: weight, True: 1.0}).fit(X, target, groups=groups)
    assert model.duality_gap_ <= 1e-3


def test_refusals_name_the_loss_and_the_way_out():
    sets = Sets.single(np.arange(40) < 20)
    why = CountSearch().refuses(EarlyDetection().bind(sets))
    assert "CountSearch refuses EarlyDetection()" in why
    assert "it is not a function of (fn, fp, P, N)" in why
    loose = CountFunctionLoss(waves).bind(sets)
    with pytest.raises(Refusal, match="441 cells are more than budget=400. Promise Trait.INCREASING"):
        CountSearch(budget=400).prepare(loose)
    for loss in (CountFunctionLoss(lambda fn, fp: fn * fp, (Trait.INCREASING,)), GMean(), BreakEven(), PrecisionAtK(3)):
        assert CountSearch(budget=400).refuses(loss.bind(sets)) is None
    assert CountSearch(budget=400).refuses((HMean() + SaturatingLoss()).bind(sets)) is None
