"""Comparisons: every argument."""

import numpy as np
import pytest

from setwise.compare import FlooredThreshold, NamedLoss, Plan, Problem, compare
from setwise.losses import FBeta, Jaccard, MaxLoss, MeanOverClasses
from surface import field_parameters
from surface.refusals import COUNTS, NUMBERS, OBJECTS, Parameter, labels, try_all, without

X, Y = np.random.default_rng(0).standard_normal((40, 2)), np.arange(40) % 2
SEEDS = {"negative": -1, "half": 0.5, "None": None, "text": "1"}
LEAST = Plan(2, 3, (1.0,), ("linear",), ("threshold",))


def run(**more):
    usual = {"problem": Problem("p", "Made up.", X, Y), "measures": [NamedLoss("jaccard", Jaccard())], "plan": LEAST}
    return compare(**(usual | more))


def of_compare():
    infinite = Problem("p", "Made up.", X * np.inf, Y)
    small = Problem("p", "Made up.", X[:4], Y[:4])
    values = {
        "problem": OBJECTS | {"array": X, "infinite": infinite, "small": small},
        "measures": OBJECTS | {"none": [], "names": ["f1"], "loss": [FBeta()], "one": NamedLoss("f1", FBeta())},
        "plan": without(OBJECTS, "None"),
        "advance": without(OBJECTS, "class"),
        "test": without(OBJECTS, "None") | {"array": X, "other": Problem("p", "Made up.", X[:, :1], Y)},
        "notes": {"text": "a", "number": 3, "numbers": [3]},
        "budget": without(NUMBERS, "None") | {"zero": 0.0},
        "checkpoint": without(OBJECTS, "None") | {"path": "fit.npz"},
        "others": without(OBJECTS, "None") | {"problem": small},
    }
    for name, wrong in values.items():
        yield Parameter(f"compare({name})", lambda v, name=name: run(**{name: v}), wrong)


def of_plans():
    yield Parameter("Plan(folds)", Plan, COUNTS | {"one": 1})
    yield Parameter("Plan(inner)", lambda v: Plan(inner=v), COUNTS | {"one": 1, "two": 2})
    grids = OBJECTS | {"none": (), "NaN": (np.nan,), "words": ("a",), "zero": (0.0,), "text": "a", "number": 1.0}
    yield Parameter("Plan(grid)", lambda v: Plan(grid=v), grids)
    names = OBJECTS | {"unknown": ("nope",), "text": "linear", "number": 1, "list": ["linear"]}
    yield Parameter("Plan(bases)", lambda v: Plan(bases=v), names)
    yield Parameter("Plan(strategies)", lambda v: Plan(strategies=v), names)
    yield Parameter("Plan(seed)", lambda v: Plan(seed=v), SEEDS)
    yield Parameter("Plan(n_jobs)", lambda v: Plan(n_jobs=v), {"zero": 0, "half": 0.5, "text": "2", "None": None})
    yield Parameter(
        "Plan(skipped)", lambda v: Plan(skipped=v), OBJECTS | {"list": [("linear", "stack")], "words": {"a"}}
    )
    yield Parameter("Plan(floor)", lambda v: Plan(floor=v), without(OBJECTS, "None") | {"number": 0.9})
    # Which labels there are is known by fit alone.
    floor = FlooredThreshold(0.9, 0.5, 0.95)
    yield from (one for one in field_parameters.parameters(FlooredThreshold, floor) if not one.where.endswith("(of)"))


def of_measures():
    yield Parameter("NamedLoss(name)", lambda v: NamedLoss(v, Jaccard()), {"None": None, "number": 1, "empty": ""})
    losses = OBJECTS | {"name": "f0", "class": FBeta, "classes": MeanOverClasses(MaxLoss())}
    yield Parameter("NamedLoss(loss)", lambda v: NamedLoss("f1", v), losses)
    yield Parameter("NamedLoss(average)", lambda v: NamedLoss("f1", FBeta(), v), OBJECTS | {"unknown": "weighted"})


def of_problems():
    matrices = OBJECTS | {"flat": X[:, 0], "words": [["a"]] * 40, "complex": X + 1j, "none": X[:0], "short": X[:-1]}
    yield Parameter("Problem(X)", lambda v: Problem("p", "Made up.", v, Y), matrices)
    truths = without(labels(40), "column", "matrix") | {"short": Y[:-1], "twos": Y + 1, "cube": np.zeros((40, 2, 2))}
    yield Parameter("Problem(y)", lambda v: Problem("p", "Made up.", X, v), truths)
    groups = without(OBJECTS, "None") | {"short": Y[:-1], "text": "a", "NaN": Y * np.nan, "mixed": [1, "1"] * 20}
    yield Parameter("Problem(groups)", lambda v: Problem("p", "Made up.", X, Y, v), groups | {"matrix": X})
    yield Parameter("Problem(blocks)", lambda v: Problem("p", "Made up.", X, Y, blocks=v), groups | {"matrix": X})
    times = without(OBJECTS, "None") | {"short": X[:-1, 0], "NaN": X[:, 0] * np.nan, "words": ["a"] * 40, "matrix": X}
    yield Parameter("Problem(times)", lambda v: Problem("p", "Made up.", X, Y, times=v), times)
    columns = OBJECTS | {"words": ("a", "b"), "number": 2}
    yield Parameter("Problem(columns)", lambda v: Problem("p", "Made up.", X, Y, columns=v), without(columns, "None"))


@pytest.mark.parametrize(
    "parameter", [*of_compare(), *of_plans(), *of_measures(), *of_problems()], ids=lambda one: one.where
)
def test_a_malformed_argument_is_refused_in_a_sentence(parameter):
    try_all(parameter)
