"""The advice where the right one is known: stay where logistic regression is true, change where no line can do it.

A few seeds are tried here, and twenty of each kind by ``benchmarks/verdicts.py``.
"""

import numpy as np
import pytest

from setwise.cli import options_parser
from setwise.compare import NamedLoss, Problem, compare
from setwise.compare.command import plan_of
from setwise.compare.problem import bags
from setwise.losses import EarlyDetection, FBeta


def logistic(seed, rows=1000):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(rows, 6)), rng.normal(size=6)
    y = (rng.random(rows) < 1.0 / (1.0 + np.exp(2.0 - 1.2 * X @ w))).astype(int)
    return Problem("logistic model", "Rows of a logistic model.", X, y)


def changes(problem, measured, seed, base="linear,boosted"):
    options = options_parser().parse_args(["compare", "--quick", "--seed", str(seed), "--base", base])
    (found,) = compare(problem, [measured], plan_of(options, problem))
    return found.changes


def true_model(seed, **more):
    return changes(logistic(seed), NamedLoss("f1", FBeta()), seed, **more)


def early(seed, **more):
    return changes(bags(300, seed), NamedLoss("early_detection", EarlyDetection()), seed, **more)


@pytest.mark.slow
def test_a_few_verdicts():
    assert not any(true_model(seed, base="linear") for seed in range(2))
    assert early(0, base="linear")
