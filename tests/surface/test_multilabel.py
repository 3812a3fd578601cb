"""The predictors of sets of labels: their parameters, and every argument of their methods."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from setwise import SSVM, IndependentSVMs, JointKernelSupport, MultilabelStructuredPredictor, PowersetSSVM, gibbs_bound
from setwise.losses import MaxLoss
from setwise.spaces import FiniteSpace, Hierarchy, ListedSets
from setwise.surrogates import MultilabelHinge
from surface.refusals import COUNTS, FLAGS, NO_NUMBERS, NUMBERS, OBJECTS, Parameter, Proxy, try_all, without
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
    "space": OBJECTS | {"list": ["a", "b"], "class": FiniteSpace, "text": "tree"},
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
    "decode": NAMES | {"of three labels": ListedSets([[1, 0, 1]]), "class": ListedSets},
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
    fitted = Proxy(lambda: clone(model).fit(X, Y))
    new = without(MATRICES, "short", "NAs", "words in a table") | {"wide": np.ones((8, 3)), "narrow": np.ones((8, 1))}
    for name in ("predict", "predict_matrix", "decision_function", "certain"):
        if not hasattr(model, name):
            continue
        yield Parameter(f"{kind}.{name}(X)", getattr(fitted, name), new)
    yield Parameter(f"{kind}.score(X, Y)", lambda v: fitted.score(v, Y), new | {"short": X[:-1]})
    yield Parameter(f"{kind}.score(Y)", partial(fitted.score, X), TARGETS)


def calls_of_the_bound():
    """Each argument of the bound."""
    model = clone(MODELS[0]).fit(X, Y)
    of_sums, costly = (
        clone(MODELS[1]).set_params(loss=loss).fit(X, Y) for loss in ("sum", MaxLoss(lambda truth: 2.0 + truth))
    )
    new = without(MATRICES, "NAs", "words in a table") | {"wide": np.ones((8, 3)), "narrow": np.ones((8, 1))}
    models = OBJECTS | {"without weights": clone(MODELS[-1]).fit(X, Y), "not fitted": clone(model)}
    for name, call, values in (
        ("model", lambda v: gibbs_bound(v, X, Y), models),
        ("gibbs_bound", lambda v: gibbs_bound(v, X, Y), {"of sums": of_sums}),
        ("X, Y", lambda v: gibbs_bound(model, v, Y), new),
        ("Y", lambda v: gibbs_bound(model, X, v), TARGETS),
        ("X", lambda v: gibbs_bound(model, v, Y[:1]), {"one row": X[:1]}),
        ("sigma", lambda v: gibbs_bound(model, X, Y, sigma=v), without(NUMBERS, "truth") | {"one": 1.0, "zero": 0.0}),
        ("largest", lambda v: gibbs_bound(costly, X, Y, largest=v), NUMBERS | {"less": 2.9, "None": None}),
        ("rescale", lambda v: gibbs_bound(model, X, Y, rescale=v), FLAGS),
    ):
        yield Parameter(f"gibbs_bound({name})", call, values)


PARAMETERS = [*(parameter for model in MODELS for parameter in calls(model)), *calls_of_the_bound()]


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.where)
def test_a_malformed_parameter_is_refused_in_a_sentence(parameter):
    try_all(parameter)
