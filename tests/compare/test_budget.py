"""What is left out to fit into a budget, for made-up costs."""

import pytest

from setwise.compare.budget import Costs, Line, measured_costs, within
from setwise.compare.plan import GRID, QUICK_GRID, NamedLoss, Plan
from setwise.losses import FBeta

PLAN = Plan(strategies=("as_it_is", "threshold", "class_weight", "stack"))
FITS = {"linear": Line(0.0, 1e-5), "forest": Line(0.0, 4e-4), "boosted": Line(0.0, 1e-4)}
STRATEGIES = {
    (base, strategy): Line(0.0, 1e-4 if strategy == "class_weight" else 1e-6)
    for base in FITS
    for strategy in PLAN.strategies
}
COSTS = Costs(FITS, STRATEGIES, len(GRID))


def test_a_line_through_two_measurements():
    line = Line.through((100, 1.0), (300, 2.0))
    assert line(100) == pytest.approx(1.0)
    assert line(500) == pytest.approx(3.0)
    assert Line.through((100, 3.0), (300, 2.0))(600) == pytest.approx(4.0)
    assert Line.through((100, 0.0), (300, 2.0)).fixed == 0.0


def test_all_of_it_where_it_fits():
    plan, rows, notes = within(PLAN, COSTS, 1000, 1e6)
    assert (plan, rows, notes) == (PLAN, 1000, [])


def test_ever_more_is_left_out_and_named():
    whole = COSTS.expected(PLAN, 10_000)
    seen = []
    for share in (0.99, 0.8, 0.6, 0.3, 0.1, 0.01):
        plan, rows, notes = within(PLAN, COSTS, 10_000, whole * share)
        seen.append((len(plan.grid), len(plan.skipped), plan.folds, plan.bases, rows))
        assert COSTS.expected(plan, rows) <= whole * share * 1.01 or rows == 300
        (note,) = notes
        assert "All of it would take" in note
        for words, done in (
            ("C of logistic regression", plan.grid != PLAN.grid),
            ("over ", any(base in ("linear", *plan.bases) for base, _ in plan.skipped)),
            ("3 outer folds", plan.folds == 3),
            ("without random forest", "forest" not in plan.bases),
            (" of 10,000 rows", rows < 10_000),
        ):
            assert (words in note) == done
        assert share < 0.5 or all(strategy == "class_weight" for _, strategy in plan.skipped)
        # Strategies have the names that they have in the table.
        assert "class weight" not in note
        assert ("weighted positives over " in note) == ("over " in note)
        assert not any(strategy in ("as_it_is", "threshold") for _, strategy in plan.skipped)
        assert "linear" in plan.bases
        assert len(plan.bases) >= 2
    assert seen[0][0] == len(QUICK_GRID)
    assert seen == sorted(seen, key=lambda one: one[-1], reverse=True)
    assert seen[-1][-1] < 10_000


def test_a_budget_that_is_far_too_small_is_said():
    _, rows, (note,) = within(PLAN, COSTS, 10_000, 0.01)
    assert rows == 300
    assert "Even so it is expected to take" in note


def test_times_are_measured_on_small_parts():
    from compare.test_run import made

    plan = Plan(3, 3, (1.0,), ("linear",), ("threshold", "stack"))
    costs = measured_costs(made(400), [NamedLoss("f1", FBeta())], plan)
    assert set(costs.fits) == {"linear"}
    assert set(costs.strategies) == {("linear", strategy) for strategy in ("as_it_is", "threshold", "stack")}
    assert 0 < costs.expected(plan, 400) < costs.expected(plan, 4000)
