import time
from dataclasses import dataclass, replace

import numpy as np
import pytest

from setwise.compare import command
from setwise.compare.bundled import bags
from setwise.compare.comparison import GRID, QUICK_GRID, Plan, compare
from setwise.compare.methods import LOVASZ, MARGIN, METHODS, SLACK, SVM, TUNED, Method, Trained
from setwise.compare.plan import LEAST_GRID, within
from setwise.compare.problem import Problem
from setwise.compare.until import OutOfTimeError
from setwise.compare.words import verdict
from setwise.core.refusal import Refusal
from setwise.losses import ErrorRate, Jaccard

FULL = Plan()
SECONDS = dict(zip(METHODS, (1.0, 3.0, 1.5, 1.0, 4.0, 6.0), strict=True))


def test_values_of_c_go_first_then_folds_then_the_slowest_methods():
    kept = []
    for budget in np.linspace(3000, 10, 300):
        plan, methods = within(FULL, SECONDS, budget)
        size = (len(plan.grid), plan.folds, len(methods))
        if not kept or kept[-1][0] != size:
            kept.append((size, set(METHODS) - set(methods)))
        needed = plan.work * sum(SECONDS[m] for m in methods)
        assert needed <= budget or size == (2, 3, 2)
    sizes = [size for size, _ in kept]
    assert sizes == [(7, 5, 6), (3, 5, 6), (2, 5, 6), (2, 4, 6), (2, 3, 6), (2, 3, 5), (2, 3, 4), (2, 3, 3), (2, 3, 2)]
    assert [gone for _, gone in kept[5:]] == [
        {SLACK},
        {SLACK, MARGIN},
        {SLACK, MARGIN, TUNED},
        {SLACK, MARGIN, TUNED, SVM},
    ]


@pytest.mark.parametrize(
    ("plan", "least"),
    [
        (FULL, Plan(3, 3, LEAST_GRID)),
        (Plan(3, 2, QUICK_GRID), Plan(3, 2, LEAST_GRID)),
        (Plan(2, 2, (0.1,)), Plan(2, 2, (0.1,))),
    ],
)
def test_the_least_that_is_left_of_a_plan(plan, least):
    assert plan.least == least
    assert within(plan, SECONDS, 1e9) == (plan, METHODS)
    assert len(GRID) > len(QUICK_GRID) > len(LEAST_GRID)


@dataclass(frozen=True)
class Sleeper(Method):
    """Takes its time; ``refuses`` says that it does so instead of training."""

    name: str
    cost: float
    ours: bool
    refuses: bool = False
    about: str = ""

    def train(self, problem, loss, c, tol, max_iter=1000, deadline=np.inf):
        if self.refuses:
            raise Refusal("it does not suit.")
        if max_iter > 1:
            time.sleep(self.cost)
        return Trained(np.zeros((1, problem.X.shape[1])), np.zeros(1), 0.0, self.cost)


QUICK, SLOW, SLOWER, AGES = (
    Sleeper("quick", 0.0, False),
    Sleeper("slow", 0.04, True),
    Sleeper("slower", 0.08, True),
    Sleeper("ages", 0.5, True),
)
REFUSES = Sleeper("fussy", 0.0, True, True)


def run(methods, budget):
    steps, plan = [], Plan(2, 2, (0.1,))
    losses = {"jaccard": Jaccard(), "error_rate": ErrorRate()}
    found = compare(bags(8, 0), "jaccard", losses, plan, lambda what, n: steps.append(n), methods, budget)
    assert sum(steps) == plan.fits(methods)
    assert len({(len(row.losses), len(row.chosen)) for row in found.rows}) == 1
    return found


def test_what_is_left_out_is_said():
    found = run((QUICK, AGES, SLOW, REFUSES, SLOWER), 1.6)
    assert [row.method for row in found.rows] == [QUICK, SLOW]
    first, second, third = found.notes
    assert first.startswith("To fit into 1.6 seconds, slower, the slowest, is left out: all of it would take about ")
    assert first.endswith(" seconds (--budget).")
    assert second == "ages is left out: a single fit takes more than 0.1 seconds, too much for a budget of 1.6 seconds."
    assert third == "fussy is left out: it does not suit."
    assert set(found.notes) <= set(verdict(found))


def test_what_fits_is_not_touched_and_no_budget_times_nothing():
    assert run((QUICK, SLOW), 60.0).notes == ()
    assert run((QUICK, SLOW), None).notes == ()


def test_a_budget_for_nothing_at_all_is_refused():
    with pytest.raises(ValueError, match=r"is too large for 1.6 seconds: no method makes a fit in 0.1 seconds; raise"):
        run((AGES, REFUSES), 1.6)


def test_a_fit_stops_at_its_deadline_and_leaves_no_trace():
    problem = Problem("p", "", np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3 // 2)
    matrix = replace(problem, y=np.column_stack([problem.y, 1 - problem.y]))
    for method, data in ((LOVASZ, problem), (SLACK, matrix), (TUNED, matrix)):
        with pytest.raises(OutOfTimeError):
            method.train(data, Jaccard(), 1.0, 1e-9, deadline=time.perf_counter() - 1)
        assert np.isfinite(method.train(data, Jaccard(), 1.0, 1e-2).coef).all()


def test_several_comparisons_share_the_budget(tmp_path, monkeypatch):
    shares = []

    def instant(problem, measure, losses, plan, advance, budget):
        shares.append(budget)
        return compare(problem, measure, losses, Plan(2, 2, (0.1,)), advance, (QUICK,))

    monkeypatch.setattr(command, "compare", instant)
    monkeypatch.setattr("setwise.compare.report.pictures", lambda found: {})
    np.savez(tmp_path / "t.npz", X=np.arange(40.0)[:, None], y=np.arange(40) % 2)
    path, out = str(tmp_path / "t.npz"), tmp_path / "report"
    command.compare_command(path, "jaccard,f1", out=out, budget=100.0)
    assert shares[0] == pytest.approx(50, abs=1)
    assert shares[1] == pytest.approx(100, abs=5)
    for quick, budget in ((True, 60), (False, 600)):
        command.compare_command(path, out=out, quick=quick)
        assert shares[-1] == pytest.approx(budget, abs=1)
    command.compare_command(None, out=out, quick=True)
    assert shares[-3:] == [None] * 3


@pytest.mark.parametrize("budget", [0.0, -1.0, float("nan")])
def test_a_budget_is_above_zero(budget):
    with pytest.raises(ValueError, match="--budget must be a number of seconds above 0; got"):
        command.compare_command(None, budget=budget)
