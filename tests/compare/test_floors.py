"""Comparisons under floors of recall and precision."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import recall_score

from compare.test_run import F1, FAST, made
from setwise import MeasureClassifier
from setwise.cli import options_parser
from setwise.compare import FlooredThreshold, NamedLoss, Plan, Problem, compare
from setwise.compare.command import ComparisonTask, plan_of, unfit
from setwise.compare.floor_sentences import chance_of_less, interval
from setwise.compare.problem import digit_traits
from setwise.compare.recommendation import flat_range
from setwise.compare.sentences import comparison, figures, headline, legend, table, warnings
from setwise.compare.text import figure
from setwise.core.exceptions import Refusal
from setwise.decisions import Floor, threshold_curve
from setwise.decisions.operating_point import kept_at, nearest_threshold
from setwise.decisions.task import Task
from setwise.estimators.selection.floors import NearestThreshold
from setwise.losses import RocArea, Tversky

PRECISION = NamedLoss("tversky:1:1e-9", Tversky(1.0, 1e-9))


def rare(positives, n=500, shift=2.0):
    """Few positives, which a line finds."""
    rng = np.random.default_rng(0)
    y = (np.arange(n) < positives).astype(int)
    return Problem("rare", "Few positives.", rng.normal(size=(n, 2)) + shift * y[:, None], y)


def test_the_nearest_threshold_is_that_of_an_enumeration():
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, scores = rng.random(12) < 0.4, rng.integers(0, 6, 12).astype(float)
        y[0] = True
        floors = [Floor("recall", 0.9, 0.9), Floor("precision", 1.0)]
        found = nearest_threshold(y, scores, "f1", floors)
        short = {}
        for t in (-np.inf, *(np.unique(scores) + 0.5)):
            hit = scores >= t
            counts = np.array([(y & hit).sum(), (~y & hit).sum()], dtype=float)[:, None]
            P = float(y.sum())
            short[t] = max(f.least - f.values(*counts, P, 12 - P)[0] for f in floors)
        least = min(short.values())
        assert max(f.least - v for f, v in zip(floors, found.reached, strict=True)) == pytest.approx(least)
        best = min(
            1 - 2 * (y & (scores >= t)).sum() / (y.sum() + (scores >= t).sum())
            for t in short
            if short[t] < least + 1e-9
        )
        assert found.loss == pytest.approx(best)


@pytest.fixture(scope="module")
def small_parts():
    plan = replace(FAST, floor=FlooredThreshold(recall=0.9, confidence=0.95))
    return compare(rare(35), [PRECISION], plan)[0]


def test_the_test_parts_that_keep_the_floor_are_counted(small_parts):
    key, floored = small_parts.winner.key, small_parts.floored
    kept = sum(fold[key].recall >= 0.9 for fold in floored.folds)
    assert floored.all_rows[key].recall == 1.0
    assert f"on average, and {kept} of 3 keep the floor." in " ".join(headline(small_parts)["FLOOR"])


def test_the_printed_code_keeps_the_floor_where_a_fold_cannot(small_parts):
    problem, space = rare(35), {}
    space |= {"X": problem.X, "y": problem.y}
    exec(small_parts.winner.code, space)
    assert space["model"].best_threshold_ == small_parts.winner.threshold
    assert space["model"].predict(problem.X)[problem.y == 1].mean() > 0.9


@pytest.mark.parametrize("confidence", [None, 0.9])
def test_the_flat_range_is_that_of_an_enumeration(confidence):
    rng, floor = np.random.default_rng(1), FlooredThreshold(0.7, 0.2, confidence)
    y = rng.random(300) < 0.2
    scores = np.round(rng.normal(size=300) + y, 1)
    task = Task(y, PRECISION.loss)
    at = floor.point(scores, task).threshold
    flat = flat_range(task, scores, at, PRECISION, floor)
    cuts = threshold_curve(y, scores, PRECISION.loss)[0]
    cuts = np.sort(cuts[np.isfinite(cuts)])
    inside = (cuts >= flat.low) & (cuts <= flat.high)
    assert inside.any()

    def good(t):
        hit = scores >= t
        kept = kept_at(y, scores, floor.floors, [t])[0]
        assert not kept or recall_score(y, hit) >= 0.7
        return kept and PRECISION.loss(y, hit) <= PRECISION.loss(y, scores >= at) + 0.01 + 1e-9

    assert all(map(good, cuts[inside]))
    first, last = np.flatnonzero(inside)[[0, -1]]
    assert first == 0 or not good(cuts[first - 1])
    assert not good(cuts[last + 1])


@pytest.mark.slow
def test_the_advice_under_a_floor_keeps_it():
    problem = rare(100, shift=0.7)
    floor = FlooredThreshold(recall=0.9)
    (found,) = compare(problem, [PRECISION], replace(FAST, grid=(1.0,), floor=floor))
    flat, at = found.winner.flat, found.winner.threshold
    assert flat.low <= at <= flat.high
    (unfloored,) = compare(problem, [PRECISION], replace(FAST, grid=(1.0,)))
    assert flat.high < unfloored.winner.flat.high
    assert found.floored.all_rows[found.winner.key].recall >= 0.9
    words = headline(found)
    assert "keeps a recall of at least 0.9 out of fold" in words["FLOOR"][0]
    assert warnings(found) == ["On new rows this floor fails in about 58 % of the cases; see --confidence."]
    assert "at the usual 0.5 breaks the floor: out of fold on all rows it has recall" in words["FLOOR"][-1]
    assert "WHY" not in words
    assert any(line.endswith("worse and the floor holds.") for line in figures(found))


@pytest.mark.slow
def test_the_picture_shows_recall_precision_and_the_floor_around_the_threshold():
    pytest.importorskip("matplotlib")
    from setwise.compare.pictures import pictures, threshold

    problem = rare(100, shift=0.7)
    (found,) = compare(problem, [PRECISION], replace(FAST, grid=(1.0,), floor=FlooredThreshold(recall=0.9)))
    flat, at = found.winner.flat, found.winner.threshold
    (axes,) = threshold(found, flat).axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert list(lines)[:3] == ["recall", "floor: 0.9", "precision"]
    assert lines["floor: 0.9"].get_ydata()[0] == 0.9
    place = np.argmin(np.abs(flat.thresholds - at))
    reached = found.floored.all_rows[found.winner.key]
    shown = [lines[name].get_ydata()[place] for name in ("recall", "precision", "alarms")]
    assert shown == pytest.approx([reached.recall, reached.precision, reached.called / reached.rows], abs=0.01)
    low, high = axes.get_xlim()
    assert low < at < high < flat.thresholds[-1]
    assert list(pictures(found)) == ["threshold", "curves", "calibration"]
    text = table(found)
    assert "(" in next(line for line in text.splitlines() if line.startswith("at 0.5"))
    assert "brackets: breaks the floor" in legend(found)


def test_what_to_expect_is_said_in_shares_with_exact_intervals_and_in_rows(small_parts):
    reached = small_parts.floored.all_rows[small_parts.winner.key]
    words = figures(small_parts)[:3]
    assert interval(35, 35) == (pytest.approx(0.025 ** (1 / 35)), 1.0)
    low, high = interval(reached.found, reached.called)
    precision = f"{figure(reached.precision)} (95 % interval {figure(low)} to {figure(high)})"
    called = round(1000 * reached.called / 500)
    assert words == [
        f"Expect recall 1.000 (at least {figure(0.05 ** (1 / 35))} with confidence 0.95) and precision {precision}.",
        f"Of 1,000 rows {called} are called positive: 70 of the 70 positive ones, and {called - 70} false alarms.",
        f"{100 * reached.precision:.0f} of 100 alarms are right.",
    ]
    grouped = replace(small_parts, problem=replace(rare(35), groups=np.arange(500) // 5))
    assert "interval " not in figures(grouped)[0]


def test_the_interval_is_that_of_a_test_of_scipy():
    for right, whole in ((0, 7), (3, 7), (7, 7), (85, 400)):
        found = binomtest(right, whole).proportion_ci(0.95, "exact")
        assert interval(right, whole) == pytest.approx((found.low, found.high))


def test_a_floor_without_confidence_fails_on_new_rows_as_often_as_is_said():
    # The threshold is the highest one with a recall of at least 0.9 on 40 positives.
    rng = np.random.default_rng(0)
    scores = np.sort(rng.random((20_000, 40)))
    fails = np.mean(1.0 - scores[:, 4] < 0.9)
    assert chance_of_less(0.9, 36, 40) == pytest.approx(fails, abs=0.01)


@pytest.mark.slow
def test_a_floor_that_logistic_regression_breaks_is_kept_by_another_base_model():
    plan = Plan(3, 3, (1.0,), ("linear", "boosted"), ("threshold",), floor=FlooredThreshold(precision=0.8, recall=0.5))
    (found,) = compare(made(), [F1], plan)
    assert not found.stands
    assert found.changes
    assert found.winner.key == ("boosted", "threshold")
    words = headline(found)
    assert words["WHY"] == [
        "Logistic regression keeps a recall of at least 0.5 and a precision of at least 0.8 at no threshold, so no "
        "gain is reported."
    ]
    assert comparison(found) is None
    assert "better" not in " ".join(words["HOW SURE"])


def test_floors_that_nothing_keeps_are_refused_before_the_outer_folds():
    steps = []
    with pytest.raises(ValueError, match="a recall of at least 0.9 with confidence 0.95 cannot be kept on 20 positive"):
        compare(
            rare(20), [F1], replace(FAST, floor=FlooredThreshold(0.9, None, 0.95)), lambda *step: steps.append(step)
        )
    assert not steps
    with pytest.raises(ValueError, match=r"Nearest is logistic regression: a precision .* best reachable precision is"):
        compare(made(), [F1], replace(FAST, floor=FlooredThreshold(0.9, 0.99)), lambda *step: steps.append(step))
    assert {what.split(":")[0] for what, _ in steps} == {"all rows"}


def test_a_bound_floor_refuses_all_rows_only():
    floor = FlooredThreshold(recall=0.9)
    task = type("Rows", (), {"truth": np.ones(7)})()
    assert floor.bound(task) == NearestThreshold(floor, 7)


def test_strategies_that_are_asked_for_in_vain_are_named():
    floorless = "Left out of --strategies: ramp{}; a floor is kept by a threshold alone."
    odd = "Left out of --strategies: {}; not for this kind of data or of measure."
    auc = NamedLoss("auc", RocArea())
    for strategies, floor, measures, said in [
        ("threshold,ramp,decision", 0.8, (F1,), [floorless.format(" and decision")]),
        ("ramp", 0.8, (F1,), [floorless.format("")]),
        ("gfm,ramp", 0.8, (F1,), [odd.format("gfm"), floorless.format("")]),
        ("threshold", 0.8, (F1,), []),
        (None, 0.8, (F1,), []),
        ("ramp", None, (F1,), []),
        ("ramp,gfm", None, (F1,), [odd.format("gfm")]),
        ("ramp,gfm", None, (auc,), [odd.format("ramp and gfm")]),
        ("ramp,gfm", None, (F1, auc), [odd.format("gfm")]),
    ]:
        given = {"--strategies": strategies, "--recall-at-least": floor}
        words = [str(word) for pair in given.items() if pair[1] is not None for word in pair]
        options = options_parser().parse_args(["compare", *words])
        assert unfit(options, plan_of(options, made()), ComparisonTask(made(), measures)) == said
    options = options_parser().parse_args(["compare", "--strategies", "threshold,gfm,stack,class_weight"])
    for average, said in (("samples", "class_weight"), ("macro", "gfm, stack and class_weight")):
        work = ComparisonTask(digit_traits(2), (NamedLoss("f1", F1.loss, average),))
        assert unfit(options, plan_of(options, work.problem), work) == [odd.format(said)]


def test_rows_of_a_group_are_not_taken_for_independent():
    rng = np.random.default_rng(0)
    y, groups = np.tile(np.arange(20) % 2, 20), np.repeat(np.arange(20), 20)
    X = (rng.normal(size=400) + 2.0 * y + rng.normal(size=20)[groups])[:, None]
    strategy = FlooredThreshold(recall=0.9, confidence=0.95)
    model = MeasureClassifier(LogisticRegression(), "f1", [strategy])
    assert np.isfinite(model.fit(X, y).best_threshold_)
    with pytest.raises(Refusal, match=r"about 3[0-9] sets like these are needed"):
        model.fit(X, y, groups=groups)
