"""The predictors of sets of labels: their parameters, and every argument of their methods."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from setwise import SSVM, IndependentSVMs, JointKernelSupport, MultilabelStructuredPredictor, PowersetSSVM
from setwise.losses import MaxLoss
from setwise.spaces import Finite, Hierarchy
from setwise.surrogates import MultilabelHinge
from surface.malformed import COUNTS, FLAGS, NO_NUMBERS, NUMBERS, OBJECTS, Parameter, try_all, without
from surface.test_set_classifier import MATRICES, X
from surface.test_spaces import SETS

Y = [["a"], [], ["a", "b"], ["b"], ["a"], ["b"], [], ["a"]]
TREE = Hierarchy({"a": "b"})
MODELS = [
    MultilabelStructuredPredictor(TREE, surrogate="hinge", max_iter=5, tol=0.5),
    *(kind(TREE, max_iter=20, tol=0.5) for kind in (PowersetSSVM, SSVM, IndependentSVMs)),
    JointKernelSupport(TREE),
]
NAMES = OBJECTS | {"unknown name": "hing", "empty text": ""}
PARAMETERS_OF_MODELS = {
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
    "nu": without(NUMBERS, "truth") | {"zero": 0.0, "one": 1.0},
    "kernel": without(NAMES, "class")
    | {"of another shape": lambda A, B: A[:1], "NaN": lambda A, B: np.full((len(A), len(B)), np.nan)},
    "n_jobs": without(NO_NUMBERS, "truth") | {"half": 1.5, "zero": 0, "NaN": np.nan},
    "random_state": without(NO_NUMBERS, "truth") | {"negative": -1, "half": 0.5},
    "verbose": without(NO_NUMBERS, "truth") | {"negative": -1, "half": 0.5},
}
TARGETS = SETS | {"short": Y[:-1], "long": [*Y, []], "empty": []}


def calls(model):
    """Each argument of each method of a model."""
    kind, known = type(model).__name__, model.get_params(deep=False)
    for name in known:
        call = lambda v, name=name: clone(model).set_params(**{name: v}).fit(X, Y)  # noqa: E731
        yield Parameter(f"{kind}({name})", call, PARAMETERS_OF_MODELS[name])
    yield Parameter(f"{kind}.fit(X, Y)", lambda v: clone(model).fit(v, Y), MATRICES)
    yield Parameter(f"{kind}.fit(Y, X)", lambda v: clone(model).fit(X, v), TARGETS)
    fitted = clone(model).fit(X, Y)
    new = without(MATRICES, "short", "NAs", "words in a table") | {"wide": np.ones((8, 3)), "narrow": np.ones((8, 1))}
    for name in ("predict", "predict_matrix", "decision_function", "certain"):
        if not hasattr(fitted, name):
            continue
        yield Parameter(f"{kind}.{name}(X)", getattr(fitted, name), new)
    yield Parameter(f"{kind}.score(X, Y)", lambda v: fitted.score(v, Y), new | {"short": X[:-1]})
    yield Parameter(f"{kind}.score(Y)", partial(fitted.score, X), TARGETS)


PARAMETERS = [parameter for model in MODELS for parameter in calls(model)]


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.where)
def test_a_malformed_parameter_is_refused_in_a_sentence(parameter):
    try_all(parameter)
