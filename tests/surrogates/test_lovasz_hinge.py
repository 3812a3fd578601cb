import itertools

import numpy as np
import pytest
from hypothesis import given, settings

from cases import submodular_losses, truths_and_scores
from rounds import rounds
from setwise.core import enumerate as brute
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.losses import Cardinality, CountFunctionLoss, Hamming, Jaccard, SetFunctionLoss, Trait
from setwise.surrogates import LovaszHinge, is_extension

DIP = Cardinality([0.0, 1.0, 0.4])
"""LH 4.4 (ii): submodular, not increasing."""


@settings(max_examples=rounds(30, 12))
@given(truths_and_scores(max_p=6))
def test_equals_the_maximum_over_all_permutations(problem):
    y, scores, _ = problem
    for loss in submodular_losses(len(y)):
        increasing = Trait.INCREASING in loss.traits
        bound = LovaszHinge(loss)(y, scores)
        truth = brute.lovasz_hinge(loss, y, scores, increasing)
        assert bound.value == pytest.approx(truth, rel=1e-6 if scores.dtype == np.float32 else 1e-10, abs=1e-9)
        assert bound.upper == bound.value
        assert bound.exact


@settings(max_examples=rounds(40, 15))
@given(truths_and_scores(dtypes=("f8",)))
def test_gradient_is_a_subgradient_and_matches_finite_differences(problem):
    y, scores, rng = problem
    other = scores + rng.standard_normal(len(y))
    smooth = scores + rng.uniform(-0.3, 0.3, len(y))
    for loss in submodular_losses(len(y)):
        hinge = LovaszHinge(loss)
        here, there = hinge(y, scores), hinge(y, other)
        slack = 1e-9 * (1 + np.abs(scores).sum())
        assert there.value >= here.value + here.gradient @ (other - scores) - slack
        at = hinge(y, smooth)
        step, direction = 1e-7, rng.standard_normal(len(y))
        ahead, behind = (hinge(y, smooth + k * step * direction) for k in (1, -1))
        if np.array_equal(ahead.gradient, behind.gradient):
            slope = (ahead.value - behind.value) / (2 * step)
            assert slope == pytest.approx(at.gradient @ direction, rel=1e-4, abs=1e-4 * (1 + abs(at.value)))


@pytest.mark.slow
@settings(max_examples=rounds(40, 20))
@given(truths_and_scores())
def test_never_below_the_loss_of_the_signs(problem):
    y, scores, _ = problem
    for loss in submodular_losses(len(y)):
        if Trait.INCREASING in loss.traits:
            assert LovaszHinge(loss)(y, scores).value >= loss(y, scores > 0) - 1e-6


@pytest.mark.draw(3)
@pytest.mark.parametrize("p", [1, 2, 3, pytest.param(4, marks=pytest.mark.long)])
def test_is_an_extension_at_every_vertex(p):
    for loss in submodular_losses(p):
        assert is_extension(LovaszHinge(loss), p), loss


@given(truths_and_scores())
def test_of_hamming_is_the_sum_of_hinges(problem):
    y, scores, _ = problem
    hinges = np.maximum(0, 1 - brute.margins(y, scores)).sum()
    assert LovaszHinge(Hamming())(y, scores).value == pytest.approx(hinges, rel=1e-6)


@pytest.mark.slow
@settings(max_examples=rounds(40, 15))
@given(truths_and_scores(dtypes=("f8",)))
def test_is_convex_on_random_segments(problem):
    y, scores, rng = problem
    other, t = scores + rng.standard_normal(len(y)), rng.random()
    for loss in submodular_losses(len(y)):
        hinge = LovaszHinge(loss)
        middle = hinge(y, t * scores + (1 - t) * other).value
        chord = t * hinge(y, scores).value + (1 - t) * hinge(y, other).value
        assert middle <= chord + 1e-9 * (1 + abs(chord))


def test_definition_6_is_convex_and_thresholding_is_not():
    """LH Prop. 5 and Prop. 9 on the function of 4.4 (ii)."""
    grid = np.linspace(-2, 2, 41)
    points = np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2)
    y = np.array([True, True])
    sets = Sets.rows(np.tile(y, (len(points), 1)))
    whole, forced = LovaszHinge(DIP), LovaszHinge(DIP, increasing=True)

    def largest_violation(hinge):
        values = hinge.batch(sets, points.ravel()).values.reshape(41, 41)
        along = values[:, 1:-1] - 0.5 * (values[:, :-2] + values[:, 2:])
        across = values[1:-1] - 0.5 * (values[:-2] + values[2:])
        return max(along.max(), across.max())

    # Where both decisions are right by the same margin the sum is below 0: it is clipped, and does not pull.
    found = whole.batch(sets, points.ravel())
    right = (points[:, 0] == points[:, 1]) & (points[:, 0] > 1.05)
    assert right.any()
    assert (found.values[right] == 0.0).all()
    assert (found.gradient.reshape(-1, 2)[right] == 0.0).all()
    assert largest_violation(whole) < 1e-12
    assert largest_violation(forced) > 0.01
    assert whole.on(sets).convex
    assert not forced.on(sets).convex
    assert is_extension(whole, 2)
    assert is_extension(forced, 2)


