"""The answer in words, for made-up figures."""

import re
from dataclasses import replace

import numpy as np
import pytest

from compare.answers import FLAT, OTHER, PLAIN, PROBLEM, REFERENCE, made_up
from setwise.compare.answer import Recommendation
from setwise.compare.plan import NamedLoss
from setwise.compare.report import section
from setwise.compare.sentences import WAYS, details, headline, refusals, table, way, what_to_do
from setwise.compare.text import figure, listed, seconds_text, signed, threshold_text
from setwise.estimators.selection.floors import FlooredThreshold
from setwise.losses import EarlyDetection, FBeta, RocArea

STAYED = Recommendation(REFERENCE, 0.1, 0.27, flat=FLAT, coefficients={"age": 1.5, "sex": -2.0}, code="model.fit(X, y)")


def test_a_clear_gain_says_change():
    found = made_up()
    assert found.changes
    words = headline(found)
    assert list(words) == ["WHAT TO DO", "HOW MUCH", "HOW SURE", "WHY"]
    assert words["WHAT TO DO"] == [
        "Change to boosted trees with a tuned threshold: a row is positive where its probability is at least 0.27."
    ]
    assert words["HOW MUCH"] == [
        "F1 .600 instead of .500 (higher is better), the mean of what 3 folds chose on rows that the choice "
        "did not see."
    ]
    low, high = found.gain.interval()
    assert words["HOW SURE"] == [
        "Among 3 ways the folds chose boosted trees with a tuned threshold (3 of 3).",
        "This choice gains +.100 over logistic regression with a tuned threshold (95 % interval "
        f"{signed(low)} to {signed(high)}).",
    ]
    assert [line[:5] for line in words["WHY"]] == ["+.100", "+.100", "+.000"]


def test_the_parts_add_up_to_the_gain_over_plain_logistic_regression():
    found = made_up(
        reference=(0.5, 0.4, 0.3), plain=(0.6, 0.7, 0.2), other=(0.1, 0.5, 0.2), choices=(OTHER, REFERENCE, OTHER)
    )
    plain = found.row(PLAIN).outer
    assert sum(part.mean for part in found.parts.values()) == pytest.approx((plain - found.own).mean())


def test_what_is_not_clear_says_stay_and_names_the_best_other_way_by_its_inner_loss():
    found = made_up(other=(0.4, 0.6, 0.45), choices=(OTHER, REFERENCE, OTHER), winner=STAYED)
    assert not found.changes
    low, high = found.paired(found.reference.outer, found.row(OTHER).outer).interval()
    half = figure(max(np.diff(found.gain.interval())[0], high - low) / 2)
    assert what_to_do(found) == [
        "Stay with logistic regression; move its threshold to 0.27.",
        "No other way beats it clearly: the best by the training rows, boosted trees with a tuned threshold, gains "
        f"+.017 (95 % interval {signed(low)} to {signed(high)}). On {len(found.problem.y)} rows a gain below {half} "
        "cannot be shown.",
    ]
    assert headline(found)["HOW MUCH"] == [
        "F1 .500 (higher is better), the mean of 3 folds on rows that the choice did not see."
    ]
    sure = headline(found)["HOW SURE"]
    assert "boosted trees with a tuned threshold (2 of 3) and logistic" in sure[0]
    # The gain is that of the choice, which is not what is recommended.
    low, high = found.gain.interval()
    assert sure[1] == (
        "This choice gains +.043 over logistic regression with a tuned threshold (95 % interval "
        f"{signed(low)} to {signed(high)})."
    )


def test_the_usual_threshold_may_stay_where_it_is_nearly_as_good():
    wide = replace(FLAT, low=0.2, high=0.5)
    found = made_up(chosen=REFERENCE, winner=replace(STAYED, flat=wide))
    assert what_to_do(found)[0] == (
        "Stay with logistic regression; its threshold may stay at 0.5, which is at most .010 worse than the tuned 0.27."
    )
    for other in (replace(STAYED, flat=wide, probability=False), replace(STAYED, flat=replace(wide, high=0.49))):
        assert what_to_do(made_up(chosen=REFERENCE, winner=other))[0].endswith("move its threshold to 0.27.")


