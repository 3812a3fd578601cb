"""Comparisons with given losses, for tests of how they are told."""

import numpy as np

from setwise.compare.comparison import QUICK_GRID, Comparison, Plan, Row
from setwise.compare.methods import LOGISTIC, LOVASZ, Trained
from setwise.compare.problem import Problem

PROBLEM = Problem("p", "", np.zeros((4, 1)), np.array([0, 1, 0, 1]))


def made_up(first, second, gap=1e-4, problem=PROBLEM, notes=()):
    """A comparison with given losses of the best usual and the best own method."""
    weights = np.zeros((1, problem.X.shape[1]))
    trained = [Trained(weights, np.zeros(1), 0.0, 0.1, g) for g in (None, gap)]
    rows = [
        Row(method, np.array(values)[:, None], (0.1,) * len(values), (kept,) * len(values), 1.0)
        for method, values, kept in ((LOGISTIC, first, trained[0]), (LOVASZ, second, trained[1]))
    ]
    return Comparison(
        problem, "jaccard", ("jaccard",), tuple(rows), Plan(3, 2, QUICK_GRID), (problem, problem), tuple(notes)
    )
