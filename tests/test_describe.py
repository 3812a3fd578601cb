from importlib.util import find_spec

import numpy as np
import pytest

import setwise
from setwise.core.batch import Sets
from setwise.core.enumerate import traits
from setwise.core.exceptions import Refusal
from setwise.core.terms import SHAPES
from setwise.description import describe, examine, verdicts
from setwise.inference import Auto
from setwise.losses import (
    MCC,
    BreakEven,
    CappedLoss,
    Cardinality,
    CountFunctionLoss,
    EarlyDetection,
    FBeta,
    GMean,
    Hamming,
    Jaccard,
    MeanOverClasses,
    PrecisionAtK,
    RocArea,
    SaturatingLoss,
    SetFunctionLoss,
    Trait,
    Tversky,
    ZeroOne,
)
from setwise.surrogates import LovaszHinge, MarginRescaling, Ramp, SlackRescaling, is_extension, margin_scale

LARGE = np.arange(40) % 3 == 0


def squared(y, mistakes):
    return float(mistakes.sum()) ** 2


def rooted(y, mistakes):
    return float(np.sqrt(mistakes.sum()))


def falling(y, mistakes):
    return 40.0 - float(mistakes.sum())


def variety(p):
    """Losses of every shape for sets of p decisions."""
    weights = np.arange(p) % 4 / 3
    return [
        Hamming(),
        Hamming(weights),
        ZeroOne(),
        Jaccard(),
        Jaccard("ignore"),
        EarlyDetection(),
        CappedLoss(weights, 1.0),
        SaturatingLoss(3.0),
        SaturatingLoss(0.5, weights),
        Cardinality(np.arange(p + 1.0) ** 2),
        Cardinality(np.arange(p + 1.0) * (p - np.arange(p + 1.0)) + 0.5),
        Hamming() + Cardinality(np.sqrt(np.arange(p + 1.0))),
        SetFunctionLoss(rooted, [Trait.INCREASING, Trait.SUBMODULAR]),
        SetFunctionLoss(rooted),
        SetFunctionLoss(squared),
        SetFunctionLoss(squared, [Trait.SUPERMODULAR]),
        FBeta(),
        GMean(),
        MCC(),
        Tversky(0.5, 2.0),
        Jaccard() + Hamming(weights),
    ]


def all_verdicts(loss, y, **options):
    truth = Sets.single(y)
    return {v.surrogate: v for v in verdicts(loss, truth, examine(loss, truth, **options))}


def test_says_in_words_what_holds_for_the_jaccard_loss():
    assert describe(Jaccard(), [1, 0, 0, 1]).splitlines() == [
        "Jaccard(empty='perfect') for a ground truth of 4 decisions, 2 of them positive.",
        "Traits, by enumeration of all 2^4 sets of mistakes:",
        "  increasing    yes",
        "  submodular    yes",
        "  supermodular  no",
        "  modular       no",
        "The loss promises: depends on the counts (fn, fp, P, N) alone.",
        "Surrogates:",
        "  lovasz  convex; tight; tractable: a sort and one pass, O(p log p).",
        "  margin  convex; tight in scales up to 2; tractable: CountSearch, a search over the counts of misses and "
        "false alarms.",
        "  slack   convex; tight; tractable: CountSearch, a search over the counts of misses and false alarms.",
        "  ramp    not convex; between the loss and margin rescaling; tractable: CountSearch, a search over the counts "
        "of misses and false alarms.",
    ]


def test_a_random_search_finds_a_violation_for_a_supermodular_loss_of_40_decisions():
    text = describe(SetFunctionLoss(squared), LARGE)
    assert "SetFunctionLoss(squared) for a ground truth of 40 decisions, 14 of them positive." in text
    assert "by random search for violations among 256 pairs" in text
    assert "  submodular    no\n  supermodular  no violation found, not promised\n  modular       no\n" in text
    assert "lovasz  refused: the loss does not promise to be submodular." in text
    assert "not tractable: GreedySearch, one mistake after another" in text


