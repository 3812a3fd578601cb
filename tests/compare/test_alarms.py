"""Comparisons under a limit of alarms."""

from dataclasses import replace

import numpy as np
import pytest

from compare.test_floors import PRECISION, rare
from compare.test_run import F1, FAST
from setwise.cli import options_parser
from setwise.compare import FlooredThreshold, NamedLoss, Problem, compare
from setwise.compare.command import ComparisonTask, floor_of, plan_of, unfit, usual_loss
from setwise.compare.floor_sentences import chance_of_less, interval, lower
from setwise.compare.plan import COSTS
from setwise.compare.problem import Origin, digit_traits
from setwise.compare.sentences import figures, heading, headline, verdict, warnings
from setwise.compare.text import figure
from setwise.losses import RowCosts, Tversky
from setwise.losses.row_costs import Place

RECALL = NamedLoss("tversky:1e-9:1", Tversky(1e-9, 1.0))


def options(*words):
    return options_parser().parse_args(["compare", *map(str, words)])


@pytest.fixture(scope="module")
def limited():
    plan = replace(FAST, grid=(1.0,), floor=FlooredThreshold(alarms=0.06))
    return compare(rare(50, shift=1.2), [RECALL], plan)[0]


def test_the_answer_says_the_share_of_alarms_with_recall_and_precision(limited):
    key, floored = limited.winner.key, limited.floored
    reached, said = floored.all_rows[key], figures(limited)
    assert 0 < reached.called <= 30
    low, high = interval(500 - reached.called, 500)
    assert said[0].startswith(
        f"Expect a share of alarms of {reached.called / 500:.3g} (95 % interval {1 - high:.3g} to {1 - low:.3g}), "
        f"recall {figure(reached.recall)} ("
    )
    assert said[1] == (
        f"Of 500 rows {reached.called} are called positive: {reached.found} of the 50 positive ones, and "
        f"{reached.called - reached.found} false alarms."
    )
    told = " ".join(headline(limited)["FLOOR"])
    folds = [fold[key] for fold in floored.folds]
    kept = sum(one.called / one.rows <= 0.06 for one in folds)
    mean = np.mean([one.called / one.rows for one in folds])
    assert "The threshold keeps a share of alarms of at most 0.06 out of fold on all rows." in told
    assert f"it has a share of alarms of {mean:.3g}, recall" in told
    assert f"on average, and {kept} of 3 keep the limit of alarms." in told
    assert "the usual 0.5 " in told
    assert " worse and the limit of alarms holds." in said[3]
    fails = 100 * chance_of_less(0.94, 500 - reached.called, 500)
    assert warnings(limited) == [
        f"On new rows this limit of alarms fails in about {fails:.0f} % of the cases; see --confidence."
    ]
    assert heading(limited) == "rare: recall at a share of alarms of at most 0.06"
    assert "strategies=[FlooredThreshold(alarms=0.06)]" in limited.winner.code
    flat = limited.winner.flat
    inside = (flat.thresholds >= flat.low) & (flat.thresholds <= flat.high)
    assert inside.any()
    assert (flat.shares[2][inside] <= 0.06).all()


def test_with_confidence_the_sure_share_is_said():
    floor = FlooredThreshold(alarms=0.1, confidence=0.95)
    (found,) = compare(rare(50, shift=1.2), [RECALL], replace(FAST, grid=(1.0,), floor=floor))
    called = found.floored.all_rows[found.winner.key].called
    sure = 1.0 - lower(500 - called, 500, 0.95)
    assert sure <= 0.1
    assert f"{called / 500:.3g} (at most {sure:.3g} with confidence 0.95), recall" in figures(found)[0]
    assert not warnings(found)


def test_a_limit_and_a_floor_hold_together():
    floor = FlooredThreshold(recall=0.5, alarms=0.1)
    (found,) = compare(rare(50, shift=1.6), [PRECISION], replace(FAST, grid=(1.0,), floor=floor))
    reached = found.floored.all_rows[found.winner.key]
    assert reached.recall >= 0.5
    assert reached.called <= 50
    assert "keeps a share of alarms of at most 0.1 and a recall of at least 0.5 out of fold" in " ".join(
        headline(found)["FLOOR"]
    )
    with pytest.raises(ValueError, match=r"Nearest is .* together with a share of alarms of at most 0.02: the best"):
        compare(rare(50), [F1], replace(FAST, floor=FlooredThreshold(recall=0.5, alarms=0.02)))


def test_a_limit_without_confidence_fails_on_new_rows_as_often_as_is_said():
    # The threshold is above 190 of 200 scores, and in the worst case hardly.
    scores = np.sort(np.random.default_rng(0).random((20_000, 200)))
    worst, middle = scores[:, 189], scores[:, 189:191].mean(axis=1)
    assert chance_of_less(0.95, 190, 200) == pytest.approx(np.mean(1.0 - worst > 0.05), abs=0.01)
    assert 0.4 < np.mean(1.0 - middle > 0.05) < chance_of_less(0.95, 190, 200)
    assert chance_of_less(0.0, 0, 200) == 0.0


