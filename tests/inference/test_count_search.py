import numpy as np
import pytest

from count_cases import KINDS, LOSSES, allowed, fits, problem, slow_maximum, waves
from setwise.core import enumerate as brute
from setwise.core.inference import Problem
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.inference.counts.search import CountSearch
from setwise.losses import MCC, CountLoss, EarlyDetection, FBeta, GMean, HMean, Jaccard, Saturating, Trait


def close(found, truth, scores):
    """Equal up to the rounding of sums of the scores."""
    size = 1.0 + np.abs(np.asarray(scores, dtype=np.float64)).sum()
    return np.all((found == truth) | (np.abs(found - truth) <= 1e-11 * size))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("slack", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_maximum_equals_enumeration(loss, slack, dtype):
    rng = np.random.default_rng(0)
    for p in (1, 2, 3, 5, 8, 10):
        for kind in KINDS if fits(loss, p) else ():
            y, scores = problem(rng, p, kind, dtype)
            values, won = brute.table(loss, y), -(brute.subsets(p) @ brute.margins(y, scores))
            values = np.where(allowed(loss, y), values * (1.0 + won) if slack else values + won, -np.inf)
            found = CountSearch().maximize(Problem(loss, Sets.single(y), scores, slack))
            row = int(found.mistakes @ (1 << np.arange(p)))
            assert close(found.values[0], values.max(), scores), (kind, y, scores)
            assert close(values[row], values.max(), scores), (kind, y, scores)
            assert found.exact.all()


@pytest.mark.parametrize("slack", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_maximum_equals_the_scan_of_the_table(loss, slack):
    rng = np.random.default_rng(1)
    for p in (33, 150, 400):
        for kind in KINDS:
            for dtype in (np.float32, np.float64):
                y, scores = problem(rng, p, kind, dtype)
                found = CountSearch().maximize(Problem(loss, Sets.single(y), scores, slack))
                assert close(found.values[0], slow_maximum(loss, y, scores, slack), scores), (p, kind)
                assert found.exact.all()


@pytest.mark.parametrize("slack", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_ragged_batch_is_its_sets_one_by_one(loss, slack):
    rng = np.random.default_rng(2)
    sizes = np.concatenate((rng.integers(3, 9, 30), [70, 3, 90]))
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    rate = np.repeat(rng.choice([0.0, 0.3, 0.7, 1.0], len(sizes)), sizes)
    sets = Sets(rng.random(offsets[-1]) < rate, offsets)
    for scores in (0.2 * rng.standard_normal(sets.total), np.round(rng.standard_normal(sets.total)) / 8):
        together = CountSearch().maximize(Problem(loss, sets, scores, slack))
        for i in range(len(sets)):
            part = slice(offsets[i], offsets[i + 1])
            alone = CountSearch().maximize(Problem(loss, sets.part(i, i + 1), scores[part], slack))
            assert alone.values[0] == pytest.approx(together.values[i], abs=1e-12)
            assert (alone.mistakes == together.mistakes[part]).all()


@pytest.mark.parametrize("loss", [GMean(), HMean(), MCC(), Jaccard() + FBeta(), 3.0 * MCC()], ids=repr)
@pytest.mark.parametrize("slack", [False, True])
def test_large_tables_are_searched_exactly(loss, slack):
    rng = np.random.default_rng(3)
    for kind in ("normal", "in doubt", "ties", "zero"):
        y, scores = problem(rng, 1500, kind, np.float64)
        y[:400] = True
        scores = scores / (100 if kind == "normal" else 1)
        found = CountSearch().maximize(Problem(loss, Sets.single(y), scores, slack))
        assert found.exact.all()
        assert close(found.values[0], slow_maximum(loss, y, scores, slack), scores)


def test_a_budget_that_ends_leaves_an_honest_bound():
    rng = np.random.default_rng(4)
    y = rng.random(4000) < 0.3
    scores = np.where(y, 1.0, -1.0) * rng.random(4000) * 1e-3
    truth = CountSearch().maximize(Problem(MCC(), Sets.single(y), scores))
    short = CountSearch(budget=3000).maximize(Problem(MCC(), Sets.single(y), scores))
    assert truth.exact.all()
    assert not short.exact.any()
    assert short.values[0] <= truth.values[0] <= short.bounds[0]


def test_the_modular_part_of_a_loss_moves_into_the_scores():
    rng = np.random.default_rng(5)
    y, scores, loss = rng.random(8) < 0.5, rng.standard_normal(8), Saturating(0.7, rng.random(8))
    found = CountSearch().maximize(Problem(loss, Sets.single(y), scores))
    assert found.values[0] == pytest.approx(brute.margin_rescaling(loss, y, scores))


def test_refusals_name_the_loss_and_the_way_out():
    sets, scores = Sets.single(np.arange(40) < 20), np.zeros(40)
    with pytest.raises(Refusal, match=r"CountSearch refuses EarlyDetection.*not a function of \(fn, fp, P, N\)"):
        CountSearch().maximize(Problem(EarlyDetection(), sets, scores))
    loose = CountLoss(waves)
    with pytest.raises(Refusal, match=r"441 cells are more than budget=400. Promise Trait.INCREASING"):
        CountSearch(budget=400).maximize(Problem(loose, sets, scores))
    assert CountSearch(budget=400).refuses(Problem(CountLoss(waves, (Trait.INCREASING,)), sets, scores)) is None
    assert CountSearch(budget=400).refuses(Problem(GMean(), sets, scores)) is None
