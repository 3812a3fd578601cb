"""The answer in words, for made-up figures."""

import re
from dataclasses import replace

import numpy as np
import pytest

from compare.answers import FLAT, OTHER, PLAIN, PROBLEM, REFERENCE, made_up
from setwise.compare.answer import BaseCurve, FloorReport, OtherRowsReport, Recommendation
from setwise.compare.floor_sentences import price
from setwise.compare.plan import BASES, COSTS, NamedLoss
from setwise.compare.problem import Finding, Origin
from setwise.compare.report import section
from setwise.compare.sentences import (
    WAYS,
    better,
    comparison,
    details,
    figures,
    headline,
    number,
    refusals,
    table,
    verdict,
    warnings,
    way,
)
from setwise.compare.text import bar, between, figure, listed, seconds_text, short, signed, threshold_text
from setwise.estimators.selection.floors import FlooredThreshold, FloorShares
from setwise.losses import EarlyDetection, FBeta, RocArea
from setwise.losses.row_costs import Place, RowCosts

STAYED = Recommendation(REFERENCE, 0.1, 0.27, flat=FLAT, coefficients={"age": 1.5, "sex": -2.0}, code="model.fit(X, y)")


def test_a_clear_gain_says_change():
    found = made_up()
    assert found.changes
    assert verdict(found) == "Change to boosted trees with the threshold 0.27."
    assert number(found) == ("F1 .600", "instead of .500 (higher is better)")
    gain, differences, sentence = comparison(found)
    assert (gain.mean, *differences) == pytest.approx((0.1, 0.1, 0.11, 0.09))
    interval = between(*found.gain.interval())
    said = f".100 better than logistic regression with a tuned threshold (95 % interval {interval})."
    assert sentence == f"That is {said}"
    assert figures(found) == [
        "A row is positive at a probability of 0.27 or more. From 0.20 to 0.30 F1 is at most .010 worse."
    ]
    words = headline(found)
    assert list(words) == ["HOW SURE", "WHY"]
    assert words["HOW SURE"] == [
        "Of 3 pairs of a model and a rule, the folds chose boosted trees with a tuned threshold (3 of 3).",
        f"This choice is {said}",
    ]
    assert [line.partition(": ")[2].partition(" (")[0] for line in words["WHY"]] == [
        ".100 better in every fold.",
        ".100 better",
        "no better in every fold.",
    ]


def test_the_parts_add_up_to_the_gain_over_plain_logistic_regression():
    found = made_up(
        reference=(0.5, 0.4, 0.3), plain=(0.6, 0.7, 0.2), other=(0.1, 0.5, 0.2), choices=(OTHER, REFERENCE, OTHER)
    )
    plain = found.row(PLAIN).outer
    assert sum(part.mean for part in found.parts.values()) == pytest.approx((plain - found.own).mean())


def test_what_is_not_clear_says_stay_and_names_the_best_other_one_by_its_inner_loss():
    found = made_up(plain=(0.51, 0.5, 0.46), other=(0.4, 0.6, 0.45), choices=(OTHER, REFERENCE, OTHER), winner=STAYED)
    assert not found.changes
    low, high = found.paired(found.reference.outer, found.row(OTHER).outer).interval()
    half = figure(max(np.diff(found.gain.interval())[0], high - low) / 2)
    assert verdict(found) == "Stay with logistic regression. Nothing we tried is clearly better."
    assert number(found) == ("F1 .500", "(higher is better)")
    best = f"boosted trees with a tuned threshold, is .017 better (95 % interval {between(low, high)})."
    assert comparison(found)[2] == f"The best alternative, {best[:-1]}, which may be chance."
    sure = headline(found)["HOW SURE"]
    assert "boosted trees with a tuned threshold (2 of 3) and logistic" in sure[0]
    # The gain is that of the choice, which is not what is recommended.
    assert sure[1:] == [
        "This choice is .043 better than logistic regression with a tuned threshold (95 % interval "
        f"{between(*found.gain.interval())}).",
        f"The best alternative on the training rows, {best}",
        f"On {len(found.problem.y)} rows a gain below {half} cannot be shown.",
    ]