def test_the_picture_shows_the_limit(limited):
    pytest.importorskip("matplotlib")
    from setwise.compare.pictures import threshold

    lines = {line.get_label(): line for line in threshold(limited, limited.winner.flat).axes[0].get_lines()}
    assert lines["limit: 0.06"].get_ydata()[0] == 0.06
    assert "recall" in lines
    costs = replace(limited, measured=NamedLoss(COSTS, RowCosts(fp=5.0, fn=100.0)))
    lines = {line.get_label() for line in threshold(costs, limited.winner.flat).axes[0].get_lines()}
    assert "cost of 1,000 rows" not in lines


@pytest.fixture(scope="module")
def by_costs():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=3000), np.exp(rng.normal(3.0, 0.8, 3000))])
    y = (rng.random(3000) < 1.0 / (1.0 + np.exp(2.0 - 1.5 * X[:, 0]))).astype(int)
    problem = Problem("pay", "Payments.", X, y, code=("import numpy as np",))
    measured = NamedLoss(COSTS, RowCosts(fp=5.0, fn=Place("amount", 1)))
    plan = replace(FAST, folds=5, grid=(1.0,), strategies=("decision",), floor=FlooredThreshold(alarms=0.03))
    return problem, compare(problem, [measured], plan)[0]


def test_with_costs_rows_of_the_greatest_expected_saving_cost_less_under_the_same_limit(by_costs):
    problem, found = by_costs
    assert found.winner.key == ("linear", "decision")
    assert found.gain.interval()[0] > 0.0
    reached = found.floored.all_rows
    assert {key[1] for key in reached} == {"as_it_is", "threshold", "decision"}
    assert 85 <= reached["linear", "decision"].called <= 90
    assert verdict(found) == "Change to logistic regression decided by the least expected loss."
    assert headline(found)["FLOOR"][0] == "The rule keeps a share of alarms of at most 0.03 out of fold on all rows."
    # Folds have other numbers of rows, whose costs are all of 1,000 rows.
    assert [fold["linear", "decision"].called / 600 for fold in found.floored.folds] == pytest.approx(
        [0.03] * 5, abs=0.015
    )
    ways = "strategies=[FlooredThreshold(alarms=0.03), BayesDecision(alarms=0.03)]"
    assert ways in found.winner.code
    space = {"X": problem.X, "y": problem.y}
    exec(found.winner.code, space)
    labels = space["model"].predict(problem.X, fn_cost=problem.X[:, 1])
    assert labels.mean() == pytest.approx(0.03, abs=0.005)
    assert (labels == found.winner.labels).mean() > 0.99


def test_a_number_of_alarms_is_a_share_of_all_rows():
    problem = rare(50)
    assert floor_of(options("--alarms-at-most", 50), problem) == FlooredThreshold(alarms=0.1)
    assert floor_of(options("--alarms-at-most", 0.01), problem) == FlooredThreshold(alarms=0.01)
    assert floor_of(options("--alarms-at-most", 500), problem) == FlooredThreshold(alarms=1.0)
    drawn = replace(problem, origin=Origin("t.parquet", "y", rows=5000, drawn="as many as there is room for"))
    assert floor_of(options("--alarms-at-most", 50), drawn) == FlooredThreshold(alarms=0.01)


@pytest.mark.parametrize("given", ["0", "-3", "1.5", "501", "nan", "inf", "1e9"])
def test_what_is_no_number_of_alarms_is_refused(given):
    with pytest.raises(ValueError, match=r"--alarms-at-most must be a share .*, of which there are 500; got "):
        floor_of(options("--alarms-at-most", given), rare(50))
    # What fits no table is refused before one is read.
    if given not in ("501", "1e9"):
        with pytest.raises(ValueError, match=r"below 1, or a number of them; got "):
            floor_of(options("--alarms-at-most", given))


def test_the_usual_measure_is_the_one_that_is_not_given():
    for words, loss in (
        ((), "f1"),
        (("--alarms-at-most", 9), RECALL.name),
        (("--alarms-at-most", 9, "--recall-at-least", 0.1), PRECISION.name),
        (("--alarms-at-most", 9, "--precision-at-least", 0.1), RECALL.name),
    ):
        assert usual_loss(options(*words)) == loss


def test_a_decision_that_is_asked_for_in_vain_is_named():
    words = ("--strategies", "threshold,ramp,decision", "--alarms-at-most", 50)
    problem = Problem("pay", "Payments.", np.ones((60, 1)), np.arange(60) % 2)
    costs = NamedLoss(COSTS, RowCosts(fn=Place("amount", 0), fp=np.arange(60.0)))
    for measured, names in ((F1, "ramp and decision"), (costs, "ramp")):
        told = unfit(options(*words), plan_of(options(*words), problem), ComparisonTask(problem, (measured,)))
        assert told == [f"Left out of --strategies: {names}; a floor is kept by a threshold alone."]


def test_label_matrices_are_refused():
    with pytest.raises(ValueError, match="a limit of alarms is for one label a row; the target is a label matrix"):
        compare(digit_traits(2), [F1], replace(FAST, floor=FlooredThreshold(alarms=0.1)))
