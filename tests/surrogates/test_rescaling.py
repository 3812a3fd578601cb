import numpy as np
import pytest
from hypothesis import given, settings

from cases import every_loss, submodular_losses, truths_and_scores
from rounds import rounds
from setwise.core import enumerate as brute
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.inference import ByCardinality, BySubmodularMinimum, Enumeration, GreedySearch, ModularMaximum
from setwise.losses import Cardinality, Hamming, Jaccard, SaturatingLoss, SetFunctionLoss, Trait, ZeroOne
from setwise.surrogates import LovaszHinge, MarginRescaling, SlackRescaling, is_extension, margin_scale

PAIRS = [(MarginRescaling, brute.margin_rescaling), (SlackRescaling, brute.slack_rescaling)]
METHODS = [None, ModularMaximum(), ByCardinality(), BySubmodularMinimum(), Enumeration(), GreedySearch()]


@pytest.mark.slow
@settings(max_examples=rounds(10, 4))
@given(truths_and_scores())
def test_certificates_hold_for_every_loss_and_every_method_that_takes_it(problem):
    y, scores, _ = problem
    slack = 1e-9 * (1 + np.abs(scores).astype("f8").sum())
    for loss in every_loss(len(y)):
        for kind, truth_of in PAIRS:
            truth = truth_of(loss, y, scores)
            for method in METHODS:
                try:
                    bound = kind(loss, method)(y, scores)
                except Refusal:
                    continue
                assert bound.value <= truth + slack, (loss, method)
                assert bound.upper >= truth - slack, (loss, method)
                if bound.exact or not isinstance(method, GreedySearch):
                    assert bound.exact
                    assert bound.value == pytest.approx(truth, rel=1e-9, abs=slack), (loss, method)


@pytest.mark.slow
@settings(max_examples=rounds(15, 4))
@given(truths_and_scores(dtypes=("f8",)))
def test_gradient_is_a_plane_below_even_when_greedy(problem):
    y, scores, rng = problem
    other = scores + rng.standard_normal(len(y))
    for loss in submodular_losses(len(y)):
        for kind, truth_of in PAIRS:
            for method in (None, GreedySearch()):
                here = kind(loss, method)(y, scores)
                plane = here.value + here.gradient @ (other - scores)
                assert truth_of(loss, y, other) >= plane - 1e-9 * (1 + np.abs(scores).sum())


@given(truths_and_scores())
def test_margin_is_slack_rescaling_for_zero_one_loss(problem):
    y, scores, _ = problem
    margin, slack = MarginRescaling(ZeroOne())(y, scores), SlackRescaling(ZeroOne())(y, scores)
    assert margin.value == pytest.approx(slack.value, rel=1e-9, abs=1e-9)


@given(truths_and_scores())
def test_margin_rescaling_of_hamming_is_the_sum_of_hinges(problem):
    y, scores, _ = problem
    hinges = np.maximum(0, 1 - brute.margins(y, scores)).sum()
    assert MarginRescaling(Hamming())(y, scores).value == pytest.approx(hinges, rel=1e-6, abs=1e-9)


@pytest.mark.slow
@pytest.mark.draw(3)
@pytest.mark.parametrize("p", [1, 2, 3])
def test_slack_rescaling_is_an_extension_iff_the_loss_increases(p):
    """LH Prop. 1."""
    for loss in every_loss(p):
        increasing = all(_increasing(loss, y) for y in brute.subsets(p))
        assert is_extension(SlackRescaling(loss), p) == increasing, loss


@pytest.mark.parametrize("p", [2, 3, 4])
def test_margin_rescaling_is_an_extension_up_to_the_scale_of_proposition_2(p):
    rng = np.random.default_rng(p)
    for loss in (Jaccard(), 3 * ZeroOne(), SaturatingLoss(0.5, rng.random(p)), Cardinality(np.arange(p + 1.0) ** 2)):
        y = rng.random(p) < 0.5
        g = margin_scale(loss, y)
        assert 0 < g < np.inf
        assert is_extension(MarginRescaling(g * loss), y)
        assert not is_extension(MarginRescaling(1.01 * g * loss), y)


