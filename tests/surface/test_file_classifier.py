"""The estimator of rows on disk: its parameters, and every argument of fit, predict and score."""

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from setwise import FileClassifier
from surface.refusals import NO_NUMBERS, OBJECTS, Dummy, Parameter, Proxy, try_all, without
from surface.test_set_classifier import GROUPS, IDS, MATRICES, PARAMETERS, TARGETS, X, Y

pytest.importorskip("pyarrow")

MODEL = FileClassifier(max_iter=50, tol=1e-2)
OWN = {
    "memory": without(NO_NUMBERS, "digits") | {
        "None": None, "half": 1.5, "zero": 0, "negative": -1, "unit": "1 parsec", "negative text": "-1GB", "NaN": "nan",
        "little": 100, "little text": "300B",
    },
    "n_jobs": without(NO_NUMBERS, "truth") | {"half": 1.5, "zero": 0, "NaN": np.nan},
}  # fmt: skip
NAMES = without(OBJECTS, "None") | {"another": "z", "array": Y, "empty": "", "a feature": "a", "both": ["y", "g"]}
FILES = {
    "None": None, "number": 1.0, "list": [[1.0]], "dict": {}, "object": Dummy(), "frame": pd.DataFrame(X),
    "folder": "/", "no file": "none.parquet", "empty": "", "null byte": "\0", "bytes": b"rows.parquet",
    "this file": __file__, "masked": np.ma.masked_array(X, X > 0),
}  # fmt: skip


@pytest.fixture(scope="module")
def path():
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder, "rows.parquet")
        pd.DataFrame(X, columns=["a", "b"]).assign(y=Y, g=GROUPS).to_parquet(found)
        yield found


def calls():
    """Each argument of each method, for arrays."""
    shared = {name: PARAMETERS[name] for name in MODEL.get_params() if name in PARAMETERS and name != "n_jobs"}
    for name, values in (shared | OWN).items():
        one = lambda v, name=name: clone(MODEL).set_params(**{name: v}).fit(X, Y)  # noqa: E731
        yield Parameter(f"FileClassifier({name})", one, values)
    fitted = Proxy(lambda: clone(MODEL).fit(X, Y))
    yield Parameter("FileClassifier.fit(X, y)", lambda v: clone(MODEL).fit(v, Y), MATRICES | FILES)
    yield Parameter("FileClassifier.fit(y)", lambda v: clone(MODEL).fit(X, v), TARGETS)
    yield Parameter("FileClassifier.fit(groups)", lambda v: clone(MODEL).fit(X, Y, v), IDS)
    names = without(OBJECTS, "None") | {"text": "a", "list of names": ["a", "b"]}
    yield Parameter("FileClassifier.fit(features)", lambda v: clone(MODEL).fit(X, Y, None, v), names)
    files = without(OBJECTS, "None") | {"folder": "none/fit.npz"}
    yield Parameter("FileClassifier.fit(checkpoint)", lambda v: clone(MODEL).fit(X, Y, checkpoint=v), files)
    new = without(MATRICES, "short") | FILES | {"wide": np.ones((8, 3)), "narrow": np.ones((8, 1))}
    for method in ("predict", "decision_function"):
        yield Parameter(f"FileClassifier.{method}(X)", getattr(fitted, method), new)
    yield Parameter("FileClassifier.score(X, y)", lambda v: fitted.score(v, Y), new | {"short": X[:-1]})
    targets = without(TARGETS, "one class") | {"more": Y + 1}
    yield Parameter("FileClassifier.score(y)", partial(fitted.score, X), targets)
    yield Parameter("FileClassifier.score(groups)", partial(fitted.score, X, Y), IDS)


@pytest.mark.parametrize("parameter", list(calls()), ids=lambda parameter: parameter.where)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_malformed_argument_is_refused_in_a_sentence(parameter):
    try_all(parameter)


@pytest.mark.parametrize("method", ["fit", "score"])
def test_a_malformed_column_is_refused_in_a_sentence(method, path):
    model = clone(MODEL).fit(path, "y", "g", ["a", "b"])
    call = getattr(model if method == "score" else clone(MODEL), method)
    try_all(Parameter(f"FileClassifier.{method}(y)", lambda v: call(path, v), NAMES | {"None": None}))
    try_all(Parameter(f"FileClassifier.{method}(groups)", lambda v: call(path, "y", v), without(NAMES, "a feature")))
    if method == "fit":
        odd = NAMES | {"y": ["a", "y"], "twice": ["a", "a"], "none": [], "numbers": [0, 1]}
        try_all(Parameter("FileClassifier.fit(features)", lambda v: call(path, "y", None, v), odd))