def test_a_threshold_that_gains_is_moved_and_its_gain_is_shown():
    found = made_up(chosen=REFERENCE, winner=STAYED)
    assert verdict(found) == "Stay with logistic regression, but move its threshold to 0.27."
    assert number(found) == ("F1 .500", "instead of .400 (higher is better)")
    gain, differences, sentence = comparison(found)
    assert (gain.mean, *differences) == pytest.approx([0.1] * 4)
    assert sentence == "That is .100 better than at 0.5 in every fold."


def test_an_alternative_that_is_ahead_but_not_clearly_is_on_the_first_screen():
    for other, shown in (((0.45, 0.4, 0.47), True), ((0.4, 0.41, 0.39), False), ((0.3, 0.7, 0.48), False)):
        found = made_up(other=other, chosen=REFERENCE, winner=STAYED)
        gain = found.paired(found.reference.outer, found.row(OTHER).outer)
        said = f"Ahead, but not clearly: boosted trees with a tuned threshold, {better(gain)}."
        assert (said in figures(found)) == (said in " ".join(section(found).split())) == shown
    assert not any(line.startswith("Ahead") for line in figures(made_up()))


def test_hardly_a_mistake_is_suspicious():
    truth = np.arange(400) % 4 == 0
    problem = replace(PROBLEM, X=np.zeros((400, 2)), y=truth.astype(int)[:, None], groups=None)
    for wrong, said in ((0, True), (2, True), (3, False)):
        labels = truth.copy()
        labels[:wrong] = ~labels[:wrong]
        found = made_up(problem=problem, chosen=REFERENCE, winner=replace(STAYED, labels=labels[:, None]))
        suspicion = "Hardly a mistake out of fold. Check that no column is known only after the label."
        assert (suspicion in warnings(found)) == said
        first = "Check the data first (see below); then stay with logistic regression."
        assert (verdict(found) == first) == said
    assert not any("mistake" in line for line in warnings(made_up(measured=NamedLoss("auc", RocArea()))))


def test_ways_without_a_gain_were_tried():
    found = made_up(plain=(0.4, 0.4, 0.4), other=(0.5, 0.52, 0.48), chosen=REFERENCE, winner=STAYED)
    assert found.best_other is None
    assert verdict(found) == "Stay with logistic regression. Nothing we tried is clearly better."


def test_in_a_small_table_the_best_alternative_stays():
    rows = (*made_up().rows[:2], *(replace(row, loss=0.4 - 0.01 * k) for k, row in enumerate(many()[2:6])))
    found = made_up(chosen=REFERENCE, winner=STAYED)
    found = replace(found, rows=tuple(replace(row, base="linear") for row in rows))
    title = WAYS[found.best_other.strategy].title
    lines = [line for line in table(found, 7).splitlines() if line]
    assert any(line.startswith(title) for line in lines)
    assert len(lines) == 1 + 4


def test_nothing_else_may_have_been_tried():
    found = made_up(chosen=REFERENCE, winner=replace(STAYED, flat=replace(FLAT, high=0.6)))
    alone = replace(found, rows=found.rows[:2])
    assert verdict(alone) == "Stay with logistic regression. Nothing else was tried."
    assert comparison(alone) is None
    assert "worse" not in section(alone).splitlines()[5]


def test_the_usual_threshold_may_stay_where_it_is_nearly_as_good():
    wide, nothing = replace(FLAT, low=0.2, high=0.5), "Nothing we tried is clearly better."
    assert verdict(made_up(chosen=REFERENCE, winner=replace(STAYED, flat=wide))).endswith(nothing)
    for other in (replace(STAYED, flat=wide, probability=False), replace(STAYED, flat=replace(wide, high=0.49))):
        assert verdict(made_up(chosen=REFERENCE, winner=other)).endswith("but move its threshold to 0.27.")
        worse = made_up(plain=(0.4, 0.4, 0.4), chosen=REFERENCE, winner=other)
        assert verdict(worse).endswith(nothing)


def test_where_every_fold_kept_the_reference_there_is_no_interval_of_nothing():
    found = made_up(other=(0.55, 0.54, 0.56), chosen=REFERENCE, winner=STAYED)
    words = headline(found)
    assert words["HOW SURE"][0].endswith("the folds chose logistic regression with a tuned threshold (3 of 3).")
    assert words["HOW SURE"][1].startswith(
        "The best alternative on the training rows, boosted trees with a tuned threshold, is"
    )
    assert [line.partition(": ")[2] for line in words["WHY"][1:]] == ["no better in every fold."] * 2