def test_a_random_search_tells_promises_from_findings():
    text = describe(Jaccard(), LARGE)
    assert "  submodular    promised, no violation found\n  supermodular  no\n" in text
    assert "slack   convex; tight; tractable: CountSearch, a search over" in text
    text = describe(EarlyDetection(), LARGE)
    assert "slack   convex; tight; not tractable: GreedySearch, one mistake after another, with a bound on what" in text
    silent = describe(SetFunctionLoss(rooted), LARGE)
    assert "  submodular    no violation found, not promised\n" in silent
    assert "lovasz  refused: the loss does not promise to be submodular." in silent
    assert "slack   convex; tight as far as we know;" in silent


@pytest.mark.parametrize("y", [LARGE[:7], LARGE])
def test_a_broken_promise_is_named(y):
    text = describe(SetFunctionLoss(squared, [Trait.SUBMODULAR]), y)
    assert "Broken promise: the loss says that it is submodular; here it is not." in text
    assert text.count("refused: a promise is broken.") == 4
    text = describe(SetFunctionLoss(falling, [Trait.INCREASING, Trait.SUBMODULAR]), y)
    assert "Broken promise: the loss says that it is increasing; here it is not." in text


@pytest.mark.parametrize("p", [7, 40])
def test_what_could_be_promised_is_said(p):
    text = describe(SetFunctionLoss(rooted), np.arange(p) % 2)
    assert "say so: promises=[Trait.INCREASING, Trait.SUBMODULAR]." in text
    tolerant = CountFunctionLoss(lambda fn, fp: np.minimum(5 * fn + fp, 20))
    text = describe(tolerant, np.arange(p) % 2)
    assert "  submodular    yes\n" in text
    assert "lovasz  convex; tight; tractable" in text


def test_names_are_taken_for_losses():
    assert describe("jaccard", [1, 0]) == describe(Jaccard(), [1, 0])
    with pytest.raises(ValueError, match="there is no loss 'jacard'; use"):
        describe("jacard", [1, 0])
    with pytest.raises(TypeError, match="loss must be a loss or its name"):
        describe(3, [1, 0])
    with pytest.raises(Refusal, match="describe refuses MeanOverClasses"):
        describe(MeanOverClasses(Jaccard()), [0, 1])


@pytest.mark.slow
@pytest.mark.draw(3)
@pytest.mark.parametrize("p", [1, 4, 7])
def test_verdicts_agree_with_the_surrogates_themselves(p):
    for loss in variety(p):
        for y in (np.zeros(p), np.ones(p), np.arange(p) % 2):
            said = all_verdicts(loss, y)
            for name, surrogate in (("margin", MarginRescaling), ("slack", SlackRescaling), ("ramp", Ramp)):
                assert said[name].convex is (name != "ramp")
                assert said[name].tight is is_extension(surrogate(loss), y), (loss, y, name)
            if Trait.SUBMODULAR in loss.bind(Sets.single(y)).traits:
                assert said["lovasz"].tight is is_extension(LovaszHinge(loss), y)
                assert said["lovasz"].tractable
                assert said["lovasz"].convex
            else:
                assert not said["lovasz"].tractable
                with pytest.raises(Refusal):
                    LovaszHinge(loss)(y, np.zeros(p))


@pytest.mark.parametrize("p", [2, 6])
def test_the_scale_of_margin_rescaling_is_one_over_the_largest_gain(p):
    for loss in variety(p):
        y = np.arange(p) % 2
        found = examine(loss, Sets.single(y))
        if found.holds(Trait.INCREASING):
            expected = margin_scale(loss, y)
            assert (np.inf if found.steepest <= 0 else 1 / found.steepest) == pytest.approx(expected)


