"""Every surrogate of every loss that it takes: above the loss, a subgradient, the same alone and in a batch."""

from itertools import pairwise

import numpy as np
import pytest

from cases import every_loss, examples, fits
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.losses import CappedLoss, EarlyDetection, FBeta, Hamming, Jaccard, MaxLoss, RocArea
from setwise.surrogates import SURROGATES, LovaszHinge, MarginRescaling, SlackRescaling, is_extension, margin_scale


@pytest.fixture(params=SURROGATES, ids=str)
def kind(request):
    return SURROGATES[request.param]


def taken(kind, p, sets):
    """The surrogates of this kind that a batch allows, bound."""
    for loss in every_loss(p) + [one for one in examples(p, "scores") if fits(one, p)]:
        try:
            surrogate = kind(loss)
            yield surrogate, surrogate.on(sets)
        except Refusal as refusal:
            assert str(refusal).endswith((".", "'"))
            assert kind.__name__ in str(refusal) or "Auto knows no method" in str(refusal)


def ragged(rng, p=4):
    return Sets(rng.random(4 * p) < np.repeat([0.0, 0.3, 1.0, 0.6], p), p * np.arange(5))


def test_never_below_the_loss_of_what_the_scores_predict(kind):
    rng = np.random.default_rng(0)
    sets = ragged(rng)
    for surrogate, evaluator in taken(kind, 4, sets):
        loss = surrogate.loss
        falls = not evaluator.convex or "Cardinality" in repr(loss)
        for scale in (0.0, 0.3, 3.0):
            s = scale * rng.standard_normal(sets.total)
            predictions = s if loss.reads == "scores" else s > 0
            found = evaluator(s)
            if not falls:
                assert (found.upper >= loss.values(sets, predictions) - 1e-9).all(), loss
            assert (found.values >= evaluator.floor - 1e-12).all()
            assert (found.values <= found.upper + 1e-12).all()


def test_value_and_gradient_make_a_plane_below(kind):
    rng = np.random.default_rng(1)
    sets = ragged(rng)
    for surrogate, evaluator in taken(kind, 4, sets):
        for _ in range(3):
            a, b = rng.standard_normal((2, sets.total))
            here, there = evaluator(a), evaluator(b)
            plane = here.values + np.add.reduceat(here.gradient * (b - a), sets.offsets[:-1])
            if evaluator.convex:
                assert (there.upper >= plane - 1e-9).all(), surrogate


@pytest.mark.draw(2)
def test_a_batch_is_its_sets_one_by_one(kind):
    rng = np.random.default_rng(2)
    sets = ragged(rng)
    s = np.round(rng.standard_normal(sets.total), 1)
    for surrogate, evaluator in taken(kind, 4, sets):
        together = evaluator(s)
        for i, (a, b) in enumerate(pairwise(sets.offsets)):
            alone = surrogate(sets.labels[a:b], s[a:b])
            assert alone.value == pytest.approx(together.values[i], abs=1e-9)
            np.testing.assert_allclose(alone.gradient, together.gradient[a:b], atol=1e-9)
        some = evaluator.take(np.array([2, 1]))(np.concatenate([s[8:12], s[4:8]]))
        np.testing.assert_allclose(some.values, together.values[[2, 1]], atol=1e-9)
        np.testing.assert_allclose(some.gradient, np.concatenate([together.gradient[8:12], together.gradient[4:8]]))


def test_gradients_have_the_type_of_the_scores(kind):
    rng = np.random.default_rng(3)
    sets = ragged(rng)
    for _, evaluator in taken(kind, 4, sets):
        s = rng.standard_normal(sets.total)
        assert evaluator(s.astype(np.float32)).gradient.dtype == np.float32
        assert evaluator(s).gradient.dtype == np.float64
        whole, real = evaluator(np.arange(16)), evaluator(np.arange(16.0))
        np.testing.assert_array_equal(whole.gradient, real.gradient)
        np.testing.assert_array_equal(evaluator(np.arange(16.0).astype(">f8")).gradient, real.gradient)


