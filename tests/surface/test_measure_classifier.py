"""MeasureClassifier, its strategies and its picture: parameters, and every argument of the methods."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import RepeatedKFold

from setwise import MeasureClassifier
from setwise.estimators.selection import (
    GFM,
    STRATEGIES,
    BayesDecision,
    ClassWeight,
    RampStack,
    Stack,
    ThresholdPerLabel,
    as_strategies,
)
from setwise.losses import Jaccard, RocArea
from setwise.plotting import CandidatesDisplay
from surface.refusals import (
    COUNTS,
    FLAGS,
    NO_NUMBERS,
    NUMBERS,
    OBJECTS,
    Parameter,
    Proxy,
    labels,
    numbers,
    try_all,
    without,
)
from surface.test_set_classifier import IDS, MATRICES, TARGETS, WEIGHTS

RNG = np.random.default_rng(0)
X = RNG.standard_normal((8, 2))
Y = np.array([1, 0, 1, 0, 1, 0, 0, 1])
GROUPS = np.repeat([0, 1, 2, 3], 2)
MATRIX = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 1, 1], [0, 0, 0]])
MODEL = MeasureClassifier(LogisticRegression(), strategies=["as_it_is"], cv=2)
NAMES = OBJECTS | {"unknown name": "jacard", "empty text": ""}
PARAMETERS = {
    "estimator": without(OBJECTS, "None") | {"regression": LinearRegression(), "clusters": KMeans(2), "text": "a"},
    "loss": NAMES | {"class": Jaccard, "needs parameters": "capped", "a ranking": "auc", "of a ranking": RocArea()},
    "strategies": {
        "None": None, "number": 3, "unknown": ["magic"], "text": "magic", "twice": ["threshold", "threshold"],
        "class": [ClassWeight], "numbers": [1, 2], "dict": {}, "None in it": [None], "bytes": b"a", "object": Jaccard(),
    },
    "cv": {
        "text": "five", "half": 1.5, "zero": 0, "one": 1, "negative": -2, "too many": 9,
        "splitter": RepeatedKFold(n_splits=2),
        "empty": [], "rows twice": [(np.arange(4), np.arange(8))] * 2, "object": Jaccard(), "dict": {}, "truth": True,
        "words": [("a", "b")], "numbers": [1, 2], "outside": [(np.arange(4), np.arange(4, 9))], "NaN": np.nan,
        "same rows": [(np.arange(8), np.arange(4)), (np.arange(8), np.arange(4, 8))], "bytes": b"5",
    },
    "refit": without(FLAGS, "one") | {"no, without prefit": False},
    "response_method": NAMES | {"predict": "predict"},
    "pos_label": {"another": 2, "text": "1", "list": [1], "NaN": np.nan, "array": np.ones(2), "dict": {}},
    "average": NAMES,
    "outer_cv": without(NO_NUMBERS, "truth") | {"one": 1, "half": 2.5, "zero": 0, "negative": -1, "truth": True},
    "store_cv_results": without(FLAGS, "one"),
    "n_jobs": without(NO_NUMBERS, "truth") | {"half": 1.5, "zero": 0, "NaN": np.nan},
    "random_state": without(NO_NUMBERS, "truth") | {"negative": -1, "half": 0.5},
}  # fmt: skip


def of_parameters():
    for name, values in PARAMETERS.items():
        target = MATRIX if name in ("average",) else Y
        yield Parameter(
            f"MeasureClassifier({name})",
            lambda v, name=name, target=target: clone(MODEL).set_params(**{name: v}).fit(X, target),
            values,
        )


def of_methods():
    # X goes to the estimator untouched, and LogisticRegression answers for what it cannot read.
    readable = (
        "words", "strings", "bytes", "words in a table", "objects", "beyond floats", "ragged", "lists", "object", "NAs",
        "records", "text", "number", "dict", "sparse flat", "complex", "sparse complex", "None",
    )  # fmt: skip
    files = without(OBJECTS, "None") | {"empty text": "", "a folder": "."}
    yield Parameter("fit(checkpoint)", lambda v: clone(MODEL).fit(X, Y, checkpoint=v), files)
    yield Parameter("fit(resume)", lambda v: clone(MODEL).fit(X, Y, resume=v), FLAGS | {"without a file": True})
    yield Parameter("fit(X, y, estimator)", lambda v: clone(MODEL).fit(v, Y), without(MATRICES, *readable))
    yield Parameter("fit(y, Y)", lambda v: clone(MODEL).fit(X, v), TARGETS)
    yield Parameter("fit(groups)", lambda v: clone(MODEL).fit(X, Y, groups=v), IDS)
    # Here a weight belongs to a row, so that it may differ inside a set, and only the estimator adds weights up.
    yield Parameter(
        "fit(sample_weight)",
        lambda v: clone(MODEL).fit(X, Y, sample_weight=v),
        without(WEIGHTS, "inside a set", "huge"),
    )
    vector, many = Proxy(lambda: clone(MODEL).fit(X, Y)), Proxy(lambda: clone(MODEL).fit(X, MATRIX))
    grouped = Proxy(lambda: clone(MODEL).fit(X, Y, groups=GROUPS))
    yield Parameter("predict(groups)", partial(grouped.predict, X), IDS)
    flat = {"column": Y[:, None], "narrow": MATRIX[:, :2], "wide": np.hstack([MATRIX, MATRIX]), "vector": Y}
    yield Parameter(
        "score(y, Y)", partial(vector.score, X), without(TARGETS, "one class") | {"more": Y + 1, "m": MATRIX}
    )
    yield Parameter("score of a matrix(y, Y)", partial(many.score, X), TARGETS | flat)
    yield Parameter("score(groups)", partial(grouped.score, X, Y), IDS)


def of_strategies():
    yield Parameter("as_strategies(strategies)", as_strategies, PARAMETERS["strategies"])
    positive = without(NUMBERS, "truth") | {"zero": 0.0}
    for kind in (GFM, RampStack, Stack):
        yield Parameter(f"{kind.__name__}(C)", kind, positive)
    yield Parameter("BayesDecision(calibration)", BayesDecision, without(NAMES, "None"))
    yield Parameter("ThresholdPerLabel(shrinkage)", ThresholdPerLabel, NUMBERS | {"below": -0.1, "another": "all"})
    weights = without(numbers(3), "None", "short", "long", "huge", "all huge", "set", "generator")
    yield Parameter("ClassWeight(weights)", ClassWeight, weights | {"zero": (0.0,)})


def of_the_picture():
    good = {
        "names": ["a", "b"],
        "losses": [0.5, 0.4],
        "errors": [0.1, 0.1],
        "gains": [0.0, 0.1],
        "gain_errors": [0, 0.1],
    }
    names = {"None": None, "text": "ab", "empty": [], "numbers": [1, 2], "number": 3}
    yield Parameter("CandidatesDisplay(names)", lambda v: CandidatesDisplay(**(good | {"names": v})), names)
    for name in ("losses", "errors", "gains", "gain_errors"):
        yield Parameter(
            f"CandidatesDisplay({name})",
            lambda v, name=name: CandidatesDisplay(**(good | {name: v})),
            without(numbers(2, negative=True), "huge", "all huge"),
        )
    chosen = without(OBJECTS, "None") | {"another": "c"}
    yield Parameter("CandidatesDisplay(chosen)", lambda v: CandidatesDisplay(**good, chosen=v), chosen)
    unfitted = {"not fitted": MODEL, "another": LogisticRegression(), "the class": MeasureClassifier}
    yield Parameter("CandidatesDisplay.from_estimator(estimator)", CandidatesDisplay.from_estimator, OBJECTS | unfitted)
    make = CandidatesDisplay.from_predictions
    yield Parameter("CandidatesDisplay.from_predictions(y_true)", lambda v: make(v, {"a": Y}, "f1"), labels(8))
    guesses = {"list": [Y], "empty": {}, "numbers": {1: Y}, "short": {"a": Y[:-1]}, "words": {"a": ["b"] * 8}}
    guesses |= {"twos": {"a": Y * 2}, "None": None, "NaN": {"a": Y * np.nan}, "nothing": {"a": None}}
    yield Parameter("CandidatesDisplay.from_predictions(predictions)", lambda v: make(Y, v, "f1"), guesses)
    yield Parameter("CandidatesDisplay.from_predictions(loss)", lambda v: make(Y, {"a": Y}, v), PARAMETERS["loss"])
    yield Parameter(
        "CandidatesDisplay.from_predictions(groups)",
        lambda v: make(Y, {"a": Y}, "f1", groups=v),
        {"text": "a", "short": [0, 1], "words": ["a"] * 8, "negative": -np.ones(8, int), "halves": np.ones(8) / 2},
    )
    matrix = partial(make, MATRIX, {"a": MATRIX}, "f1")
    yield Parameter("CandidatesDisplay.from_predictions(average)", lambda v: matrix(average=v), NAMES)
    yield Parameter("CandidatesDisplay.from_predictions(groups)", lambda v: matrix(groups=v), {"a matrix": GROUPS})
    yield Parameter(
        "CandidatesDisplay.from_predictions(seed)",
        lambda v: make(Y, {"a": Y}, "f1", seed=v),
        without(COUNTS, "None"),
    )
    yield Parameter("CandidatesDisplay.plot(ax)", CandidatesDisplay(**good).plot, without(OBJECTS, "None"))


PARAMETERS_OF_ALL = [*of_parameters(), *of_methods(), *of_strategies(), *of_the_picture()]


@pytest.mark.parametrize("parameter", PARAMETERS_OF_ALL, ids=lambda parameter: parameter.where)
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_a_malformed_argument_is_refused_in_a_sentence(parameter):
    try_all(parameter)


def test_every_strategy_is_tried():
    without_parameters = {"as_it_is", "threshold"}
    assert set(STRATEGIES) - without_parameters == {
        kind.name for kind in (ClassWeight, BayesDecision, GFM, RampStack, Stack, ThresholdPerLabel)
    }
