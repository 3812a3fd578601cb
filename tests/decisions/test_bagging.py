"""The bagged threshold against its definition, on nasty samples, and on new scores."""

import numpy as np
import pytest

from decisions.scored_sets import KINDS, cut_points, losses_at, ragged, scores
from rounds import rounds
from setwise.core.batch import Sets
from setwise.decisions import bagged_threshold, best_threshold, bootstrap_threshold
from setwise.decisions.resampling import HILL
from setwise.losses import MCC, EarlyDetection, FBeta, GMean, Jaccard

LOSSES = [FBeta(), Jaccard(), GMean(), MCC()]


def by_definition(sets, s, loss, n_resamples, seed):
    """The threshold at the cut nearest to the mean of the best cuts, or the best one, by enumeration of all cuts."""
    found = bootstrap_threshold(sets, s, loss, n_resamples, random_state=seed)
    cuts = np.array([(s >= t).sum() for t in found.thresholds])
    thresholds = cut_points(s)
    allowed = np.array([(s >= t).sum() for t in thresholds])
    losses = losses_at(loss, sets, s, thresholds)
    at = np.abs(allowed - cuts.mean()).argmin()
    bagged = losses[at] <= losses.min() + HILL * found.optimism
    return s >= (thresholds[at] if bagged else found.best.threshold)


@pytest.mark.draw(4)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_it_is_the_mean_of_the_best_cuts(loss):
    rng = np.random.default_rng(0)
    differs = 0
    for i in range(rounds(250, 60)):
        if i % 2:
            sets, s = ragged(rng)
        else:
            y = rng.random(rng.integers(1, 60)) < rng.choice([0.0, 0.1, 0.4, 1.0])
            sets, s = Sets.single(y), scores(rng, len(y), rng.choice(KINDS), "f8")
        found = bagged_threshold(sets, s, loss, 20, random_state=i)
        np.testing.assert_array_equal(s >= found.threshold, by_definition(sets, s, loss, 20, i))
        here = losses_at(loss, sets, s, np.array([found.threshold, found.low, found.high], dtype=s.dtype))
        np.testing.assert_allclose(here, found.loss, atol=1e-12)
        assert found.low <= found.threshold <= found.high
        best = best_threshold(sets, s, loss)
        assert found.loss >= best.loss - 1e-12
        differs += found.threshold != best.threshold
    assert differs > rounds(20, 3)


def test_a_hill_between_two_valleys_is_avoided():
    # F1 is 2/3 for the first hundred and for all of the four hundred, but 1/2 between the two.
    y, s = np.repeat([1, 0, 1], [100, 200, 100]), -np.arange(400.0)
    resamples = bootstrap_threshold(y, s, "f1", 100, random_state=0)
    sizes = np.array([(s >= t).sum() for t in resamples.thresholds])
    assert 0.2 < (sizes < 150).mean() < 0.8
    assert bagged_threshold(y, s, "f1") == best_threshold(y, s, "f1")


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_it_loses_less_on_new_scores(loss):
    rng = np.random.default_rng(1)

    def draw(n):
        s = rng.standard_normal(n)
        return s, 2 * s + rng.logistic(size=n) > 3.5

    new, truth = draw(20_000)
    gains = []
    for _ in range(60):
        s, y = draw(300)
        best, bagged = best_threshold(y, s, loss), bagged_threshold(y, s, loss)
        gains.append(loss(truth, new >= best.threshold) - loss(truth, new >= bagged.threshold))
    assert np.mean(gains) > 2 * np.std(gains) / np.sqrt(len(gains))


def test_decisions_of_unknown_label_are_left_out():
    rng = np.random.default_rng(3)
    y, s = np.where(rng.random(200) < 0.3, 1, 0).astype(np.int8), rng.standard_normal(200)
    y[::4] = -1
    known = y >= 0
    whole, part = (Sets(labels, np.array([0, len(labels)])) for labels in (y, y[known] == 1))
    assert bagged_threshold(whole, s, "f1") == bagged_threshold(part, s[known], "f1")
    none = Sets(np.full(3, -1, dtype=np.int8), np.array([0, 3]))
    assert bagged_threshold(none, s[:3], "f1") == best_threshold(none, s[:3], "f1")


def test_the_same_seed_gives_the_same_threshold():
    rng = np.random.default_rng(2)
    s = rng.standard_normal(300)
    y = s + rng.standard_normal(300) > 1
    assert bagged_threshold(y, s, "f1") == bagged_threshold(y, s, "f1", random_state=0)
    assert len({bagged_threshold(y, s, "f1", 3, seed).threshold for seed in range(10)}) > 1


def test_what_has_no_resamples_is_refused():
    with pytest.raises(ValueError, match=r"the bootstrap refuses EarlyDetection\(.* for a single set"):
        bagged_threshold([0, 1, 1], [0.1, 0.2, 0.3], EarlyDetection())
    with pytest.raises(ValueError, match="bagged_threshold refuses .* order of scores"):
        bagged_threshold([0, 1, 1], [0.1, 0.2, 0.3], "auc")
