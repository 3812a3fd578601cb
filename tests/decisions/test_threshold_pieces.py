"""The best threshold of scores in pieces is the best of all."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setwise.core.exceptions import Refusal
from setwise.core.surrogate import Piece, ended
from setwise.decisions import best_threshold, threshold_pieces
from setwise.decisions.threshold_pieces import ThresholdInPieces
from setwise.losses import AE, KLD, ErrorRate, FBeta, GMean, Jaccard, Tversky, as_loss

LOSSES = [Jaccard(), FBeta(), FBeta(2.0), ErrorRate(), Tversky(0.3, 0.7), GMean(), as_loss("mcc"), 0.5 * Jaccard()]


def searched(loss, truth, scores, edges, log=None):
    """The threshold from pieces that end at the edges."""
    pieces = [Piece(s, y) for s, y in zip(np.split(scores, edges), np.split(truth, edges), strict=True)]

    def ask(question):
        answers = [pickle.loads(pickle.dumps(question))(piece) for piece in pieces]
        if log is not None:
            log.append(len(pickle.dumps(question)) + max(len(pickle.dumps(answer)) for answer in answers))
        return answers

    return ended(ThresholdInPieces(loss, int((~truth).sum()), int(truth.sum())).search(), ask)


@given(
    seed=st.integers(0, 10**6),
    p=st.integers(1, 300),
    levels=st.sampled_from([1, 2, 5, 1000]),
    pieces=st.integers(1, 8),
    gathered=st.sampled_from([0, 3, 1 << 14]),
    bins=st.sampled_from([4, 16, 1024]),
    loss=st.sampled_from(LOSSES),
)
def test_no_threshold_has_a_smaller_loss(seed, p, levels, pieces, gathered, bins, loss):
    rng = np.random.default_rng(seed)
    truth = rng.random(p) < rng.choice([0.0, 0.2, 0.7, 1.0])
    scores = np.round(rng.normal(size=p) + truth, 3) if levels == 1000 else rng.integers(0, levels, p).astype(float)
    scores *= 10.0 ** rng.integers(-300, 300, p) if rng.random() < 0.1 else 1.0
    edges = np.sort(rng.integers(0, p + 1, pieces - 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threshold_pieces, "GATHERED", gathered)
        patch.setattr("setwise.decisions.levels.BINS", bins)
        found = searched(loss, truth, scores, edges)
    wanted = best_threshold(truth, scores, loss)
    assert found.loss == pytest.approx(wanted.loss, abs=1e-12)
    here = loss(truth.astype(int), scores >= found.threshold)
    assert here == pytest.approx(found.loss, abs=1e-12)
    assert loss(truth.astype(int), scores >= found.high) == pytest.approx(found.loss, abs=1e-12)
    assert loss(truth.astype(int), scores >= found.low) == pytest.approx(found.loss, abs=1e-12)


@pytest.mark.parametrize("loss", [AE(), KLD()], ids=repr)
def test_losses_that_may_fall_are_gathered(loss, monkeypatch):
    rng = np.random.default_rng(0)
    truth = rng.random(500) < 0.2
    scores = rng.normal(size=500) + truth
    found, wanted = searched(loss, truth, scores, [100, 130]), best_threshold(truth, scores, loss)
    assert (found.loss, found.threshold) == (wanted.loss, wanted.threshold)
    monkeypatch.setattr(threshold_pieces, "MOST", 499)
    with pytest.raises(Refusal, match="refused for 500 scores in pieces, at most 499"):
        searched(loss, truth, scores, [100])


@pytest.mark.draw(2)
@pytest.mark.parametrize("loss", [Jaccard(), FBeta(), ErrorRate()], ids=repr)
def test_what_travels_does_not_grow_with_the_rows(loss):
    rng, sent = np.random.default_rng(0), []
    for p in (10_000, 1_000_000):
        truth = rng.random(p) < 0.05
        scores, log = rng.normal(size=p) + 1.5 * truth, []
        found = searched(loss, truth, scores, [p // 3, p // 2], log)
        assert found.loss == pytest.approx(best_threshold(truth, scores, loss).loss, abs=1e-12)
        assert found.threshold == best_threshold(truth, scores, loss).threshold
        sent.append(sum(log))
        assert len(log) <= 6
    assert max(sent) <= 1_000_000


@pytest.mark.parametrize("name", ["error_rate", "balanced_error", "f1", "mcc"])
def test_scores_that_say_little_leave_many_bins_open(name):
    rng = np.random.default_rng(0)
    for share, gain in ((0.5, 0.2), (0.05, 0.3)):
        truth = rng.random(200_000) < share
        scores = rng.normal(size=200_000) + gain * truth
        found, wanted = searched(as_loss(name), truth, scores, [1000, 90_000]), best_threshold(truth, scores, name)
        assert found.loss == pytest.approx(wanted.loss, abs=1e-12)
        assert found.threshold == wanted.threshold


@pytest.mark.parametrize("name", ["auc", "max"])
def test_other_losses_are_refused(name):
    with pytest.raises(Refusal, match="not a function of"):
        ThresholdInPieces(as_loss(name), 3, 3)


@pytest.mark.parametrize(("negatives", "positives"), [(-1, 2), (0, 0), (1.5, 2)])
def test_numbers_that_do_not_fit(negatives, positives):
    with pytest.raises((ValueError, TypeError)):
        ThresholdInPieces(Jaccard(), negatives, positives)
