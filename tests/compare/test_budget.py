"""What fits into a budget, by the size of a table alone, and what is left of it."""

from dataclasses import replace

import pytest

from setwise.compare.budget import ALWAYS, Clock, Costs, left_out, within
from setwise.compare.plan import QUICK_GRID, Plan

PLAN = Plan(strategies=("as_it_is", "threshold", "class_weight", "ramp"))
COSTS = Costs(50_000, 13)


def test_all_of_it_where_it_fits():
    assert within(PLAN, COSTS, 1e6) == (PLAN, [])


def test_outer_folds_cost_their_share_of_all_rows():
    for folds in (2, 3, 5):
        plan = Plan(folds=folds)
        shares = 1.0 + folds * (1.0 - 1.0 / folds)
        assert COSTS.expected(plan) == pytest.approx(shares * COSTS.expected(replace(plan, outer=0)))


def test_ever_more_is_left_out_and_named():
    whole = COSTS.expected(PLAN)
    seen = []
    for share in (0.99, 0.5, 0.2, 0.1, 0.02, 0.005):
        plan, (note,) = within(PLAN, COSTS, share * whole)
        seen.append((len(plan.grid), -len(plan.skipped), 5 if plan.outer is None else plan.outer, len(plan.bases)))
        assert COSTS.expected(plan) <= share * whole or len(plan.grid) == 1
        assert "All of it takes" in note
        for words, done in (
            ("values of C", plan.grid != PLAN.grid),
            ("all outer folds", plan.outer == 0),
            ("random forest", "forest" not in plan.bases or ("forest", "class_weight") in plan.skipped),
            ("weighted positives", any(base in plan.bases for base, name in plan.skipped if name == "class_weight")),
        ):
            assert (words in note) == done, (share, words, note)
        assert not any(name in ALWAYS for _, name in plan.skipped)
        assert {"linear", "boosted"} <= set(plan.bases)
    assert seen[0][0] == len(QUICK_GRID)
    assert seen[-1][::2] == (1, 0)
    assert seen[-1][3] == 2
    assert seen == sorted(seen, reverse=True)


def test_strategies_that_do_not_fit_the_data_take_no_time_and_are_not_named():
    free = Costs(50_000, 13, free=frozenset({"ramp", "class_weight"}))
    assert free.expected(PLAN) < COSTS.expected(PLAN)
    plan, notes = within(PLAN, free, 30.0)
    assert not plan.skipped
    assert "ramp" not in notes[0]


def test_what_is_left_out_in_words():
    assert left_out([]) == []
    gone = [("forest", "ramp"), ("forest", ""), ("linear", "ramp"), ("boosted", "ramp")]
    gone += [("linear", "stack"), ("boosted", "stack"), ("linear", "class_weight")]
    assert left_out(gone) == [
        "random forest",
        "ramp on top over logistic regression",
        "ramp on top over boosted trees",
        "trained on top over logistic regression",
        "trained on top over boosted trees",
        "weighted positives over logistic regression",
    ]


def test_a_clock_compares_this_machine_with_a_usual_one(monkeypatch):
    now = [5.0]
    monkeypatch.setattr("setwise.compare.budget.perf_counter", lambda: now[0])
    clock, endless = Clock(10.0), Clock(None)
    assert clock.expects(3.0) == 3.0
    clock.done(2.0, 4.0)
    assert clock.expects(3.0) == 6.0
    now[0] += 4.0
    assert clock.passed == 4.0
    assert clock.has(6.0)
    assert not clock.has(6.1)
    assert not clock.has(1.1, 0.5)
    assert endless.has(1e9)
