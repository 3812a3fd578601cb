import sys
from itertools import pairwise

import numpy as np
import pytest

from count_cases import KINDS, LOSSES, allowed, fits, problem, slow_marginals, waves
from setwise.core import enumerate as brute
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.inference.counts.max_marginals import batch_max_marginals, max_marginals
from setwise.losses import MCC, BreakEven, CountLoss, EarlyDetection, FBeta, GMean, HMean, Jaccard, Tversky


def close(found, truth, scores):
    """Equal up to the rounding of sums of the scores; -inf equals -inf."""
    size = 1.0 + np.abs(np.asarray(scores, dtype=np.float64)).sum()
    with np.errstate(invalid="ignore"):
        return np.all((found == truth) | (np.abs(found - truth) <= 1e-11 * size))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_max_marginals_equal_enumeration(loss, dtype):
    rng = np.random.default_rng(0)
    for p in (1, 2, 3, 5, 8, 10):
        for kind in KINDS if fits(loss, p) else ():
            y, scores = problem(rng, p, kind, dtype)
            guesses = brute.subsets(p) ^ y
            values = np.where(allowed(loss, y), brute.table(loss, y) + guesses @ scores.astype(np.float64), -np.inf)
            truth = [[np.max(values[guesses[:, i] == b]) for b in (False, True)] for i in range(p)]
            assert close(max_marginals(loss, y, scores), np.array(truth), scores), (kind, y, scores)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_max_marginals_equal_a_scan_for_each_decision(loss):
    rng = np.random.default_rng(1)
    for p in (40, 75):
        for kind in KINDS:
            y, scores = problem(rng, p, kind, np.float64)
            assert close(max_marginals(loss, y, scores), slow_marginals(loss, y, scores), scores), (p, kind)


@pytest.mark.parametrize("loss", [Jaccard(), FBeta(), FBeta(0.5), Tversky(0.4, 0.1), GMean(), HMean(), MCC()], ids=repr)
def test_max_marginals_of_larger_sets(loss):
    rng = np.random.default_rng(2)
    for kind in ("in doubt", "ties", "one value"):
        y, scores = problem(rng, 400, kind, np.float64)
        y[:150] = True
        assert close(max_marginals(loss, y, scores), slow_marginals(loss, y, scores), scores)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_ragged_batch_is_its_sets_one_by_one(loss):
    rng = np.random.default_rng(3)
    sizes = np.concatenate((rng.integers(3, 9, 30), [70, 3, 90]))
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    rate = np.repeat(rng.choice([0.0, 0.3, 0.7, 1.0], len(sizes)), sizes)
    sets = Sets(rng.random(offsets[-1]) < rate, offsets)
    scores = 0.2 * rng.standard_normal(sets.total)
    together = batch_max_marginals(loss, sets, scores)
    alone = [max_marginals(loss, sets.labels[a:b], scores[a:b]) for a, b in pairwise(offsets)]
    assert close(together, np.concatenate(alone), scores)


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


def test_refusals_name_the_loss_and_the_way_out(monkeypatch):
    with pytest.raises(Refusal, match=r"max_marginals refuses EarlyDetection.*Use setwise.core.enumerate"):
        max_marginals(EarlyDetection(), [1, 0], [0.0, 0.0])
    monkeypatch.setattr(sys.modules[max_marginals.__module__], "BUDGET", 100)
    with pytest.raises(Refusal, match=r"CountLoss.* on 20 positives and 20 negatives.*Use Jaccard or FBeta"):
        max_marginals(CountLoss(waves), np.arange(40) < 20, np.zeros(40))
