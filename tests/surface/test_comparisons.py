"""Comparisons: every argument; names are taken for losses."""

import numpy as np
import pytest
from setwise.compare.methods import LOGISTIC

from setwise.compare import Plan, Problem, compare
from setwise.datasets.columns import Number
from setwise.losses import Jaccard
from surface.malformed import COUNTS, NO_NUMBERS, NUMBERS, OBJECTS, Parameter, labels, try_all, without

X, Y = np.random.default_rng(0).standard_normal((12, 2)), np.arange(12) % 2
SEEDS = NO_NUMBERS | {"negative": -1, "half": 0.5, "None": None}


def run(**more):
    usual = {"problem": Problem("p", "Made up.", X, Y), "measure": "jaccard", "losses": {"jaccard": Jaccard()}}
    return compare(**(usual | {"plan": Plan(2, 2, (1.0,)), "advance": lambda what, steps: None} | more))


def of_compare():
    nans = Problem("p", "Made up.", X * np.nan, Y)
    values = {
        "problem": OBJECTS | {"array": X, "NaNs": nans},
        "measure": OBJECTS | {"another": "f1"},
        "losses": OBJECTS,
        "plan": OBJECTS,
        "advance": without(OBJECTS, "class"),
        "methods": without(OBJECTS, "None") | {"none": (), "words": ["a"]},
        "budget": without(NUMBERS, "None") | {"zero": 0.0},
    }
    for name, wrong in values.items():
        yield Parameter(f"compare({name})", lambda v, name=name: run(**{name: v}), wrong)
    yield Parameter(
        "compare(loss)", lambda v: run(losses=v), {"unknown": {"jaccard": "jacard"}, "number": {"jaccard": 3}}
    )


def of_plans():
    yield Parameter("Plan(folds)", Plan, COUNTS | {"one": 1})
    yield Parameter("Plan(inner)", lambda v: Plan(inner=v), COUNTS | {"one": 1})
    grids = OBJECTS | {"none": (), "NaN": (np.nan,), "words": ("a",), "zero": (0.0,), "text": "a", "number": 1.0}
    yield Parameter("Plan(grid)", lambda v: Plan(grid=v), grids)
    yield Parameter("Plan(tol)", lambda v: Plan(tol=v), NUMBERS)
    yield Parameter("Plan(seed)", lambda v: Plan(seed=v), SEEDS)


def of_problems():
    matrices = OBJECTS | {"flat": X[:, 0], "words": [["a"]] * 12, "complex": X + 1j, "none": X[:0], "short": X[:-1]}
    yield Parameter("Problem(X)", lambda v: Problem("p", "Made up.", v, Y), matrices)
    truths = without(labels(12), "column", "matrix") | {"short": Y[:-1], "twos": Y + 1, "cube": np.zeros((12, 2, 2))}
    yield Parameter("Problem(y)", lambda v: Problem("p", "Made up.", X, v), truths)
    groups = without(OBJECTS, "None") | {"short": Y[:-1], "text": "a", "NaN": Y * np.nan, "mixed": [1, "1"] * 6}
    yield Parameter("Problem(columns)", lambda v: Problem("p", "Made up.", X, Y, columns=v), {"one": (Number("a"),)})
    yield Parameter("Problem(groups)", lambda v: Problem("p", "Made up.", X, Y, v), groups | {"matrix": X})


@pytest.mark.parametrize("parameter", [*of_compare(), *of_plans(), *of_problems()], ids=lambda one: one.where)
def test_a_malformed_argument_is_refused_in_a_sentence(parameter):
    try_all(parameter)


def test_names_are_taken_for_losses():
    by_name, by_object = (run(losses={"jaccard": one}, methods=(LOGISTIC,)) for one in ("jaccard", Jaccard()))
    np.testing.assert_array_equal(by_name.means, by_object.means)
