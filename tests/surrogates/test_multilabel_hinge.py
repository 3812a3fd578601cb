"""The hinge of MLSP: its formula, its place among the others, and predictions of label sets that it learns."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given

from cases import truths_and_scores
from setwise.core import enumerate as brute
from setwise.core.batch import Sets
from setwise.core.enumerate import subsets
from setwise.core.exceptions import Refusal
from setwise.learners import OneSlack
from setwise.losses import Hamming, Jaccard, MaxLoss, NearestCosts, SumLoss
from setwise.models import MultilabelModel
from setwise.risks import MeanRisk
from setwise.surrogates import MarginRescaling, MultilabelHinge, SlackRescaling


def gains(y, scores):
    """What a mistake on each label wins in score."""
    return -np.where(y, 1.0, -1.0) * scores


@given(truths_and_scores(dtypes=("f8",)))
def test_it_is_the_worst_violation_of_a_single_label(problem):
    y, scores, rng = problem
    costs = np.round(rng.random(len(y)), 1)
    for loss, c in ((MaxLoss(), np.ones(len(y))), (MaxLoss(costs), costs), (MaxLoss(lambda t: 0.2 + t), 0.2 + y)):
        slack, margin = (MultilabelHinge(loss, how)(y, scores) for how in ("slack", "margin"))
        scale = 1e-9 * (1 + np.abs(scores).sum())
        assert slack.exact
        assert slack.value == pytest.approx(max(0.0, (c * (1 + gains(y, scores))).max()), rel=1e-12, abs=scale)
        assert margin.value == pytest.approx(max(0.0, (c + gains(y, scores)).max()), rel=1e-12, abs=scale)
        assert np.count_nonzero(slack.gradient) <= 1
        assert slack.value >= loss(y, scores > 0) - scale
        assert margin.value >= loss(y, scores > 0) - scale


@given(truths_and_scores(dtypes=("f8",)))
def test_the_losses_and_hinges_have_an_order(problem):
    y, scores, rng = problem
    for c in (None, rng.random(len(y))):
        loss = MaxLoss(c)
        single = MultilabelHinge(loss, "margin")(y, scores).value
        largest, summed = (brute.margin_rescaling(one, y, scores) for one in (loss, SumLoss(c)))
        chain = [loss(y, scores > 0), single, largest, summed, len(y) * single]
        assert (np.diff(chain) >= -1e-9 * (1 + np.abs(scores).sum())).all()
        assert MarginRescaling(SumLoss(c))(y, scores).value == pytest.approx(summed, rel=1e-9, abs=1e-9)
    same = [MultilabelHinge(MaxLoss(), how)(y, scores).value for how in ("slack", "margin")]
    assert same[0] == pytest.approx(same[1], rel=1e-12)


@given(truths_and_scores(dtypes=("f8",)))
def test_rescaling_of_the_max_loss_is_exact(problem):
    y, scores, rng = problem
    for loss in (MaxLoss(), MaxLoss(np.round(rng.random(len(y)), 1)), MaxLoss(rng.random(len(y))) + 0.5 * Hamming()):
        scale = 1e-9 * (1 + np.abs(scores).sum())
        margin, slack = MarginRescaling(loss)(y, scores), SlackRescaling(loss)(y, scores)
        assert margin.exact
        assert margin.value == pytest.approx(brute.margin_rescaling(loss, y, scores), rel=1e-9, abs=scale)
        assert slack.value <= brute.slack_rescaling(loss, y, scores) + scale <= slack.upper + 2 * scale


SET_LOSSES = [MaxLoss, SumLoss, partial(SumLoss, normalized=True)]


@pytest.mark.parametrize("kind", SET_LOSSES)
def test_the_first_principles_of_set_losses(kind):
    # Positivity and monotonicity (MLSP Eq. 3 and 4), for all pairs of sets of four labels.
    distances = np.abs(np.arange(4.0)[:, None] - np.arange(4.0)) / 3 + 0.1
    for costs in (None, [0.2, 1.0, 0.5, 3.0], lambda truth: 0.5 + truth, NearestCosts(distances, missed=1.1)):
        loss = kind(costs)
        table = {(y.tobytes(), g.tobytes()): loss(y, g) for y in subsets(4) for g in subsets(4)}
        for y in subsets(4):
            for guess in subsets(4):
                value = table[y.tobytes(), guess.tobytes()]
                assert value >= 0.0
                assert (value == 0.0) == (y == guess).all()
                for i in np.flatnonzero(~y & ~guess):
                    more = np.arange(4) == i
                    assert table[y.tobytes(), (guess | more).tobytes()] >= value
                    if not isinstance(costs, NearestCosts):
                        assert table[(y | more).tobytes(), guess.tobytes()] >= value


def test_costs_by_the_nearest_truth_may_fall_with_more_truths():
    # One more truth that is missed may bring several false labels near to a truth, so Eq. 4 fails.
    distances = np.ones((4, 4))
    distances[1, 2:] = 0.0
    y, more, guess = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]], dtype=bool)
    loss = SumLoss(NearestCosts(distances))
    assert (loss(y, guess), loss(more, guess)) == (3.0, 2.0)


def test_costs_by_the_nearest_truth():
    distances = np.abs(np.arange(4.0)[:, None] - np.arange(4.0)) / 3
    costs = NearestCosts(distances)
    np.testing.assert_allclose(costs(np.array([False, True, False, False])), [1 / 3, 1, 1 / 3, 2 / 3])
    np.testing.assert_allclose(costs(np.zeros(4, bool)), 1.0)
    loss = MaxLoss(costs)
    assert loss([0, 1, 0, 0], [0, 1, 0, 1]) == pytest.approx(2 / 3)
    assert loss([0, 1, 0, 0], [0, 0, 0, 0]) == 1.0
    assert SumLoss(costs, normalized=True)([0, 1, 0, 0], [1, 0, 0, 0]) == pytest.approx((1 + 1 / 3) / 4)


def test_learners_certify_it_and_it_learns_sets():
    rng = np.random.default_rng(1)
    X, W = rng.standard_normal((60, 4)), rng.standard_normal((4, 5))
    Y, sets = X @ W > 0.5, Sets.rows(X @ W > 0.5)
    model = MultilabelModel(X, 5, np.arange(61))
    assert Y.any(axis=1).mean() < 1.0
    risk = MeanRisk(model, MultilabelHinge(MaxLoss()).on(sets))
    fit = OneSlack(C=1e3, tol=1e-4, max_iter=3000).minimize(risk)
    assert fit.status == "converged"
    assert MaxLoss().values(sets, model.scores(fit.w) > 0).mean() <= fit.objective / 1e3
    assert MaxLoss().values(sets, model.scores(fit.w) > 0).mean() < 0.1


def test_what_is_refused():
    for make, words in (
        (
            lambda: MultilabelHinge("jaccard").on(Sets.single([1, 0])),
            "MultilabelHinge refuses Jaccard.*: single mistakes",
        ),
        (lambda: MultilabelHinge("max", "ramp"), "rescaling must be"),
        (lambda: MaxLoss([1.0, -1.0]), "costs must be finite and not negative"),
        (lambda: MaxLoss([1.0, 2.0])([1, 0, 1], [1, 0, 0]), "has 2 weights, one for each place; got a set of 3"),
        (lambda: MaxLoss(lambda truth: np.ones(2))([1, 0, 1], [1, 0, 0]), r"costs\(truth\) must have shape"),
        (lambda: MaxLoss(lambda truth: -1.0 * truth)([1, 0, 1], [1, 0, 0]), r"costs\(truth\) must be 3 numbers"),
        (lambda: NearestCosts(np.ones((2, 3))), "distances must have shape"),
        (lambda: NearestCosts(-np.ones((2, 2))), "distances must be 0 or above"),
        (lambda: NearestCosts(np.ones((2, 2)), missed=-1.0), "missed must be"),
        (
            lambda: MaxLoss(NearestCosts(np.ones((2, 2))))([1, 0, 1], [1, 0, 0]),
            "distances must be those of 3 labels; got 2",
        ),
        (lambda: SumLoss(normalized=2), "normalized must be"),
        (lambda: Jaccard() and MultilabelHinge(SumLoss()).on(Sets.single([1, 0])), "MultilabelHinge refuses SumLoss"),
    ):
        with pytest.raises((ValueError, TypeError, Refusal), match=words):
            make()
