"""The ramp lies between the loss and margin rescaling, and predicts no labeling of a larger loss; by enumeration."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import KINDS, every_loss, examples, fits, in_turn, problem
from rounds import rounds
from setwise.core import enumerate as brute
from setwise.core.batch import Classes, Sets
from setwise.core.exceptions import Refusal
from setwise.inference import GreedySearch, WorstRanking
from setwise.losses import BreakEven, FBeta, Hamming, Jaccard, MeanOverClasses, OneClass, PrecisionAtK
from setwise.surrogates import Difference, MarginRescaling, Ramp


def maxima(values, scores):
    """The ramp, margin rescaling relative to nothing, and the largest value of a labeling of best score."""
    allowed = values > -np.inf
    worst, best = (values + scores)[allowed].max(), scores[allowed].max()
    return worst - best, values[allowed & (scores == best)].max()


def of_labels(loss, y, s):
    """Ramp and largest predicted loss of one set, from all its labelings."""
    guesses = brute.subsets(len(y)) ^ y
    return maxima(brute.table(loss, y), guesses @ s.astype(np.float64))


def of_rankings(bound_loss, s):
    """The same from all rankings, where a labeling holds numbers of swapped pairs."""
    batch, rows = bound_loss.batch, []
    for order in permutations(range(batch.total)):
        rank = np.argsort(order)
        above = rank[:, None] < rank
        swaps = np.where(batch.labels, (above & ~batch.labels[:, None]).sum(axis=0), (above & batch.labels).sum(axis=1))
        rows.append(swaps)
    values = np.array([bound_loss.values(row)[0] for row in rows])
    return maxima(values, np.array([batch.encode(row) @ s for row in rows]))


@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.sampled_from([1, 2, 3, 5, 6]))
def test_between_the_loss_and_margin_rescaling(seed, kind, p):
    rng = np.random.default_rng(seed)
    y, s = problem(rng, p, kind, np.float64)
    rounding = 1e-12 + 1e-13 * np.abs(s).sum()
    losses = every_loss(p) + [one for one in examples(p, "scores") if fits(one, p)]
    for loss in [losses[i] for i in rng.choice(len(losses), 6, replace=False)]:
        found, margin = Ramp(loss)(y, s), MarginRescaling(loss)(y, s)
        bound_loss = loss.bind(Sets.single(y))
        ranks = not isinstance(bound_loss.batch, Sets)
        ramp, predicted = of_rankings(bound_loss, s) if ranks else of_labels(loss, y, s)
        assert found.exact, loss
        assert found.value == found.upper == pytest.approx(ramp, abs=10 * rounding), loss
        assert predicted <= found.value + 10 * rounding, loss
        assert 0.0 <= found.value <= margin.upper + 10 * rounding, loss
        # What the loss says of these scores, ties among them, is a mean of predicted labelings or one of them.
        assert loss(y, s if loss.reads == "scores" else s > 0) <= found.value + 10 * rounding, loss


@pytest.mark.slow
@pytest.mark.draw(4)
@pytest.mark.parametrize("scale", [0.3, 1.0, 7.0, "size"])
def test_the_scale_divides_scores_as_in_margin_rescaling(scale):
    rng, sets = np.random.default_rng(0), Sets(np.arange(9) % 3 == 0, np.array([0, 2, 5, 9]))
    for loss in every_loss(3):
        try:
            ramp, margin = Ramp(loss, scale=scale).on(sets), MarginRescaling(loss, scale=scale).on(sets)
        except ValueError:
            continue  # weights for three places
        s = rng.standard_normal(9)
        g = sets.sizes if scale == "size" else np.full(3, scale)
        pieces = zip([0, 2, 5], [2, 5, 9], g, strict=True)
        alone = [Ramp(loss)(sets.labels[a:b], s[a:b] / c).value for a, b, c in pieces]
        np.testing.assert_allclose(ramp(s).values, alone, atol=1e-12)
        assert (ramp(s).values <= margin(s).upper + 1e-12).all()
        np.testing.assert_allclose(ramp(s).gradient, _slope(ramp, s), atol=1e-5)


def _slope(evaluator, s, h=1e-7):
    """The derivative of the sum of all sets in each score, by differences."""
    steps = h * np.eye(len(s))
    return np.array([(evaluator(s + d).values - evaluator(s - d).values).sum() for d in steps]) / (2 * h)


@pytest.mark.slow
def test_never_a_constant_labeling_whose_loss_is_above_the_ramp():
    """The theorem that makes the ramp worth its local minima: margin rescaling does predict such labelings."""
    rng, empty = np.random.default_rng(1), 0
    for _ in range(rounds(400, 120)):
        y = rng.random(6) < 0.4
        s = rng.standard_normal(6) - rng.choice([0.0, 2.0])
        for loss in (Jaccard(), FBeta(), Hamming()):
            ramp, margin = Ramp(loss)(y, s).value, MarginRescaling(loss)(y, s).value
            for constant in (np.zeros(6, bool), np.ones(6, bool)):
                if loss(y, constant) > ramp + 1e-12:
                    assert not np.array_equal(s > 0, constant)
            empty += not (s > 0).any() and margin > ramp + 1e-9
    assert empty > rounds(20, 5)


def test_the_majorant_is_margin_rescaling_towards_the_prediction():
    rng = np.random.default_rng(2)
    sets = Sets(rng.random(12) < 0.4, np.array([0, 5, 12]))
    for loss in (Jaccard(), FBeta(), Hamming(), PrecisionAtK(3), BreakEven()):
        ramp = Ramp(loss, scale="size").on(sets)
        assert not ramp.convex
        assert ramp.floor == 0.0
        for at, *others in rng.standard_normal((10, 6, 12)):
            majorant = ramp.majorant(at)
            assert majorant.convex
            np.testing.assert_allclose(majorant(at).values, ramp(at).values, atol=1e-12)
            for s in others:
                assert (majorant(s).values >= ramp(s).values - 1e-12).all()


def test_decisions_of_unknown_labels_cancel():
    rng = np.random.default_rng(3)
    for loss in (Jaccard(), FBeta(), Hamming()):
        for _ in range(20):
            y, s = rng.integers(-1, 2, 6).astype(np.int8), rng.standard_normal(6)
            y[0] = 1
            found = Ramp(loss).on(Sets(y, np.array([0, 6])))(s)
            alone = Ramp(loss)(y[y >= 0], s[y >= 0])
            assert found.values[0] == pytest.approx(alone.value, abs=1e-12)
            np.testing.assert_array_equal(found.gradient[y < 0], 0.0)


def test_several_classes_equal_enumeration_or_are_bounded():
    rng, p, k = np.random.default_rng(4), 4, 3
    rows = brute.labelings(p, k)
    for loss in (MeanOverClasses(Jaccard()), OneClass(FBeta(), 1), Hamming()):
        for _ in range(20):
            batch, s = Classes.single(rng.integers(0, k, p), k), rng.standard_normal((p, k))
            bound_loss = loss.bind(batch)
            values = np.array([bound_loss.values(row)[0] for row in rows])
            ramp, predicted = maxima(values, s[np.arange(p), rows].sum(axis=1))
            found = Ramp(loss).on(batch)(s.ravel())
            assert found.values[0] <= ramp + 1e-9 <= found.upper[0] + 2e-9
            assert predicted <= found.upper[0] + 1e-9
            if found.exact[0]:
                assert found.values[0] == pytest.approx(ramp, abs=1e-9)


@pytest.mark.slow
def test_with_inexact_inference_the_bound_is_that_of_the_first_less_the_value_of_the_second():
    rng = np.random.default_rng(5)
    inexact = 0
    for _ in range(60):
        y, s = rng.random(8) < 0.4, rng.standard_normal(8)
        for loss in (Jaccard(), FBeta()):
            found, (ramp, predicted) = Ramp(loss, GreedySearch())(y, s), of_labels(loss, y, s)
            first = MarginRescaling(loss, GreedySearch())(y, s)
            # The second maximum is that of independent decisions, which is known.
            second = np.maximum(s, 0).sum() - s[y].sum()
            assert found.upper == pytest.approx(max(first.upper - second, 0.0))
            assert max(found.value, predicted) <= ramp + 1e-12 <= found.upper + 2e-12
            inexact += not found.exact
    assert inexact > 0


def test_the_bound_of_a_difference_leaves_out_what_the_second_may_lack():
    sets, s = Sets.single([1, 0, 1, 0, 0, 1]), np.random.default_rng(6).standard_normal(6)
    first, second = (
        MarginRescaling(2.0 * FBeta(), GreedySearch()).on(sets),
        MarginRescaling(FBeta(), GreedySearch()).on(sets),
    )
    a, b, found = first(s), second(s), Difference(first, second)(s)
    assert b.upper[0] > b.values[0]
    assert found.upper[0] == a.upper[0] - b.values[0]
    assert not found.exact[0]


def test_refusals():
    with pytest.raises(ValueError, match="scale must be a number above 0 or 'size'"):
        Ramp("jaccard", scale="sizes")
    with pytest.raises(Refusal, match="WorstRanking refuses"):
        Ramp("jaccard", WorstRanking()).on(Sets.single([0, 1]))


@pytest.mark.slow
@pytest.mark.draw(3)
@pytest.mark.parametrize("scale", [1.0, 0.3, "size"])
def test_at_scores_of_zero_the_gradient_is_that_of_a_point_close_by(scale):
    rng = np.random.default_rng(0)
    for p in (1, 2, 3, 5):
        losses = every_loss(p) + [one for one in examples(p, "scores") if fits(one, p)]
        for loss in in_turn(losses, p + len(str(scale))):
            y = rng.random(p) < 0.5
            s = rng.integers(-1, 2, p) * 1.0
            if not fits(loss, p):
                continue
            surrogate = Ramp(loss, scale=scale)
            at = surrogate(y, s).gradient
            # Next to a zero the ramp is piecewise linear: the slope towards the truth is that of the gradient.
            step = np.where(s == 0, np.where(y, 1e-5, -1e-5), 0.0)
            near, far = surrogate(y, s + step), surrogate(y, s + 2 * step)
            assert far.value - near.value == pytest.approx(at @ step, abs=1e-11), (loss, y, s)
            assert near.value - surrogate(y, s).value == pytest.approx(at @ step, abs=1e-11)


def test_of_all_scores_zero_both_maxima_are_those_next_to_the_truth():
    assert Ramp("f1")([1, 0, 0], np.zeros(3)).gradient.tolist() == [-1.0, 0.0, 0.0]
    sets = Sets(np.array([1, -1, 0, 0], np.int8), np.array([0, 2, 4]))
    assert Ramp("hamming").on(sets)(np.zeros(4)).gradient[1] == 0.0
