"""The estimator of rows in bags: its parameters, and every argument of fit, predict, predict_bags and score."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

from setwise import WeakSetClassifier
from surface.refusals import COUNTS, NO_NUMBERS, NUMBERS, OBJECTS, Dummy, Parameter, Proxy, numbers, try_all, without
from surface.test_set_classifier import IDS, MATRICES, TARGETS, X, Y

GROUPS = np.repeat([0, 1], 4)
KNOWN = np.bincount(GROUPS, Y).astype(int)
MODEL = WeakSetClassifier(max_iter=50, tol=1e-2)
NAMES = without(OBJECTS, "None") | {"unknown name": "counts", "empty text": ""}
PARAMETERS = {
    "estimator": without(OBJECTS, "None") | {"text": "logistic"},
    "method": NAMES | {"None": None},
    "C": without(NUMBERS, "truth") | {"zero": 0.0},
    "classes": {
        "text": "ab", "number": 2, "one": [0], "equal": [1, 1], "-1": [-1, 1], "None in it": [0, None],
        "mixed": [0, "a"], "matrix": [[0, 1]], "empty": [], "NaN": [0.0, np.nan], "object": Dummy(),
        "ragged": [[0], [0, 1]], "others": [2, 3],
    },
    "cv": without(COUNTS, "truth") | {"one": 1},
    "tol": without(NUMBERS, "truth"),
    "max_iter": without(COUNTS, "truth", "None") | {"zero": 0},
    "n_jobs": without(NO_NUMBERS, "truth") | {"half": 1.5, "zero": 0, "NaN": np.nan},
    "random_state": without(NO_NUMBERS, "truth") | {"negative": -1, "half": 0.5},
    "verbose": without(NO_NUMBERS, "truth") | {"negative": -1, "half": 0.5},
}  # fmt: skip
# A label is unknown where it is missing, and one class may be known alone.
UNKNOWN = ("None", "NaN", "Nones", "None in it", "NA", "one class", "pandas NA")
LABELS = without(TARGETS, *UNKNOWN, "cube", "twos", "wide short", "matrix of Nones") | {"wide": np.column_stack([Y, Y])}
VALUES = without(numbers(2), "None", "NaN", "Nones", "NA", "dict", "matrix") | {
    "by row": np.arange(8) % 2, "None and text": [None, "a"], "wide": np.ones((2, 3)), "cube": np.ones((2, 2, 2)),
    "other ids": {"a": 1}, "text in a mapping": {0: "a"}, "list in a mapping": {0: [1, 0], 1: [1, 0, 0]},
    "sparse": csr_matrix(np.ones((2, 1))), "masked": np.ma.masked_array([1, 1], [0, 1]), "truth": True,
    "truth in a mapping": {0: True}, "ragged mapping": {0: [[1], [1, 2]]}, "object in a mapping": {0: Dummy()},
    "series": pd.Series([1, 2, 3]), "complex in a mapping": {0: 1j}, "more": [5, 5],
}  # fmt: skip
del VALUES["number"]


def calls():
    """Each argument of each method."""
    for name, values in PARAMETERS.items():
        one = lambda v, name=name: clone(MODEL).set_params(**{name: v}).fit(X, Y)  # noqa: E731
        yield Parameter(f"WeakSetClassifier({name})", one, values)
    yield Parameter("WeakSetClassifier.fit(X, y)", lambda v: clone(MODEL).fit(v, Y), MATRICES)
    yield Parameter("WeakSetClassifier.fit(y)", lambda v: clone(MODEL).fit(X, v), LABELS)
    yield Parameter("WeakSetClassifier.fit(groups)", lambda v: clone(MODEL).fit(X, Y, groups=v), IDS)
    fitted = Proxy(lambda: clone(MODEL).fit(X, Y))
    new = without(MATRICES, "short", "NAs", "words in a table") | {"wide": np.ones((8, 3)), "narrow": np.ones((8, 1))}
    for name in ("predict", "predict_proba", "decision_function", "predict_bags"):
        yield Parameter(f"{name} of bags(X)", getattr(fitted, name), new)
    yield Parameter("predict_bags(groups)", partial(fitted.predict_bags, X), IDS)
    yield Parameter("score of bags(X, y)", lambda v: fitted.score(v, Y), new | {"short": X[:-1]})
    yield Parameter("score of bags(y)", partial(fitted.score, X), LABELS)
    yield Parameter("score of bags(groups)", lambda v: fitted.score(X, Y, groups=v), IDS)
    half = without(VALUES, "more")
    for name, values in {"counts": VALUES, "at_least": VALUES, "proportions": half | {"more": [0.5, 1.1]}}.items():
        for method in ("fit", "score"):
            one = lambda v, name=name, method=method: getattr(clone(MODEL).fit(X, Y), method)(  # noqa: E731
                X, None, groups=GROUPS, **{name: v}
            )
            odd = without(values, "huge") if name == "proportions" else values
            yield Parameter(f"WeakSetClassifier.{method}({name})", one, odd)
    pairs = without(VALUES, "wide") | {"one number": 1, "falls": (2, 1), "three": (0, 1, 2), "beyond": (0, 5)}
    for method in ("fit", "score"):
        one = lambda v, method=method: getattr(clone(MODEL).fit(X, Y), method)(X, None, groups=GROUPS, between=v)  # noqa: E731
        yield Parameter(f"WeakSetClassifier.{method}(between)", one, pairs)


@pytest.mark.parametrize("parameter", list(calls()), ids=lambda parameter: parameter.where)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_malformed_argument_is_refused_in_a_sentence(parameter):
    try_all(parameter)
