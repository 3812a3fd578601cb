from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from cases import truths_and_scores
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.inference import GreedySearch
from setwise.losses.rankings import NDCG, AveragePrecision, RocArea
from setwise.surrogates import LovaszHinge, MarginRescaling, SlackRescaling

LOSSES = [RocArea(), AveragePrecision(), NDCG(), NDCG(1), NDCG(2), NDCG(4), NDCG(50)]


def worst_by_all_permutations(loss, y, s):
    """The definition: loss minus the mean score difference of swapped pairs, over all p! rankings."""
    P, N = int(y.sum()), int((~y).sum())
    if P * N == 0:
        return 0.0
    best = -np.inf
    for order in permutations(range(len(y))):
        rank = np.argsort(order)
        swapped = rank[~y][None, :] < rank[y][:, None]
        lost = (s[y][:, None] - s[~y][None, :])[swapped].sum() / (P * N)
        best = max(best, loss(y, -rank.astype(float)) - lost)
    return best


@pytest.mark.slow
@settings(max_examples=40)
@given(truths_and_scores(max_p=6), st.sampled_from(LOSSES))
def test_margin_rescaling_equals_all_permutations(problem, loss):
    y, s, rng = problem
    bound = MarginRescaling(loss)(y, s)
    slack = 1e-9 * (1 + np.abs(s).astype("f8").sum())
    assert bound.exact
    assert bound.value == pytest.approx(worst_by_all_permutations(loss, y, s.astype("f8")), abs=slack)
    other = s + rng.standard_normal(len(y))
    plane = bound.value + bound.gradient.astype("f8") @ (other - s).astype("f8")
    assert MarginRescaling(loss)(y, other).value >= plane - max(slack, 1e-5 * slack)


@given(truths_and_scores(max_p=30))
def test_losses_are_one_minus_the_metric(problem):
    y, s, _ = problem
    if not 0 < y.sum() < len(y):
        assert all(loss(y, s) == 0.0 for loss in LOSSES)
        return
    assert RocArea()(y, s) == pytest.approx(1 - roc_auc_score(y, s), abs=1e-12)
    assert AveragePrecision()(y, s) == pytest.approx(1 - average_precision_score(y, s), abs=1e-12)
    for k in (None, 1, 3, 100):
        truth = ndcg_score([y.astype(int)], [s.astype("f8")], k=k)
        assert NDCG(k)(y, s) == pytest.approx(1 - truth, abs=1e-9)


@given(truths_and_scores(max_p=60, dtypes=("f8",)))
def test_roc_area_is_the_mean_pairwise_hinge(problem):
    y, s, _ = problem
    hinge = MarginRescaling(RocArea())(y, s).value
    pairs = np.maximum(0, 1 - (s[y][:, None] - s[~y][None, :]))
    assert hinge == pytest.approx(pairs.mean() if pairs.size else 0.0, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_bounds_the_loss_and_batches_agree_with_single_sets(loss):
    rng = np.random.default_rng(0)
    offsets = np.array([0, 1, 12, 30, 80])
    y, s = rng.random(80) < 0.3, rng.standard_normal(80)
    sets = Sets(y, offsets)
    batch = MarginRescaling(loss).batch(sets, s)
    assert (batch.values >= loss.values(sets, s) - 1e-12).all()
    for i, (a, b) in enumerate(pairwise(offsets)):
        alone = MarginRescaling(loss)(y[a:b], s[a:b])
        assert alone.value == pytest.approx(batch.values[i], rel=1e-12)
        np.testing.assert_allclose(alone.gradient, batch.gradient[a:b], atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES[:4], ids=repr)
def test_scale_divides_the_scores(loss):
    rng = np.random.default_rng(1)
    y, s = rng.random(20) < 0.4, rng.standard_normal(20)
    scaled, plain = MarginRescaling(loss, scale=4.0)(y, s), MarginRescaling(loss)(y, s / 4.0)
    assert scaled.value == pytest.approx(plain.value)
    np.testing.assert_allclose(scaled.gradient, plain.gradient / 4.0)


def test_other_surrogates_refuse_a_ranking_in_a_sentence():
    for surrogate in (LovaszHinge, SlackRescaling):
        with pytest.raises(Refusal, match=r"refuses RocArea\(\): it (ranks|reads a ranking)"):
            surrogate(RocArea())([0, 1], [0.0, 1.0])
    with pytest.raises(Refusal, match=r"GreedySearch refuses Rankings: it takes independent binary decisions"):
        MarginRescaling(NDCG(), GreedySearch())([0, 1], [0.0, 1.0])


def test_the_values_of_swaps_are_the_loss_of_the_ranking_that_they_tell():
    rng = np.random.default_rng(5)
    for loss in LOSSES:
        for _ in range(10):
            y, s = rng.random(6) < 0.5, rng.standard_normal(6)
            bound_loss = loss.bind(Sets.single(y))
            swaps = np.zeros(6, dtype=np.int64)
            for i in range(6):
                swaps[i] = sum(y[j] != y[i] and (s[j] > s[i]) == y[i] for j in range(6))
            assert bound_loss.values(swaps)[0] == pytest.approx(loss(y, s), abs=1e-12)
            away = bound_loss.batch.away(swaps)
            pairs = [s[j] - s[i] for i in range(6) for j in range(6) if y[i] and not y[j] and s[j] > s[i]]
            assert s @ away == pytest.approx(sum(pairs) / max(y.sum() * (~y).sum(), 1))


def test_multiples_are_multiples_and_sums_are_refused():
    rng = np.random.default_rng(6)
    y, s = rng.random(9) < 0.4, rng.standard_normal(9)
    for loss in LOSSES:
        assert (3 * loss)(y, s) == pytest.approx(3 * loss(y, s))
        assert MarginRescaling(3 * loss)(y, 3 * s).value == pytest.approx(3 * MarginRescaling(loss)(y, s).value)
        with pytest.raises(Refusal, match="reads the order of scores, not labels. Train for it alone"):
            loss + RocArea()


def test_ndcg_of_more_ranks_than_decisions_is_ndcg_of_all():
    rng = np.random.default_rng(2)
    y, s = rng.random(2000) < 0.3, rng.standard_normal(2000)
    assert MarginRescaling(NDCG(10**6))(y, s).value == pytest.approx(MarginRescaling(NDCG())(y, s).value)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_refuses_a_depth_that_is_no_count(k):
    with pytest.raises((ValueError, TypeError), match="k must be (a whole number|at least 1)"):
        NDCG(k)


def test_refuses_scores_that_are_not_finite():
    with pytest.raises(ValueError, match="scores must be finite"):
        MarginRescaling(RocArea()).batch(Sets.single([0, 1]), np.array([np.nan, 0.0]))
