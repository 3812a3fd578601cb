from itertools import pairwise

import numpy as np
import pytest

from cases import KINDS, close, count_losses, counts_of, examples, fits, in_turn, problem, slow_marginals, waves
from rounds import rounds
from setwise import max_marginals
from setwise.core import enumerate as brute
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.inference import CountSearch
from setwise.losses import (
    MCC,
    BalancedError,
    BreakEven,
    ClassWeightedLoss,
    CountFunctionLoss,
    EarlyDetection,
    ErrorRate,
    FBeta,
    GMean,
    HMean,
    Jaccard,
    RocArea,
    Tversky,
)


def marginals(loss, y, scores):
    """By the search over counts, absolute as in HOL Eq. 4; None where it refuses the loss."""
    bound_loss = loss.bind(Sets.single(y))
    if CountSearch().refuses(bound_loss) is not None:
        return None
    found = CountSearch().prepare(bound_loss).max_marginals(scores)
    return found + bound_loss.batch.target @ np.asarray(scores, dtype=np.float64)


@pytest.mark.draw(10)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("p", [1, 2, 3, 5, 8])
def test_max_marginals_equal_enumeration(p, dtype):
    rng = np.random.default_rng(0)
    for turn, loss in enumerate(count_losses(p), p):
        for kind in in_turn(KINDS, turn):
            y, scores = problem(rng, p, kind, dtype)
            found = marginals(loss, y, scores)
            if found is not None:
                assert close(found, brute.max_marginals(loss, y, scores), scores), (loss, kind, y, scores)


@pytest.mark.slow
@pytest.mark.parametrize("p", [40, pytest.param(75, marks=pytest.mark.slow)])
def test_max_marginals_equal_a_scan_for_each_decision(p):
    rng = np.random.default_rng(1)
    for loss in count_losses(p):
        for kind in rng.choice(KINDS, rounds(4, 2), replace=False):
            y, scores = problem(rng, p, kind, np.float64)
            found = marginals(loss, y, scores)
            if found is not None and counts_of(loss, y) is not None:
                assert close(found, slow_marginals(loss, y, scores), scores), (loss, kind)


@pytest.mark.draw(10)
@pytest.mark.parametrize("loss", [Jaccard(), FBeta(), FBeta(0.5), Tversky(0.4, 0.1), GMean(), HMean(), MCC()], ids=repr)
def test_max_marginals_of_larger_sets(loss):
    rng = np.random.default_rng(2)
    for kind in ("in question", "ties", "one value"):
        y, scores = problem(rng, 400, kind, np.float64)
        y[:150] = True
        assert close(max_marginals(loss, y, scores), slow_marginals(loss, y, scores), scores)


def test_a_ragged_batch_is_its_sets_one_by_one():
    rng = np.random.default_rng(3)
    sizes = np.concatenate((rng.integers(3, 9, 30), [70, 3, 90]))
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    rate = np.repeat(rng.choice([0.0, 0.3, 0.7, 1.0], len(sizes)), sizes)
    sets = Sets(rng.random(offsets[-1]) < rate, offsets)
    scores = 0.2 * rng.standard_normal(sets.total)
    for loss in [Jaccard(), FBeta(0.5), GMean(), MCC(), *(one for one in examples(3, "scores") if fits(one, 3))]:
        bound_loss = loss.bind(sets)
        if CountSearch().refuses(bound_loss) is None:
            together = CountSearch().prepare(bound_loss).max_marginals(scores)
            constant = np.add.reduceat(scores * bound_loss.batch.target, offsets[:-1])[sets.owners, None]
            alone = [marginals(loss, sets.labels[a:b], scores[a:b]) for a, b in pairwise(offsets)]
            assert close(together + constant, np.concatenate(alone), scores)


@pytest.mark.slow
def test_the_larger_marginal_of_every_decision_is_the_maximum():
    rng = np.random.default_rng(4)
    y = rng.random(5000) < 0.2
    scores = (rng.standard_normal(5000) + np.where(y, 1, -1)).astype(np.float32) / 1000
    for loss in (Jaccard(), FBeta(), FBeta(0.3), Tversky(0.2, 0.1), GMean(), HMean(), BreakEven()):
        best = max_marginals(loss, y, scores).max(axis=1)
        assert np.ptp(best) <= 1e-9


def test_what_no_labeling_allows_is_minus_infinity():
    found = max_marginals(BreakEven(), [1, 1], [0.5, -0.5])
    np.testing.assert_allclose(found, [[-np.inf, 0.0], [-np.inf, 0.0]])


def test_tables_without_structure_are_refused_beyond_a_budget(monkeypatch):
    monkeypatch.setattr("setwise.inference.counts.BUDGET", 100)
    with pytest.raises(Refusal, match=r"CountFunctionLoss.* on 20 positives and 20 negatives.*Use Jaccard or FBeta"):
        max_marginals(CountFunctionLoss(waves), np.arange(40) < 20, np.zeros(40))


def test_losses_without_structure_are_forced_label_by_label():
    rng = np.random.default_rng(7)
    y, s = rng.random(6) < 0.5, rng.standard_normal(6)
    loss = EarlyDetection()
    np.testing.assert_allclose(max_marginals(loss, y, s), brute.max_marginals(loss, y, s), atol=1e-12)
    with pytest.raises(Refusal, match="its maximum is only bounded here"):
        max_marginals(loss, np.arange(40) % 2, 0.01 * rng.standard_normal(40))


def test_a_loss_of_a_ranking_is_refused_in_a_sentence():
    with pytest.raises(Refusal, match=r"refuses RocArea\(\): it reads a ranking"):
        max_marginals(RocArea(), [0, 1], [0.0, 1.0])


def test_a_modular_part_leaves_max_marginals_structured():
    rng = np.random.default_rng(3)
    y, s = rng.random(7) < 0.4, 0.2 * rng.standard_normal(7)
    loss = Jaccard() + ErrorRate() + 0.5 * BalancedError()
    np.testing.assert_allclose(max_marginals(loss, y, s), brute.max_marginals(loss, y, s), atol=1e-12)
    y, s = rng.random(200_000) < 0.4, rng.standard_normal(200_000)
    assert max_marginals(loss, y, s).shape == (200_000, 2)


@pytest.mark.parametrize("loss", [BalancedError(), Jaccard("fraction"), Jaccard(), FBeta()], ids=repr)
def test_weighted_counts_may_be_fractions(loss):
    rng = np.random.default_rng(0)
    assert ClassWeightedLoss(loss, 0.1, 0.1)([1, 0], [0, 1]) == 1.0
    for _ in range(30):
        y, s = rng.random(6) < rng.choice([0.0, 0.4]), 0.3 * rng.standard_normal(6)
        weighted = ClassWeightedLoss(loss, 0.01, 0.02)
        np.testing.assert_allclose(max_marginals(weighted, y, s), brute.max_marginals(weighted, y, s), atol=1e-12)