def test_refuses_a_supermodular_loss_in_a_sentence():
    with pytest.raises(Refusal, match=r"LovaszHinge refuses Cardinality\(\[0, 1, 2.8\]\): the loss is not submodular"):
        LovaszHinge(Cardinality([0.0, 1.0, 2.8]))
    with pytest.raises(Refusal, match=r"does not promise to be submodular. Use surrogate='margin', or promises="):
        LovaszHinge(SetFunctionLoss(lambda _, wrong: wrong.sum()))([0, 1], [0.0, 1.0])


@given(truths_and_scores(max_p=40))
def test_a_ragged_batch_is_its_sets_one_by_one(problem):
    y, scores, rng = problem
    cuts = np.flatnonzero(rng.random(len(y) - 1) < 0.3) + 1 if len(y) > 1 else np.array([], dtype=int)
    offsets = np.concatenate(([0], cuts, [len(y)])).astype(np.int64)
    hinge = LovaszHinge(Jaccard())
    batch = hinge.batch(Sets(y, offsets), scores)
    for i, (a, b) in enumerate(itertools.pairwise(offsets)):
        alone = hinge(y[a:b], scores[a:b])
        assert alone.value == pytest.approx(batch.values[i], rel=1e-12)
        np.testing.assert_allclose(alone.gradient, batch.gradient[a:b], atol=1e-12)


@pytest.mark.parametrize("size", [30, 300, 5000, 20000])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_every_sort_gives_the_same_as_argsort(size, dtype):
    """Small, middle and large sets take three different sorts; many ties and values beyond float32 try the repair."""
    rng = np.random.default_rng(size)
    y = rng.random(size) < 0.3
    for scores in (
        rng.standard_normal(size),
        np.round(rng.standard_normal(size), 1),
        1.0 + 1e-12 * rng.standard_normal(size),
        rng.standard_normal(size) * (1e300 if dtype == "f8" else 1e30),
    ):
        scores = scores.astype(dtype)
        bound = LovaszHinge(Jaccard())(y, scores)
        u = np.maximum((1 - np.where(y, scores, -scores)).astype(dtype), 0).astype("f8")
        order = np.argsort(-u, kind="stable")
        gains = Jaccard().of_mistakes(y).gains(order)
        assert bound.value == pytest.approx(float(u[order] @ gains), rel=1e-6 if dtype == "f4" else 1e-11)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_refuses_scores_that_are_not_finite(bad):
    with pytest.raises(ValueError, match="scores must be finite"):
        LovaszHinge(Jaccard())([0, 1], [0.0, bad])
    with pytest.raises(ValueError, match="scores must be finite"):
        LovaszHinge(Jaccard()).batch(Sets.single([0, 1]), np.array([0.0, bad]))


def test_refuses_wrong_shapes_labels_and_weights():
    hinge = LovaszHinge(Hamming([1.0, 2.0]))
    with pytest.raises(ValueError, match=r"scores must have shape \(2,\)"):
        hinge([0, 1], [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="labels 0 and 1 only"):
        hinge([0, 2], [0.0, 1.0])
    with pytest.raises(ValueError, match="has 2 weights, one for each place; got a set of 3"):
        hinge([0, 1, 1], [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="float32 or float64"):
        hinge([0, 1], np.array([1j, 0]))


def test_a_function_of_counts_shows_its_shape_and_needs_no_promise():
    tolerant = CountFunctionLoss(lambda fn, fp: np.minimum(5 * fn + fp, 20))
    rng = np.random.default_rng(0)
    y, s = rng.random(7) < 0.5, rng.standard_normal(7)
    assert LovaszHinge(tolerant)(y, s).value == pytest.approx(brute.lovasz_hinge(tolerant, y, s, True))
    with pytest.raises(Refusal, match="does not promise to be submodular"):
        LovaszHinge(CountFunctionLoss(lambda fn, fp: fn * fp))(y, s)


@pytest.mark.parametrize("increasing", ["no", 2, 0.5])
def test_refuses_a_choice_that_is_none(increasing):
    with pytest.raises(TypeError, match="increasing must be None, True or False"):
        LovaszHinge(Jaccard(), increasing)


def test_huge_scores_give_a_right_answer():
    assert LovaszHinge(Jaccard())([1, 0], [-1e300, -1e300]).value == pytest.approx(1e300)
    assert LovaszHinge(Jaccard())([1, 0], [1e300, -1e300]).value == 0.0
