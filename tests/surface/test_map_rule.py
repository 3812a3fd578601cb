"""MapRule: its parameters, and every argument of fit, predict and shift."""

import numpy as np
import pytest
from sklearn.base import clone

from setwise import MapRule
from surface.refusals import COUNTS, NO_NUMBERS, OBJECTS, Parameter, Proxy, try_all, without

RNG = np.random.default_rng(0)
LOGITS, TARGET = RNG.standard_normal((6, 3, 2, 2)), RNG.integers(0, 3, (6, 2, 2))
MODEL = MapRule("dataset", cv=2)
FLAGS = {"None": None, "text": "yes", "one": 1, "number": 0.5}
PARAMETERS = {
    "over": OBJECTS | {"None": None, "another": "mean", "capital": "All"},
    "loss": OBJECTS | {"unknown name": "iuo", "ranking": "auc", "order": "early_detection"},
    "from_logits": FLAGS,
    "ignore_index": without(NO_NUMBERS, "truth", "None") | {"half": 0.5},
    "include_background": FLAGS,
    "cv": COUNTS | {"one": 1},
    "pixels": COUNTS | {"zero": 0},
    "random_state": without(NO_NUMBERS, "truth", "None") | {"negative": -1, "half": 0.5},
}
MAPS = {
    "None": None,
    "number": 3,
    "text": "maps",
    "iterator": iter([1]),
    "empty": [],
    "whole numbers": LOGITS.astype(int),
    "flat": LOGITS[:, 0, 0, 0],
    "words": np.full((6, 3, 2, 2), "a"),
    "complex": LOGITS + 1j,
    "NaN": np.where(LOGITS > 1, np.nan, LOGITS),
    "inf": np.where(LOGITS > 1, np.inf, LOGITS),
    "list of texts": ["a"] * 6,
    "list of lists": [[1, 2]] * 6,
    "mixed": [*LOGITS[:5], LOGITS[0, :2]],
}
TARGETS = {
    "number": 3,
    "text": "maps",
    "short": TARGET[:5],
    "wide": np.zeros((6, 2, 3), int),
    "floats": TARGET * 1.0,
    "negative": TARGET - 1,
    "large": TARGET + 1,
    "words": np.full((6, 2, 2), "a"),
    "list of texts": ["a"] * 6,
}


def calls():
    """Each argument of each method."""
    for name, values in PARAMETERS.items():
        yield Parameter(
            f"MapRule({name})", lambda v, name=name: clone(MODEL).set_params(**{name: v}).fit(LOGITS, TARGET), values
        )
    yield Parameter("MapRule.fit(logits)", lambda v: clone(MODEL).fit(v, TARGET), MAPS)
    yield Parameter("MapRule.fit(target)", lambda v: clone(MODEL).fit(LOGITS, v), TARGETS)
    groups = {"short": [0, 1], "number": 3, "text": "abcdef", "matrix": np.zeros((6, 2))}
    yield Parameter("MapRule.fit(groups)", lambda v: clone(MODEL).fit(LOGITS, TARGET, v), groups)
    model = Proxy(lambda: clone(MODEL).fit(LOGITS, TARGET))
    wide = MAPS | {"other classes": np.zeros((6, 2, 2, 2))}
    yield Parameter("MapRule.predict(logits)", model.predict, wide)
    yield Parameter("MapRule.shift(logits)", model.shift, wide | {"few": LOGITS[:4]})


@pytest.mark.parametrize("parameter", list(calls()), ids=lambda p: p.where)
def test_odd_arguments_are_refused_in_a_sentence(parameter):
    try_all(parameter)