def test_where_every_fold_kept_the_reference_there_is_no_interval_of_nothing():
    found = made_up(other=(0.55, 0.54, 0.56), chosen=REFERENCE, winner=STAYED)
    words = headline(found)
    assert words["WHAT TO DO"][1].startswith("No other way beats it clearly: the best by the training rows, boosted")
    assert words["HOW SURE"] == ["Among 3 ways the folds chose logistic regression with a tuned threshold (3 of 3)."]
    assert [line[:26] for line in words["WHY"][1:]] == ["+.000 in every fold by the"] * 2


def test_choices_that_change_no_figure_have_no_interval_of_nothing():
    found = made_up(other=(0.5, 0.52, 0.48), choices=(OTHER, REFERENCE, OTHER), winner=STAYED)
    words = headline(found)
    assert words["HOW SURE"] == [
        "Among 3 ways the folds chose boosted trees with a tuned threshold (2 of 3) and logistic regression with a "
        "tuned threshold (1 of 3).",
        "This choice gains +.000 over logistic regression with a tuned threshold in every fold.",
    ]
    assert words["WHY"][1] == "+.000 in every fold by the base model: the chosen one instead of logistic regression."
    same = made_up(plain=(0.5, 0.52, 0.48), winner=STAYED)
    assert headline(same)["WHY"][0].startswith("+.000 in every fold by the threshold of")


def test_no_two_blank_lines_follow_each_other_where_there_are_no_details():
    text = section(made_up(winner=Recommendation(OTHER, code="model.fit(X, y)")))
    assert text.startswith("made up: F1")
    assert "\n\n\n" not in text


def test_the_smallest_gain_that_could_be_seen_is_that_of_the_interval_that_decides():
    rng = np.random.default_rng(0)
    for _ in range(200):
        shift = rng.uniform(-0.1, 0.1)
        found = made_up(other=tuple(np.array([0.5, 0.52, 0.48]) - shift + 0.03 * rng.normal(size=3)), winner=STAYED)
        if found.changes:
            assert found.gain.mean >= np.diff(found.gain.interval())[0] / 2
        elif found.chosen == OTHER:
            said = float("0" + re.search(r"a gain below (\.\d+)", what_to_do(found)[1])[1])
            assert found.gain.mean <= said + 0.0005


def test_an_interval_above_0_does_not_help_a_way_that_was_not_chosen():
    found = made_up(chosen=REFERENCE, choices=(OTHER,) * 3, winner=STAYED)
    assert not found.changes
    assert "No other way beats it clearly: the best by" in what_to_do(found)[1]


def test_a_gain_that_is_never_below_0_but_not_sure_is_no_change():
    assert not made_up(reference=(0.5, 0.5, 0.9), other=(0.5, 0.5, 0.1), winner=STAYED).changes


def test_costs_are_shown_as_costs():
    found = made_up(measured=NamedLoss("early_detection", EarlyDetection()))
    assert "early detection loss .400 instead of .500 (lower is better), the" in headline(found)["HOW MUCH"][0]
    assert ".400 ± " in table(found)


def test_a_ranking_has_an_order_in_place_of_a_threshold():
    auc = NamedLoss("auc", RocArea())
    found = made_up(measured=auc, chosen=REFERENCE, winner=Recommendation(REFERENCE, 1.0))
    assert what_to_do(found)[0] == "Stay with logistic regression; order rows by its probability."
    changed = made_up(measured=auc, winner=Recommendation(OTHER))
    assert what_to_do(changed)[0] == "Change to boosted trees, and order rows by their scores."
    assert found.measured.title == "AUC"


@pytest.mark.parametrize(("at", "says"), [(np.inf, "predict no positive"), (-np.inf, "predict every row positive")])
def test_a_threshold_beyond_all_scores_is_said_in_words(at, says):
    found = made_up(chosen=REFERENCE, winner=Recommendation(REFERENCE, 1.0, at))
    assert says in what_to_do(found)[0]
    assert "inf" not in section(found)


def test_a_threshold_for_each_label_is_named_by_the_labels():
    from setwise.compare.problem import digit_traits

    problem = digit_traits(2)
    found = made_up(
        problem=problem, winner=Recommendation(("boosted", "label_thresholds"), None, np.array([0.2, 0.034]))
    )
    assert "is at least its threshold, odd 0.20 and 5 or more 0.034." in what_to_do(found)[0]


