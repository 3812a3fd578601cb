"""MultilabelStructuredPredictor: its parameters, and every argument of its methods."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from setwise import MultilabelStructuredPredictor
from setwise.losses import MaxLoss
from setwise.spaces import Finite, Hierarchy
from setwise.surrogates import MultilabelHinge
from surface.malformed import COUNTS, FLAGS, NO_NUMBERS, NUMBERS, OBJECTS, Parameter, try_all, without
from surface.test_set_classifier import MATRICES, X
from surface.test_spaces import SETS

Y = [["a"], [], ["a", "b"], ["b"], ["a"], ["b"], [], ["a"]]
MODEL = MultilabelStructuredPredictor(Hierarchy({"a": "b"}), surrogate="hinge", max_iter=5, tol=0.5)
NAMES = OBJECTS | {"unknown name": "hing", "empty text": ""}
PARAMETERS_OF_MODEL = {
    "space": OBJECTS | {"list": ["a", "b"], "class": Finite, "text": "tree"},
    "loss": NAMES | {"class": MaxLoss, "of a ranking": "auc"},
    "rescaling": NAMES,
    "surrogate": NAMES | {"class": MultilabelHinge, "loss": MaxLoss(), "of binary decisions": "lovasz"},
    "learner": NAMES | {"loss": MaxLoss()},
    "C": without(NUMBERS, "truth") | {"auto": "auto", "zero": 0.0},
    "tol": without(NUMBERS, "truth"),
    "max_iter": without(COUNTS, "truth") | {"zero": 0},
    "fit_intercept": without(FLAGS, "one"),
    "intercept_scaling": without(NUMBERS, "truth") | {"zero": 0.0},
    "label_bias": without(NUMBERS, "truth"),
    "start": NAMES,
    "n_jobs": without(NO_NUMBERS, "truth") | {"half": 1.5, "zero": 0, "NaN": np.nan},
    "random_state": without(NO_NUMBERS, "truth") | {"negative": -1, "half": 0.5},
    "verbose": without(NO_NUMBERS, "truth") | {"negative": -1, "half": 0.5},
}
TARGETS = SETS | {"short": Y[:-1], "long": [*Y, []], "empty": []}


def calls():
    """Each argument of each method."""
    for name, values in PARAMETERS_OF_MODEL.items():
        call = lambda v, name=name: clone(MODEL).set_params(**{name: v}).fit(X, Y)  # noqa: E731
        yield Parameter(f"MultilabelStructuredPredictor({name})", call, values)
    yield Parameter("MultilabelStructuredPredictor.fit(X, Y)", lambda v: clone(MODEL).fit(v, Y), MATRICES)
    yield Parameter("MultilabelStructuredPredictor.fit(Y, X)", lambda v: clone(MODEL).fit(X, v), TARGETS)
    model = clone(MODEL).fit(X, Y)
    new = without(MATRICES, "short", "NAs", "words in a table") | {"wide": np.ones((8, 3)), "narrow": np.ones((8, 1))}
    for name in ("predict", "predict_matrix", "decision_function", "certain"):
        yield Parameter(f"MultilabelStructuredPredictor.{name}(X)", getattr(model, name), new)
    yield Parameter("MultilabelStructuredPredictor.score(X, Y)", lambda v: model.score(v, Y), new | {"short": X[:-1]})
    yield Parameter("MultilabelStructuredPredictor.score(Y)", partial(model.score, X), TARGETS)


PARAMETERS = list(calls())


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.where)
def test_a_malformed_parameter_is_refused_in_a_sentence(parameter):
    try_all(parameter)
