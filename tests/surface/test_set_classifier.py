"""The estimator: its parameters, and every argument of fit, predict, decision_function and score."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix
from sklearn.base import clone

from setwise import SetClassifier, SetClassifierCV
from setwise.learners import OneSlack
from setwise.losses import Jaccard
from setwise.surrogates import LovaszHinge
from surface.refusals import (
    COUNTS,
    FLAGS,
    NO_NUMBERS,
    NUMBERS,
    OBJECTS,
    Dummy,
    Parameter,
    Proxy,
    numbers,
    try_all,
    without,
)  # fmt: skip

RNG = np.random.default_rng(0)
X = RNG.standard_normal((8, 2))
Y = np.array([1, 0, 1, 0, 1, 0, 0, 1])
GROUPS = np.repeat([0, 1, 2, 3], 2)
MATRIX = (RNG.random((8, 3)) < 0.5).astype(int)
MODEL = SetClassifier(max_iter=5, tol=0.5)
NAMES = OBJECTS | {"unknown name": "jacard", "empty text": ""}
PARAMETERS = {
    "loss": NAMES | {"class": Jaccard, "needs parameters": "capped"},
    "surrogate": NAMES | {"class": LovaszHinge, "loss": Jaccard()},
    "learner": NAMES | {"class": OneSlack, "loss": Jaccard()},
    "C": without(NUMBERS, "truth"),
    "tol": without(NUMBERS, "truth"),
    "max_iter": without(COUNTS, "truth") | {"zero": 0},
    "fit_intercept": without(FLAGS, "one"),
    "intercept_scaling": without(NUMBERS, "truth") | {"zero": 0.0},
    "pos_label": {"another": 2, "text": "1", "list": [1], "NaN": np.nan, "array": np.ones(2), "dict": {}, "NA": pd.NA},
    "class_weight": {
        "text": "even", "number": 2.0, "list": [1.0, 2.0], "another class": {0: 1.0, 1: 2.0, 2: 3.0}, "word": {0: "a"},
        "NaN": {0: np.nan}, "inf": {1: np.inf}, "negative": {0: -1.0}, "zero": {0: 0.0}, "None in it": {0: None},
        "complex": {0: 1j}, "truth": True, "huge": {0: 1e308, 1: 1e308}, "list in it": {0: [1.0]},
    },
    "average": NAMES,
    "n_jobs": without(NO_NUMBERS, "truth") | {"half": 1.5, "zero": 0, "NaN": np.nan},
    "random_state": without(NO_NUMBERS, "truth") | {"negative": -1, "half": 0.5},
    "verbose": without(NO_NUMBERS, "truth") | {"negative": -1, "half": 0.5},
    "warm_start": without(FLAGS, "one"),
    "start": NAMES,
    "threshold": NAMES | {"another": "one"},
}  # fmt: skip
MATRICES = {
    "None": None, "text": "a", "number": 1.0, "flat": X[:, 0], "cube": X[None], "words": [["a", "b"]] * 8,
    "NaN": X * np.nan, "inf": X + np.inf, "complex": X + 1j, "ragged": [[1.0]] * 7 + [[1.0, 2.0]], "none": X[:0],
    "no column": X[:, :0], "objects": np.full((8, 2), Dummy()), "dict": {}, "short": X[:-1], "object": Dummy(),
    "sparse complex": csr_matrix(X + 1j), "sparse NaN": csr_matrix(X * np.nan), "sparse flat": coo_array(X[:, 0]),
    "sparse none": csr_array((0, 2)), "NAs": pd.DataFrame({"a": pd.array([1, None] * 4, dtype="Int64"), "b": X[:, 0]}),
    "words in a table": pd.DataFrame({"a": ["x"] * 8}), "records": np.zeros(8, dtype=[("a", "f8")]),
    "lists": np.array([[[1.0], [1.0, 2.0]]] * 8, dtype=object), "strings": np.full((8, 2), "a"),
    "beyond floats": [[10**400, 1]] * 8, "bytes": np.full((8, 2), b"a"),
}  # fmt: skip
TARGETS = {
    "None": None, "text": "a", "number": 1, "empty": [], "short": Y[:-1], "long": np.append(Y, 1), "one class": [1] * 8,
    "NaN": np.append(Y[:-1], np.nan), "Nones": [None] * 8, "None in it": [1, 0, None] + [1] * 5, "NA": [pd.NA] * 8,
    "NaT": np.full(8, np.datetime64("NaT", "D")), "complex": Y + 1j, "ragged": [[1]] * 7 + [[1, 0]], "dict": {},
    "cube": np.zeros((8, 2, 2)), "sparse": csr_matrix(MATRIX), "objects": [Dummy()] * 8, "continuous": X[:, 0],
    "records": np.zeros(8, dtype=[("a", "i8")]), "mixed": [1, "a"] * 4, "inf": Y + np.inf,
    "mixed objects": np.array([1, "a"] * 4, dtype=object), "twos": MATRIX * 2 + MATRIX[::-1], "object": Dummy(),
    "lists": np.array([[1], [1, 2]] * 4, dtype=object), "matrix NaN": MATRIX * np.nan, "generator": (y for y in Y),
    "pandas NA": pd.array([1, None] * 4, dtype="Int64"), "wide short": MATRIX[:-1], "set": set(range(8)),
    "matrix of words": np.full((8, 3), "a"), "matrix of Nones": np.full((8, 3), None),
}  # fmt: skip
IDS = {
    "text": "a", "number": 1, "empty": [], "short": GROUPS[:-1], "long": np.append(GROUPS, 4), "wide": GROUPS[:, None],
    "NaN": np.append(GROUPS[:-1], np.nan), "inf": GROUPS + np.inf, "Nones": [None] * 8, "None in it": [1, None] * 4,
    "NA": [pd.NA] * 8, "pandas NA": pd.array([1, None] * 4, dtype="Int64"),
    "NaT": np.full(8, np.datetime64("NaT", "D")),
    "complex": GROUPS + 1j, "mixed": [1, "1"] * 4, "mixed objects": np.array([1, "1"] * 4, dtype=object),
    "2^53 beside a half": [2**53, 0.5] * 4, "2^53 + 1 beside a float": [2**53 + 1, float(2**53)] * 4,
    "ragged": [[1]] * 7 + [[1, 2]], "dict": {}, "records": np.zeros(8, dtype=[("a", "i8")]),
    "sets": [{1}] * 8, "object": Dummy(),
    "lists": np.array([[1], [1, 2]] * 4, dtype=object), "truths and numbers": [True, 1] * 4,
    "sparse": csr_matrix(GROUPS[:, None]), "generator": (g for g in GROUPS), "beyond int64": [10**30, 1.5] * 4,
}  # fmt: skip
ESTIMATORS = without(OBJECTS, "None") | {"class": Jaccard}
WEIGHTS = without(numbers(8), "None") | {"inside a set": np.arange(8.0), "zeros": np.zeros(8)}
del WEIGHTS["all huge"]


def calls():
    """Each argument of each method."""
    for name, values in PARAMETERS.items():
        yield Parameter(
            f"SetClassifier({name})", lambda v, name=name: clone(MODEL).set_params(**{name: v}).fit(X, Y), values
        )
    files = without(OBJECTS, "None") | {"empty text": "", "a folder": "."}
    yield Parameter("fit(checkpoint)", lambda v: clone(MODEL).fit(X, Y, checkpoint=v), files)
    yield Parameter("fit(resume)", lambda v: clone(MODEL).fit(X, Y, resume=v), FLAGS | {"without a file": True})
    yield Parameter("fit(X, y)", lambda v: clone(MODEL).fit(v, Y), MATRICES)
    yield Parameter("fit(y, Y)", lambda v: clone(MODEL).fit(X, v), TARGETS)
    yield Parameter("fit(groups)", lambda v: clone(MODEL).fit(X, Y, groups=v), IDS)
    yield Parameter("fit of a matrix(groups)", lambda v: clone(MODEL).fit(X, MATRIX, groups=v), IDS | {"right": GROUPS})
    one = lambda v: clone(MODEL).fit(X, Y, groups=GROUPS, sample_weight=v)  # noqa: E731
    yield Parameter("fit(sample_weight)", one, WEIGHTS)
    vector = Proxy(lambda: clone(MODEL).fit(X, Y))
    grouped = Proxy(lambda: clone(MODEL).fit(X, Y, groups=GROUPS))
    many = Proxy(lambda: clone(MODEL).fit(X, MATRIX))
    new = without(MATRICES, "short", "NAs", "words in a table") | {"wide": np.ones((8, 3)), "narrow": np.ones((8, 1))}
    for name, model in {"vector": vector, "matrix": many}.items():
        yield Parameter(f"predict {name}(X)", model.predict, new)
        yield Parameter(f"decision_function {name}(X)", model.decision_function, new)
    sure = partial(Proxy(lambda: clone(MODEL).set_params(surrogate="convex").fit(X, Y)).predict, X)
    yield Parameter("predict(return_certain)", lambda v: sure(return_certain=v), FLAGS)
    yield Parameter("score(X, y)", lambda v: vector.score(v, Y), new | {"short": X[:-1]})
    yield Parameter(
        "score(y, Y)", partial(vector.score, X), without(TARGETS, "one class") | {"more": Y + 1, "m": MATRIX}
    )
    flat = {"column": Y[:, None], "narrow": MATRIX[:, :2], "wide": np.hstack([MATRIX, MATRIX]), "vector": Y}
    yield Parameter("score of a matrix(y, Y)", partial(many.score, X), TARGETS | flat)
    search = partial(SetClassifierCV, MODEL, [1.0], 2)
    yield Parameter("SetClassifierCV(estimator)", lambda v: SetClassifierCV(v).fit(X, Y), ESTIMATORS)
    several = without(numbers(2), "None", "short", "long", "huge", "all huge", "column") | {
        "empty": [],
        "zero": [0.0],
        "matrix": np.ones((2, 2)),
    }
    yield Parameter("SetClassifierCV(Cs)", lambda v: SetClassifierCV(MODEL, v, 2).fit(X, Y), several)
    splitters = without(NO_NUMBERS, "truth", "None") | {"one": 1, "half": 0.5}
    yield Parameter("SetClassifierCV(cv)", lambda v: SetClassifierCV(MODEL, [1.0], v).fit(X, Y), splitters)
    yield Parameter("SetClassifierCV.fit(X, y)", lambda v: search().fit(v, Y), MATRICES)
    yield Parameter("SetClassifierCV.fit(y, Y)", lambda v: search().fit(X, v), TARGETS)
    yield Parameter("SetClassifierCV.fit(groups)", lambda v: search().fit(X, Y, groups=v), IDS)
    yield Parameter("SetClassifierCV.fit(sample_weight)", lambda v: search().fit(X, Y, GROUPS, v), WEIGHTS)
    chosen = Proxy(lambda: search().fit(X, Y))
    yield Parameter("SetClassifierCV.predict(X)", chosen.predict, new)
    yield Parameter("SetClassifierCV.decision_function(X)", chosen.decision_function, new)
    yield Parameter("SetClassifierCV.score(X, y)", lambda v: chosen.score(v, Y), new | {"short": X[:-1]})
    yield Parameter("score(groups)", partial(grouped.score, X, Y), IDS)
    yield Parameter("score(sample_weight)", partial(grouped.score, X, Y, GROUPS), WEIGHTS)


@pytest.mark.parametrize("parameter", list(calls()), ids=lambda parameter: parameter.where)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_malformed_argument_is_refused_in_a_sentence(parameter):
    try_all(parameter)