def test_scores_do_not_change(kind):
    rng = np.random.default_rng(4)
    sets = ragged(rng)
    for _, evaluator in taken(kind, 4, sets):
        s = rng.standard_normal(sets.total)
        before = s.copy()
        evaluator(s)
        np.testing.assert_array_equal(s, before)


def test_a_convex_surrogate_is_its_own_majorant_and_has_no_noise(kind):
    sets = Sets.single([0, 1, 1])
    evaluator = kind(MaxLoss()).on(sets)
    assert (evaluator.majorant(np.zeros(3)) is evaluator) == evaluator.convex
    if not evaluator.convex:
        return
    assert evaluator.redrawn(1) is evaluator


@pytest.mark.parametrize("size", [0, 3, 5, 4000])
def test_the_number_of_scores_is_checked(kind, size):
    with pytest.raises(ValueError, match=r"scores must have shape \(4,\)"):
        kind("max").batch(Sets.rows([[1, 0], [0, 1]]), np.zeros(size))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_refused(kind, bad):
    with pytest.raises(ValueError, match="scores must be finite"):
        kind(MaxLoss()).batch(Sets.single([0, 1]), np.array([bad, 0.0]))


def test_a_value_beyond_float64_is_refused_and_not_called_exact(kind):
    with pytest.raises(OverflowError, match="scores are too large"):
        kind(MaxLoss(np.full(4, 10.0)))([1, 0, 1, 1], [-1.7e308, 1.7e308, -1.7e308, -1.7e308])


@pytest.mark.parametrize("loss", [CappedLoss([1, 1, 5], 9.0), Hamming([1, 2, 3]), EarlyDetection([1.0])])
def test_a_batch_checks_that_its_loss_fits(kind, loss):
    with pytest.raises(ValueError, match="weights, one for each place"):
        kind(loss).batch(Sets.rows([[1, 0], [0, 1]]), np.zeros(4))


def test_names_are_taken_for_losses(kind):
    assert kind("max")([1, 0, 1], [0.1, 0.2, 0.3]).value == kind(MaxLoss())([1, 0, 1], [0.1, 0.2, 0.3]).value
    with pytest.raises(ValueError, match="there is no loss 'jacard'; use"):
        kind("jacard")
    assert kind("iou").loss == Jaccard()
    with pytest.raises(ValueError, match=r"loss 'capped' needs weights, which text cannot give"):
        kind("capped")
    with pytest.raises(TypeError, match="loss must be a loss or its name"):
        kind(Jaccard)


def test_other_sentences():
    with pytest.raises(TypeError, match="inference must be None or an Inference"):
        MarginRescaling(FBeta(), "greedy")
    with pytest.raises(ValueError, match="scale must be a number above 0 or 'size'"):
        MarginRescaling(FBeta(), scale="sizes")
    with pytest.raises(ValueError, match="has 2 weights"):
        is_extension(LovaszHinge(CappedLoss([1, 1], 1.0)), 3)
    with pytest.raises(ValueError, match="1 to 16 decisions"):
        is_extension(LovaszHinge(Jaccard()), -1)
    with pytest.raises(TypeError, match="surrogate must be a surrogate of a loss"):
        is_extension("lovasz", 3)
    for ask in (lambda: is_extension(MarginRescaling(RocArea()), 3), lambda: margin_scale(RocArea(), [0, 1])):
        with pytest.raises(ValueError, match="reads a ranking"):
            ask()
    assert margin_scale(1e-20 * Hamming(), [0, 1]) == pytest.approx(1e20)
    assert margin_scale("jaccard", [0, 1, 1]) == margin_scale(Jaccard(), [0, 1, 1])


def test_slack_rescaling_is_for_labels_that_are_known():
    sets = Sets(np.array([1, -1, 0], dtype=np.int8), np.array([0, 3]))
    with pytest.raises(Refusal, match="SlackRescaling refuses unknown labels"):
        SlackRescaling("jaccard").on(sets)
    with pytest.raises(Refusal, match="LovaszHinge refuses sets with unknown labels"):
        LovaszHinge("jaccard").on(sets)