def test_choices_that_change_no_figure_have_no_interval_of_nothing():
    found = made_up(other=(0.5, 0.52, 0.48), choices=(OTHER, REFERENCE, OTHER), winner=STAYED)
    words = headline(found)
    assert words["HOW SURE"] == [
        "Of 3 pairs of a model and a rule, the folds chose boosted trees with a tuned threshold (2 of 3) and logistic "
        "regression with a tuned threshold (1 of 3).",
        "This choice is no better than logistic regression with a tuned threshold in every fold.",
    ]
    assert words["WHY"][1] == "The chosen model instead of logistic regression: no better in every fold."
    same = made_up(plain=(0.5, 0.52, 0.48), winner=STAYED)
    assert headline(same)["WHY"][0].endswith("for logistic regression: no better in every fold.")


def test_no_two_blank_lines_follow_each_other_where_there_are_no_details():
    text = section(made_up(winner=Recommendation(OTHER, code="model.fit(X, y)")), verbose=True)
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
            said = float("0" + re.search(r"a gain below (\.\d+)", headline(found)["HOW SURE"][-1])[1])
            assert found.gain.mean <= said + 0.0005


def test_an_interval_above_0_does_not_help_a_way_that_was_not_chosen():
    found = made_up(chosen=REFERENCE, choices=(OTHER,) * 3, winner=STAYED)
    assert not found.changes
    assert verdict(found).startswith("Stay with")


def test_a_gain_that_is_never_below_0_but_not_sure_is_no_change():
    assert not made_up(reference=(0.5, 0.5, 0.9), other=(0.5, 0.5, 0.1), winner=STAYED).changes


def test_costs_are_shown_as_costs():
    found = made_up(measured=NamedLoss("early_detection", EarlyDetection()))
    assert number(found) == ("early detection loss .400", "instead of .500 (lower is better)")
    assert ".400 ± " in table(found)


def test_a_ranking_has_an_order_in_place_of_a_threshold():
    auc = NamedLoss("auc", RocArea())
    found = made_up(measured=auc, chosen=REFERENCE, winner=Recommendation(REFERENCE, 1.0))
    assert verdict(found) == "Stay with logistic regression. Nothing we tried is clearly better."
    changed = made_up(
        measured=auc, chosen=("boosted", "order"), choices=(OTHER,) * 3, winner=Recommendation(("boosted", "order"))
    )
    assert verdict(changed) == "Change to boosted trees in the order of its scores."
    assert found.measured.title == "AUC"


@pytest.mark.parametrize(
    ("at", "says", "called"),
    [(np.inf, "predict no positive", "No row"), (-np.inf, "predict every row positive", "Every row")],
)
def test_a_threshold_beyond_all_scores_is_said_in_words(at, says, called):
    found = made_up(chosen=REFERENCE, winner=Recommendation(REFERENCE, 1.0, at))
    assert verdict(found) == f"Stay with logistic regression, but {says}."
    assert figures(found)[-1:] == [f"{called} is called positive."]
    assert "inf" not in section(found)


def test_a_threshold_for_each_label_is_named_by_the_labels():
    from setwise.compare.problem import digit_traits

    problem = digit_traits(2)
    found = made_up(
        problem=problem, winner=Recommendation(("boosted", "label_thresholds"), None, np.array([0.2, 0.034]))
    )
    assert figures(found) == [
        "A label is positive at a probability of at least its threshold: odd 0.20 and 5 or more 0.034."
    ]


