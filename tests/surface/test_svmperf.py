"""SVMperf: its parameters, and every argument of fit, predict, decision_function and score."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from setwise import SVMperf
from setwise.losses import Jaccard
from surface.refusals import COUNTS, NO_NUMBERS, NUMBERS, OBJECTS, Parameter, Proxy, try_all, without
from surface.test_set_classifier import MATRICES, MATRIX, TARGETS, X, Y

MODEL = SVMperf(loss="q", C=1, tol=0.5, max_iter=50)
PATHS = without(OBJECTS, "None")
PARAMETERS = {
    "svmperf_base": PATHS,
    "C": without(NUMBERS, "truth") | {"zero": 0.0},
    "verbose": without(NO_NUMBERS, "truth") | {"negative": -1, "half": 0.5},
    "loss": OBJECTS | {"unknown name": "kdl", "name of setwise": "jaccard", "class": Jaccard},
    "host_folder": PATHS,
    "tol": without(NUMBERS, "truth"),
    "max_iter": without(COUNTS, "truth") | {"zero": 0},
}


def calls():
    """Each argument of each method."""
    for name, values in PARAMETERS.items():
        yield Parameter(f"SVMperf({name})", lambda v, name=name: clone(MODEL).set_params(**{name: v}).fit(X, Y), values)
    yield Parameter("SVMperf.fit(X, y)", lambda v: clone(MODEL).fit(v, Y), MATRICES)
    yield Parameter("SVMperf.fit(y, Y)", lambda v: clone(MODEL).fit(X, v), TARGETS | {"matrix": MATRIX})
    model = Proxy(lambda: clone(MODEL).fit(X, Y))
    new = without(MATRICES, "short", "NAs", "words in a table") | {"wide": np.ones((8, 3)), "narrow": np.ones((8, 1))}
    yield Parameter("SVMperf.predict(X)", model.predict, new)
    yield Parameter("SVMperf.decision_function(X)", model.decision_function, new)


@pytest.mark.parametrize("parameter", list(calls()), ids=lambda p: p.where)
def test_odd_arguments_are_refused_in_a_sentence(parameter):
    try_all(parameter)


def test_paths_are_accepted_and_not_read():
    for path in ("../svm_perf_quantification", "", Path("absent")):
        assert clone(MODEL).set_params(svmperf_base=path, host_folder=path).fit(X, Y).status_ == "converged"