@pytest.mark.draw(3)
@pytest.mark.parametrize("p", [5, 18, 30])
def test_what_is_said_to_be_tractable_is_solved_exactly_by_default(p):
    y = np.arange(p) % 3 == 0
    for loss in variety(p):
        if p > 16 and isinstance(loss, SetFunctionLoss) and not loss.traits:
            continue
        said = all_verdicts(loss, y)
        for name, slack in (("margin", False), ("slack", True), ("ramp", False)):
            method = Auto().choice(loss.bind(Sets.single(y)), slack)
            assert said[name].tractable is not method.approximate, (loss, name)
            assert type(method).__name__ in said[name].words


def test_enumeration_and_random_search_agree():
    y = np.arange(17) % 2 == 0
    for loss in variety(17):
        found = examine(loss, Sets.single(y))
        assert not found.certain
        assert (loss.traits & set(SHAPES)) <= found.unviolated
    for p in (12, 16):
        for loss in (Jaccard(), Cardinality(np.sqrt(np.arange(p + 1.0))), EarlyDetection()):
            found = examine(loss, Sets.single(y[:p]))
            assert found.certain
            assert found.unviolated == traits(loss, y[:p])


@pytest.mark.slow
def test_the_random_search_is_the_same_every_time_and_small_for_large_sets():
    y = np.random.default_rng(0).random(200_000) < 0.3
    assert describe(Jaccard(), y) == describe(Jaccard(), y)
    assert "among 8 pairs" in describe(Jaccard(), y)
    assert describe(Jaccard(), y, random_state=1)


def test_losses_of_a_ranking_have_one_surrogate():
    text = describe(RocArea(), LARGE)
    assert "reads the order of scores, not a set of mistakes, and has no traits" in text
    assert "lovasz  refused: it reads a ranking" in text
    assert "margin  convex; tractable: WorstRanking" in text
    assert "slack   refused: it ranks, and has no set of mistakes" in text
    assert "ramp    not convex; tractable: WorstRanking" in text


def test_a_given_number_of_predicted_positives_has_margin_rescaling():
    text = describe(PrecisionAtK(2), LARGE)
    assert "margin  convex; tractable: CountSearch" in text
    assert "slack   refused: the truth is not one of the labelings it takes" in text
    assert "slack   convex; tractable: CountSearch" in describe(BreakEven(), LARGE)


def test_one_decision_is_enough():
    assert "1 decision, 0 of them positive." in describe(Jaccard(), [0])
    assert "  modular       yes" in describe(ZeroOne(), [1])


def test_refuses_what_is_no_ground_truth():
    with pytest.raises(ValueError, match="y_true must hold labels 0 and 1"):
        describe(Jaccard(), [0, 2])
    with pytest.raises(ValueError, match="fits sets of 3 decisions"):
        describe(Cardinality([0, 1, 2, 3]), [0, 1])


def test_no_name_of_the_front_door_is_a_module_too():
    # Importing a submodule binds its name in the package, and would put a module in the place of a function.
    assert not [name for name in setwise.__all__ if find_spec(f"setwise.{name}")]
    assert setwise.describe("jaccard", [1, 0]) == setwise.describe("jaccard", [1, 0])


@pytest.mark.slow
@pytest.mark.draw(3)
@pytest.mark.parametrize("p", [50, 500, 60_000])
def test_no_promise_is_proposed_that_a_first_few_mistakes_break(p):
    y = np.arange(p) % 3 == 0
    capped = CountFunctionLoss(lambda fn, fp: np.minimum(5 * fn + fp, 20))
    assert "say so: promises=[Trait.INCREASING, Trait.SUBMODULAR]." in describe(capped, y)
    if p <= 500:
        capped_too = SetFunctionLoss(lambda y, wrong: float(min(wrong.sum() + 4 * (wrong & y).sum(), 20)))
        assert "say so: promises=[Trait.INCREASING, Trait.SUBMODULAR]." in describe(capped_too, y)