def test_the_details_name_the_flat_range_the_constant_the_coefficients_and_the_file():
    found = made_up(chosen=REFERENCE, winner=STAYED, saved="m.skops", notes=("Something is left out.",))
    assert details(found) == [
        "From the threshold 0.20 to 0.30, F1 is at most .010 worse, out of fold on all rows.",
        "Largest coefficients, for features of standard deviation 1: sex -2.00, age +1.50.",
        "Saved in m.skops. Next: setwise predict m.skops new.csv --out labels.csv",
        "Something is left out.",
    ]


def test_what_was_left_out_is_named_by_its_title():
    found = made_up()

    def left_out(strategy, refusal, found=found):
        rows = [replace(found.rows[0], base=base, strategy=strategy, refusal=refusal) for base in ("linear", "boosted")]
        return refusals(replace(found, rows=(*found.rows, *rows)))

    assert left_out("decision", "decision refuses so many rows.") == [
        "Left out: least expected loss, not for so many rows."
    ]
    assert left_out("ramp", "ramp refuses y of shape (n,) without columns of X.") == [
        "Left out: ramp on top, because it needs a dense table of numbers without too many columns."
    ]
    # What is made for other kinds of data is not missed.
    for strategy in ("gfm", "label_thresholds", "stack"):
        assert not left_out(strategy, f"{strategy} refuses y of shape (n,).")
    grouped = replace(found, problem=replace(PROBLEM, groups=np.arange(4)))
    assert left_out("stack", "stack refuses it.", grouped)


@pytest.mark.parametrize(
    ("average", "says"),
    [
        ("samples", "Each of the 1,797 rows is a set of 2 labels."),
        ("macro", "Each of the 2 labels is a set of 1,797 rows."),
        ("micro", "All 2 labels of the 1,797 rows are judged together, as one set."),
    ],
)
def test_a_label_matrix_is_described_by_its_average(average, says):
    from setwise.compare.problem import digit_traits

    winner = Recommendation(("boosted", "label_thresholds"), None, np.array([0.2, 0.034]))
    text = section(made_up(problem=digit_traits(2), measured=NamedLoss("f1", FBeta(), average), winner=winner))
    assert says in text


def test_the_table_marks_what_is_recommended_and_nothing_else():
    found = made_up()
    lines = table(found).splitlines()
    assert lines[0].split() == ["logistic", "regression", "boosted", "trees"]
    assert sum(line.count("*") for line in lines) == 1
    assert "*" in next(line for line in lines if line.startswith("tuned threshold"))


def test_the_section_answers_first():
    text = section(made_up())
    places = [
        text.index(title) for title in ("WHAT TO DO", "HOW MUCH", "HOW SURE", "WHY", "± standard error", "From the")
    ]
    assert places == sorted(places)
    assert max(map(len, text.splitlines())) <= 120


def test_every_strategy_has_words():
    for kind in (*WAYS.values(), FlooredThreshold):
        assert all((kind.title, kind.phrase, kind.explanation)), kind
        # Each row may be the only one of a table.
        assert "the same" not in kind.explanation + kind.explanation_of_matrices
    assert way(("forest", "threshold")) == "random forest with a tuned threshold"


@pytest.mark.parametrize(
    ("value", "plain", "difference"),
    [(0.4824, ".482", "+.482"), (-0.0062, "-.006", "-.006"), (1.25, "1.250", "+1.250"), (0.0, ".000", "+.000"),
     (-1e-9, "-.000", "+.000"), (10.2, "10.2", "+10.2"), (-1234.5, "-1,234", "-1,234"), (np.nan, "-", "-")],
)  # fmt: skip
def test_figures(value, plain, difference):
    assert figure(value) == plain
    assert signed(value) == difference


def test_texts_of_thresholds_lists_and_times():
    assert [threshold_text(t) for t in (0.5, 0.034, 12.345, 0.2651)] == ["0.50", "0.034", "12", "0.27"]
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert [seconds_text(s) for s in (3, 44, 300)] == ["a few seconds", "about 40 seconds", "about 5 minutes"]