def test_margin_scale_of_a_loss_that_does_not_increase_is_zero():
    assert margin_scale(Cardinality([0.0, 1.0, 0.4]), [0, 1]) == 0.0


@pytest.mark.slow
@settings(max_examples=rounds(100, 8))
@given(truths_and_scores())
def test_lovasz_is_at_least_the_others_inside_the_unit_cube(problem):
    """LH Prop. 8, for losses whose margin rescaling is an extension."""
    y, _, rng = problem
    scores = np.where(y, 1.0, -1.0) * rng.random(len(y))
    for loss in submodular_losses(len(y)):
        if Trait.INCREASING in loss.traits:
            lovasz = LovaszHinge(loss)(y, scores).value
            assert SlackRescaling(loss)(y, scores).value <= lovasz + 1e-9
            g = min(margin_scale(loss, y), 1.0)
            if g > 0:
                assert MarginRescaling(g * loss)(y, scores).value <= g * lovasz + 1e-9


@given(truths_and_scores(dtypes=("f8",)))
def test_scale_divides_what_it_multiplied(problem):
    y, scores, _ = problem
    loss, g = Jaccard(), 7.5
    assert MarginRescaling(loss, scale=g)(y, scores).value == pytest.approx(
        brute.margin_rescaling(g * loss, y, scores) / g, rel=1e-9, abs=1e-9
    )


def test_large_sets_are_exact_or_say_that_they_are_not():
    rng = np.random.default_rng(0)
    y, scores = rng.random(60) < 0.4, 0.05 * rng.standard_normal(60)
    capped_pairs = SetFunctionLoss(
        lambda _, wrong: min(4.0, float(wrong.sum())) + 0.5 * float(wrong[:30].any()),
        (Trait.SUBMODULAR, Trait.INCREASING),
    )
    bound = MarginRescaling(capped_pairs)(y, scores)
    assert bound.value <= bound.upper < np.inf
    unknown = MarginRescaling(SetFunctionLoss(lambda _, wrong: float(wrong.sum() % 3)))(y, scores)
    assert unknown.upper == np.inf
    assert not unknown.exact


def test_supermodular_losses_are_exact_on_forty_decisions():
    rng = np.random.default_rng(1)
    pairs = rng.random((40, 40)) / 40
    loss = SetFunctionLoss(lambda _, wrong: float(wrong @ pairs @ wrong), (Trait.SUPERMODULAR, Trait.INCREASING))
    y, scores = rng.random(40) < 0.5, rng.standard_normal(40)
    bound = MarginRescaling(loss)(y, scores)
    assert bound.exact
    assert bound.value >= MarginRescaling(loss, GreedySearch())(y, scores).value


def test_a_method_that_does_not_fit_is_refused_in_a_sentence():
    for method, words in (
        (ModularMaximum(), "ModularMaximum refuses Jaccard"),
        (ByCardinality(), "ByCardinality refuses Jaccard"),
        (BySubmodularMinimum(), "BySubmodularMinimum refuses Jaccard"),
    ):
        with pytest.raises(Refusal, match=words):
            MarginRescaling(Jaccard(), method)([0, 1], [0.1, 0.2])
    with pytest.raises(Refusal, match="Enumeration refuses a set of 3 decisions"):
        MarginRescaling(Jaccard(), Enumeration(2))([0, 1, 1], [0.1, 0.2, 0.3])


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf])
def test_refuses_a_scale_that_is_not_positive(scale):
    with pytest.raises(ValueError, match="scale must be a finite number"):
        MarginRescaling(Jaccard(), scale=scale)


@pytest.mark.parametrize("kind", [MarginRescaling, SlackRescaling])
def test_refuses_scores_that_are_not_finite(kind):
    with pytest.raises(ValueError, match="scores must be finite"):
        kind(Jaccard()).batch(Sets.single([0, 1]), np.array([np.nan, 0.0]))


def _increasing(loss, y):
    return Trait.INCREASING in brute.traits(loss, y)
