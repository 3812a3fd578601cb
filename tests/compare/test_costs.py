"""Costs of each row in a comparison, against sums over rows by hand."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setwise.compare import NamedLoss, Plan, Problem, compare
from setwise.compare.fits import rows_of
from setwise.compare.plan import COSTS
from setwise.losses import RowCosts
from setwise.losses.row_costs import Place

MEASURE = NamedLoss(COSTS, RowCosts(fp=5.0, fn=Place("amount", 1)))
PLAN = Plan(folds=4, inner=3, grid=(1.0,), bases=("linear",), strategies=("decision",))


def payments(n, seed, customers=None):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), np.exp(rng.normal(3.0, 1.0, n))])
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(2.0 - 1.5 * X[:, 0]))).astype(int)
    groups = None if customers is None else rng.integers(customers, size=n)
    return Problem("pay", "Payments.", X, y, groups, features=("risk", "amount"), code=("import numpy as np",))


def per_thousand(problem, labels):
    """The cost of 1,000 rows, one row after the other."""
    total = 0.0
    for (_, amount), truth, label in zip(problem.X, problem.y, labels, strict=True):
        total += amount if truth and not label else 5.0 if label and not truth else 0.0
    return 1000.0 * total / len(labels)


def plain(problem, rows):
    """Logistic regression fitted to some rows, as it is."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=1.0)).fit(problem.X[rows], problem.y[rows])


@pytest.fixture(scope="module", params=[None, 150])
def answered(request):
    problem, test = payments(1200, 0, request.param), payments(500, 1, request.param and 90)
    return problem, test, compare(problem, [MEASURE], PLAN, test=test)[0]


def test_all_figures_are_those_of_1000_rows_also_with_groups(answered):
    problem, test, found = answered
    rule = found.row(("linear", "as_it_is"))
    by_hand = []
    for train, held in problem.outer_folds(rows_of(problem, MEASURE), PLAN.folds, PLAN.seed):
        by_hand.append(per_thousand(problem.take(held), plain(problem, train).predict(problem.X[held])))
    assert rule.outer == pytest.approx(by_hand)
    model = plain(problem, np.arange(len(problem.y)))
    assert rule.test == pytest.approx(per_thousand(test, model.predict(test.X)))

    space = {"X": problem.X, "y": problem.y, "groups": problem.groups}
    exec(found.winner.code, space)
    costs = {"groups": test.groups, "fn_cost": test.X[:, 1]}
    costs = {name: one for name, one in costs.items() if one is not None}
    reached = per_thousand(test, space["model"].predict(test.X, **costs))
    assert found.row(found.winner.key).test == pytest.approx(reached)
    all_rows = per_thousand(problem, found.winner.labels)
    assert found.row(found.winner.key).loss == pytest.approx(all_rows, rel=0.05)
