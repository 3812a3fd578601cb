"""Comparisons under floors of recall and precision."""

from dataclasses import replace

import numpy as np
import pytest

from compare.test_run import F1, FAST, made
from setwise.compare import Measured, Plan, Problem, compare
from setwise.compare.bundled import digit_traits
from setwise.compare.command import Work, unfit
from setwise.compare.floors import FlooredThreshold, NearestThreshold
from setwise.compare.options import Options, plan_for
from setwise.compare.timing import measured_costs
from setwise.compare.winner import flat_range
from setwise.compare.words import details, headline
from setwise.decisions import Floor, threshold_curve
from setwise.decisions.operating_point import nearest_threshold
from setwise.decisions.task import Task
from setwise.losses import RocArea, Tversky

PRECISION = Measured("tversky:1:1e-9", Tversky(1.0, 1e-9))


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


def test_the_time_is_measured_on_parts_that_cannot_keep_the_floor():
    plan = replace(FAST, floor=FlooredThreshold(recall=0.9, confidence=0.95))
    costs = measured_costs(rare(60), [PRECISION], plan)
    assert costs.expected(plan, 500) > 0


@pytest.fixture(scope="module")
def small_parts():
    plan = replace(FAST, floor=FlooredThreshold(recall=0.9, confidence=0.95))
    return compare(rare(35), [PRECISION], plan)[0]


def test_an_outer_fold_that_cannot_keep_the_floor_counts_as_not_kept(small_parts):
    # With 23 positives in a training part not even a recall of 1 is sure to be above 0.9, with all 35 it is.
    key = small_parts.winner.key
    assert [fold[key].kept for fold in small_parts.floored.folds] == [False] * 3
    assert small_parts.floored.all_rows[key].recall == 1.0
    assert "0 of 3 of them kept the floor." in " ".join(headline(small_parts)["HOW MUCH"])


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
        kept = all(
            f.met(np.array([(y & hit).sum()]), np.array([(~y & hit).sum()]), y.sum(), (~y).sum())[0]
            for f in floor.floors
        )
        return kept and PRECISION.loss(y, hit) <= PRECISION.loss(y, scores >= at) + 0.01 + 1e-9

    assert all(map(good, cuts[inside]))
    first, last = np.flatnonzero(inside)[[0, -1]]
    assert first == 0 or not good(cuts[first - 1])
    assert not good(cuts[last + 1])


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
    assert "with recall .9" in words["HOW MUCH"][1]
    assert "The tuned threshold gains" not in " ".join(words["HOW MUCH"])
    assert "at the usual 0.5 breaks the floor: it has recall" in words["HOW MUCH"][-1]
    assert not any("0.5" in line for line in words["WHY"])
    assert all("and the floor is kept" in line for line in details(found) if "From the threshold" in line)


def test_a_floor_that_logistic_regression_breaks_is_kept_by_another_base_model():
    plan = Plan(3, 3, (1.0,), ("linear", "boosted"), ("threshold",), floor=FlooredThreshold(precision=0.8, recall=0.5))
    (found,) = compare(made(), [F1], plan)
    assert not found.stands
    assert found.changes
    assert found.winner.key == ("boosted", "threshold")
    words = headline(found)
    assert words["WHY"][0].startswith(
        "Logistic regression keeps a recall of at least 0.5 and a precision of at least 0.8"
    )
    assert "gains" not in " ".join(words["HOW SURE"] + words["HOW MUCH"])


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


def test_levers_that_are_asked_for_in_vain_are_named():
    floorless = "Left out of --levers: ramp{}; a floor is kept by a threshold alone."
    odd = "Left out of --levers: {}; not for this kind of data or of measure."
    auc = Measured("auc", RocArea())
    for levers, floor, measures, said in [
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
        options = Options(levers=levers, recall_at_least=floor)
        assert unfit(options, plan_for(options, made()), Work(made(), measures)) == said
    options = Options(levers="threshold,gfm,stack,class_weight")
    for average, said in (("samples", "class_weight"), ("macro", "gfm, stack and class_weight")):
        work = Work(digit_traits(2), (Measured("f1", F1.loss, average),))
        assert unfit(options, plan_for(options, work.problem), work) == [odd.format(said)]
