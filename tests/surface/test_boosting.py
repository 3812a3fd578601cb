"""Objectives and metrics for boosters: every argument, and what a booster may pass."""

from functools import partial

import numpy as np
import pytest

from setwise.boosting import metric, objective
from surface.refusals import NUMBERS, OBJECTS, Parameter, labels, numbers, try_all, without
from surface.test_calls import LENGTHS, LOSS, P, S, Y

IDS = OBJECTS | {
    "no ids": [],
    "NaN": [1.0, np.nan],
    "mixed": [1, "one"],
    "pairs": [[1, 2], [3, 4]],
    "ragged": [[1], [1, 2]],
    "missing": [None, "a"],
}


def calls():
    texts = OBJECTS | {"other": "hinge", "empty": ""}
    for name, make in (("objective", objective), ("metric", partial(metric, booster="xgboost"))):
        yield Parameter(f"{name}(loss)", make, LOSS)
        yield Parameter(f"{name}(groups)", partial(make, "jaccard"), without(IDS, "None"))
        own = make("jaccard")
        yield Parameter(f"{name}(labels, y_pred)", lambda v, own=own: own(v, S), labels(P) | LENGTHS)
        yield Parameter(f"{name}(y_pred)", lambda v, own=own: own(Y, v), numbers(P, negative=True))
        weights = {"short": np.ones(P + 1), "negative": -np.ones(P), "zeros": np.zeros(P), "differ": np.arange(P)}
        yield Parameter(f"{name}(weight)", lambda v, own=own: own(Y, S, v), weights | {"NaN": np.full(P, np.nan)})
        sizes = {"other sum": [P + 1], "half": [P - 0.5, 0.5], "negative": [P + 1, -1], "text": ["a"], "NaN": [np.nan]}
        yield Parameter(f"{name}(group)", lambda v, own=own: own(Y, S, None, v), sizes)
    yield Parameter("objective(surrogate)", lambda v: objective("jaccard", surrogate=v), texts)
    scales = without(NUMBERS | {"zero": 0.0}, "None")
    yield Parameter("objective(scale)", lambda v: objective("f1", surrogate="ramp", scale=v), scales)
    yield Parameter("metric(booster)", lambda v: metric("f1", booster=v), texts)
    limits = without(NUMBERS, "negative", "None")
    yield Parameter("metric(threshold)", lambda v: metric("f1", booster="xgboost", threshold=v), limits)


PARAMETERS = list(calls())


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.where)
def test_malformed_arguments_of_boosters_are_refused(parameter):
    try_all(parameter)