def test_the_details_name_the_flat_range_the_constant_the_coefficients_and_the_file():
    found = made_up(chosen=REFERENCE, winner=STAYED, saved="m.skops", notes=("Something is left out.",))
    assert figures(found) == [
        "On 4 rows a gain below .039 cannot be shown.",
        "Saved in m.skops. Next: setwise predict m.skops new.csv --out labels.csv",
        "A row is positive at a probability of 0.27 or more. From 0.20 to 0.30 F1 is at most .010 worse.",
    ]
    assert details(found) == [
        "Largest coefficients, for features of standard deviation 1: sex -2.00, age +1.50.",
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


def test_recall_and_precision_of_all_base_models_stand_below_the_tuned_threshold():
    found = made_up(
        curves={
            "linear": BaseCurve(np.zeros((3, 1)), np.array([0.25, 0.5, 0.1])),
            "boosted": BaseCurve(np.zeros((3, 1))),
        }
    )
    lines = [line.split() for line in table(found).splitlines()]
    assert lines[2:4] == [["its", "recall", ".250", "-"], ["its", "precision", ".500", "-"]]


def test_the_confusion_matrix_is_that_of_a_thousand_rows_by_their_weights():
    problem = replace(PROBLEM, weights=np.array([1.0, 2.0, 3.0, 4.0]))
    found = made_up(
        problem=problem, winner=Recommendation(OTHER, None, 0.5, labels=np.array([True, True, False, False]))
    )
    said = "Of 1,000 rows 600 are positive: 200 are found and 400 missed. 100 others are called positive."
    assert said in figures(found)


def test_the_error_of_probabilities_is_the_mean_of_all_parts():
    bins = np.array([[0.1, 0.6], [0.2, 0.9], [0.75, 0.25]])
    found = made_up(curves={"boosted": BaseCurve(np.zeros((3, 1)), None, bins)})
    assert figures(found)[-1] == "Probabilities of boosted trees are off by .150 on average."


def test_the_bar_has_its_interval_its_mean_and_0():
    assert bar(0.5, 0.25, 1.0) == f"worse  |{' ' * 14}[{'-' * 14}o{'-' * 29}]  better  (|: no difference)"
    assert bar(0.5, -1.0, 1.0) == f"worse  [{'-' * 29}|{'-' * 14}o{'-' * 14}]  better  (|: no difference)"
    assert bar(-0.5, -1.0, -0.5) == f"worse  [{'-' * 29}o{' ' * 29}|  better  (|: no difference)"
    assert bar(0.0, 0.0, 0.0) == "worse  o  better  (|: no difference)"


def finding(kind, action, sentence):
    return Finding(kind, (), 1, action, sentence)


INSTALLED = [name for name, base in BASES.items() if base.is_installed]
ORIGIN = Origin("folder/t.csv", "ill", True, 4000, "as many as --memory 250MB has room for", ids=("id",))
FINDINGS = (
    finding("label", "left out", "Column 'x' is the label in other words. It is left out (--keep-column x keeps it)."),
    finding("twins", "kept together", "2 of 4 rows (50.0 %) are equal to another one. Folds keep them together."),
    finding("sentinel", "none", f"Column {'y' * 90!r} holds -999 in 2 rows, far from its other numbers. If so."),
)
NOTES = (
    "Left out to keep to the time: CatBoost. All of it takes 3 minutes.",
    "3 lines of t.csv that begin with # are left out.",
)


def many():
    """More base models and rules than there are lines for."""
    found = made_up()
    keys = [(base, name) for base in INSTALLED for name in WAYS if name != "order"]
    new = [replace(found.rows[2], base=base, strategy=name) for base, name in keys]
    kept = [row for row in new if row.key not in (REFERENCE, PLAIN)]
    return (*found.rows[:2], *kept)


def floored(able=True, confidence=None, alarms=None):
    floor = FlooredThreshold(0.5, confidence=confidence, alarms=alarms)
    shares = {key: FloorShares(300, 1200, 400, 4000, able or key != REFERENCE) for key in (REFERENCE, OTHER, PLAIN)}
    kept = frozenset(key for key in shares if shares[key].kept)
    return FloorReport(floor, shares, (shares,) * 3, kept, shares)


CURVE = BaseCurve(
    np.array([[0.5, 0.75, 0.9, 1.0], [0.4, 0.25, 0.2, 0.1], [0.125, 0.3, 0.45, 1.0]]),
    np.full(3, 0.25),
    np.full((3, 10), 0.1),
)


def answers():
    """Answers of all kinds, each of them also with all that can be said besides."""
    labels = np.array([True, True, False, False])
    changed = Recommendation(OTHER, None, 0.27, flat=FLAT, labels=labels)
    stayed = replace(STAYED, labels=labels)
    wide = replace(stayed, flat=replace(FLAT, high=0.6))
    matrix = replace(PROBLEM, y=np.eye(4, 3, dtype=int), classes=("first", "second", "third"))
    kinds = {
        "change": {"winner": changed},
        "stay": {"chosen": REFERENCE, "winner": wide},
        "only the threshold": {"chosen": REFERENCE, "winner": stayed},
        "order": {
            "measured": NamedLoss("auc", RocArea()),
            "chosen": REFERENCE,
            "winner": Recommendation(REFERENCE, 1.0),
        },
        "costs": {"measured": NamedLoss(COSTS, RowCosts(fp=5.0, fn=Place("x", 0))), "winner": changed},
        "label matrix": {
            "problem": matrix,
            "winner": Recommendation(
                ("boosted", "label_thresholds"), None, np.full(3, 0.2), labels=np.zeros((4, 3), bool)
            ),
        },
        "floor met": {"floored": floored(), "winner": changed},
        "limit": {"floored": floored(alarms=0.4), "winner": changed},
        "floor with confidence, stay": {"floored": floored(confidence=0.95), "chosen": REFERENCE, "winner": stayed},
        "floor not met by the reference": {"floored": floored(able=False), "winner": changed},
    }
    for key in {(base, name) for base in INSTALLED for name in WAYS if name != "order"} - {REFERENCE, PLAIN}:
        kinds[f"change to {key}"] = {"chosen": key, "winner": Recommendation(key, weight=2.0)}
    for name, kind in kinds.items():
        plain = made_up(**kind, curves={"linear": CURVE, "boosted": CURVE})
        if plain.floored is not None:
            plain = replace(plain, plan=replace(plain.plan, floor=plain.floored.floor))
        if name.startswith("change to"):
            plain = replace(plain, rows=many())
        yield name, plain
        problem = replace(
            plain.problem,
            origin=ORIGIN,
            findings=FINDINGS * 3,
            notes=NOTES[1:] * 3,
            groups=None if plain.problem.many else np.arange(4),
        )
        others = OtherRowsReport(4000, dict.fromkeys((REFERENCE, plain.winner.key), 0.5))
        rows = tuple(replace(row, test=0.5) for row in many()) if not plain.measured.orders else plain.rows
        more = {"problem": problem, "others": others, "rows": rows, "notes": NOTES, "saved": f"{'long' * 30}.skops"}
        yield f"{name} and more", replace(plain, **more, test_differs=("Column 'x' is larger.",) * 9, repeated=False)


def test_the_first_screen_holds_what_is_needed():
    """The verdict has at most 12 words, the text 22 lines; number, bar and warnings are always there."""
    for name, found in answers():
        text = section(found)
        lines, shown = text.splitlines(), " ".join(text.split())
        assert len(verdict(found).split()) <= 12, name
        assert len(lines) <= 22, name
        assert lines[2] == verdict(found), name
        assert lines[4] == " ".join(number(found)), name
        drawn = comparison(found)
        assert (drawn is None) == (not found.stands), name
        if drawn is not None:
            assert lines[5] == bar(drawn[0].mean, *drawn[0].interval()), name
            assert between(*drawn[0].interval()) in shown or "in every fold" in shown, name
        said = [line for line in lines if line.startswith("! ")]
        assert len(said) == min(len(warnings(found)), 5), name
        assert all(len(line) <= 100 for line in said), name
        assert table(found).splitlines()[0].split() in [line.split() for line in lines], name
        assert ("*" in text) == ("*" in table(found)), name
        assert "gains" not in text, name
        whole = " ".join(section(found, verbose=True).split())
        assert all(" ".join(one.split()) in whole for one in [*warnings(found)[:1], *figures(found)]), name
        assert all(" ".join(one.split()) in whole for told in headline(found).values() for one in told), name


def test_warnings_say_what_matters_for_trust_in_short():
    problem = replace(PROBLEM, origin=ORIGIN, findings=FINDINGS, notes=NOTES[1:])
    found = made_up(
        problem=problem, notes=NOTES[:1], repeated=False, test_differs=("Column 'x' is larger.", "So is 'y'.")
    )
    assert warnings(found) == [
        "Column 'x' is the label in other words (left out).",
        "2 of 4 rows (50.0 %) are equal to another one (kept together).",
        f"Column {'y' * 90!r} holds -999 in 2 rows, far from its other numbers.",
        "The figures may be too good: there was no time to repeat the choice in enough outer folds.",
        "3 lines of t.csv that begin with # are left out.",
        "Left out to keep to the time: CatBoost.",
        "Column 'x' is larger.",
        (few := "Copies with changes are not looked for below 200 rows, or 25 of a label."),
    ]
    enough = replace(PROBLEM, X=np.tile(PROBLEM.X, (100, 1)), y=np.tile(PROBLEM.y, 100))
    stays = {"reference": (0.5, 0.5, 0.9), "other": (0.5, 0.5, 0.1), "winner": STAYED}
    for less in (stays, {"problem": replace(PROBLEM, groups=PROBLEM.y)}, {"problem": enough}):
        assert few not in warnings(made_up(**less))
    more = replace(found, problem=replace(problem, findings=FINDINGS[:1] * 3))
    assert warnings(more)[0] == "Column 'x' is the label in other words (left out), and 2 more."
    times = tuple(f"Column {name!r} is read as numbers. If 9 is a time, write --kind {name}=date." for name in "ab")
    assert warnings(made_up(problem=replace(PROBLEM, notes=times[:1])))[0] == times[0]
    several = f"(1 of 2) {times[0]}"
    assert warnings(made_up(problem=replace(PROBLEM, notes=times)))[0] == several


@pytest.mark.parametrize(
    ("begin", "asks", "end"),
    [
        ("is read as text: it holds '100.08*' among its numbers.", "If that is a gap, write --missing '100.08*'", ""),
        (
            "is read as text: it holds 'k.A.', 'late'.",
            "If these are gaps, write --missing 'k.A.'",
            " --missing late soon",
        ),
        (
            "is read as text: it holds words like '5'.",
            "If these are numbers, write them as 1234.5,",
            " 2024-12-31, 17:05",
        ),
        ("holds -999 in 2 rows, far from its other numbers.", "If it stands for a gap, write --missing -999", ""),
        ("numbers the rows with another.", "If they are not features, leave them out: --drop v", " --drop line"),
        ("", "Labels are known (write --group COLUMN or --similar-apart):", f" without them {'they fall ' * 9}"),
        ("", "If 9 is a time, write --kind v=date", ""),
    ],
)
def test_what_to_write_is_cut_last(begin, asks, end):
    text = f"Column 'v' {begin} {asks}{end}."
    shown = short(text)
    assert len(shown) <= 100
    assert asks in shown
    assert "Column 'v'" in shown
    assert ("..." in shown) == (len(text) > 100)
    if " --" in asks and begin:
        assert asks in section(made_up(problem=replace(PROBLEM, findings=(finding("label", "none", text),))))


def test_the_price_of_more_recall_is_that_of_the_threshold_with_the_fewest_alarms():
    found = made_up(floored=floored(), winner=replace(STAYED, flat=FLAT), curves={"linear": CURVE})
    # 300 of 400 are found by 1,200 of 4,000 alarms; a recall of .85 takes the threshold with 45 % alarms.
    assert price(found, found.floored) == [
        "25 of 100 alarms are right; the next 10 points of recall would cost 150 more alarms per 1,000 rows."
    ]


def test_the_section_answers_first():
    text = section(made_up(), verbose=True)
    places = [
        text.index(title) for title in ("Change to", "F1 .600", "worse", "A row", "± standard error", "HOW SURE", "WHY")
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


@pytest.mark.parametrize(("at", "by"), [(0.27, "threshold"), (None, "rule")])
def test_costs_of_cells_are_said_to_come_from_one_rule(at, by):
    rows = replace(PROBLEM, y=np.array([0, 1, 0, 1]))
    winner = Recommendation(OTHER, None, at, flat=FLAT, code="", labels=np.array([True, True, False, False]))
    measured = NamedLoss(COSTS, RowCosts(fp=5.0, fn=np.array([1.0, 2.0, 3.0, 4.0])))
    found = made_up(problem=rows, measured=measured, winner=winner)
    said = f"Of 1,000 rows, with one {by} for all folds: {figure(250)} alarms cost {figure(1250)} and"
    assert any(one == f"{said} {figure(250)} misses cost {figure(1000)}." for one in figures(found))
