"""GraphClassifier: its parameters, and every argument of fit, predict, decision_function, score and evaluate."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from setwise import GraphClassifier
from setwise.graphs import Graph
from setwise.inference import MaxFlow
from setwise.learners import OneSlack
from setwise.losses import Jaccard
from setwise.surrogates import MarginRescaling
from surface.refusals import COUNTS, FLAGS, NO_NUMBERS, NUMBERS, OBJECTS, Dummy, Parameter, Proxy, try_all, without

RNG = np.random.default_rng(0)
GRAPHS = [Graph(RNG.standard_normal((4, 2)), [[0, 1], [2, 3]], regions=[[0, 1], [2, 3]]) for _ in range(3)]
LABELS = [np.array([0, 1, 1, 0]), np.array([1, 0, 1, 0]), np.array([0, 0, 1, 1])]
MODEL = GraphClassifier("hamming", max_iter=5, tol=0.5)
NAMES = OBJECTS | {"unknown name": "jacard", "empty text": ""}
PARAMETERS = {
    "loss": NAMES | {"class": Jaccard, "of a ranking": "auc"},
    "surrogate": NAMES | {"class": MarginRescaling, "loss": Jaccard(), "of independent decisions": "lovasz"},
    "inference": NAMES | {"class": MaxFlow, "name": "max_flow"},
    "learner": NAMES | {"class": OneSlack, "loss": Jaccard()},
    "C": without(NUMBERS, "truth"),
    "tol": without(NUMBERS, "truth"),
    "max_iter": without(COUNTS, "truth") | {"zero": 0},
    "fit_intercept": without(FLAGS, "one"),
    "pos_label": {"another": 2, "text": "1", "list": [1], "NaN": np.nan, "array": np.ones(2), "dict": {}, "NA": pd.NA},
    "start": NAMES,
    "threshold": NAMES | {"another": "one"},
    "n_jobs": without(NO_NUMBERS, "truth") | {"half": 1.5, "zero": 0, "NaN": np.nan},
    "random_state": without(NO_NUMBERS, "truth") | {"negative": -1, "half": 0.5},
    "verbose": without(NO_NUMBERS, "truth") | {"negative": -1, "half": 0.5},
    "warm_start": without(FLAGS, "one"),
}  # fmt: skip
AREAS = Graph(GRAPHS[0].X, GRAPHS[0].edges, areas=np.ones(4))
LISTS = {
    "None": None, "text": "a", "number": 1, "empty": [], "a graph": GRAPHS[0], "dict": {}, "object": Dummy(),
    "matrix": np.ones((3, 4)), "Nones": [None] * 3, "arrays": [graph.X for graph in GRAPHS], "texts": ["a"] * 3,
    "wider": [*GRAPHS[:2], Graph(np.ones((4, 3)), [])], "areas": [*GRAPHS[:2], AREAS],
    "edges": [*GRAPHS[:2], Graph(np.ones((4, 2)), [[0, 1]], [[1.0, 2.0]])],
}  # fmt: skip
TARGETS = {
    "None": None, "text": "a", "number": 1, "empty": [], "two arrays": LABELS[:2], "four arrays": LABELS + LABELS[:1],
    "short": [*LABELS[:2], [0, 1]], "long": [*LABELS[:2], [0, 1, 1, 0, 1]], "one class": [[1] * 4] * 3,
    "none known": [[-1] * 4] * 3, "one class known": [[-1, 1, -1, 1]] * 3, "matrices": [np.eye(2)] * 3,
    "NaN": [*LABELS[:2], [0, 1, np.nan, 1]], "inf": [*LABELS[:2], [0, 1, np.inf, 1]], "Nones": [[None] * 4] * 3,
    "numbers": [1, 0, 1], "object": Dummy(), "objects": [[Dummy()] * 4] * 3,
    "three labels": [*LABELS[:2], [0, 1, 2, 1]],
    "ragged": [[[0], [0, 1], [1], [0]]] * 3, "of several types": [*LABELS[:2], ["0", "1", "1", "0"]],
    "continuous": [*LABELS[:2], [0.5, 0.1, 0.2, 0.3]], "complex": [*LABELS[:2], [0j, 1j, 0j, 1j]],
    "generator of numbers": (i for i in range(3)), "dicts": [{}] * 3, "dict": {},
}  # fmt: skip
IDS = {
    "text": "a", "number": 1, "empty": [], "short": [0, 1], "long": [0, 1, 2, 3], "matrix": np.ones((3, 1)),
    "NaN": [0.0, 1.0, np.nan], "Nones": [None] * 3, "mixed": [1, "1", 1], "complex": [1j, 0j, 1j], "object": Dummy(),
    "dict": {}, "NA": [pd.NA] * 3, "ragged": [[1], [1, 2], [1]], "sets": [{1}] * 3,
}  # fmt: skip


def networks():
    """Each argument of each method."""
    for name, values in PARAMETERS.items():
        call = lambda v, name=name: clone(MODEL).set_params(**{name: v}).fit(GRAPHS, LABELS)  # noqa: E731
        yield Parameter(f"GraphClassifier({name})", call, values)
    fit = lambda graphs=GRAPHS, labels=LABELS, groups=None: clone(MODEL).fit(graphs, labels, groups)  # noqa: E731
    yield Parameter("GraphClassifier.fit(graphs)", fit, LISTS)
    yield Parameter("GraphClassifier.fit(labels)", lambda v: fit(labels=v), without(TARGETS, "three labels"))
    yield Parameter("GraphClassifier.fit(groups)", lambda v: fit(groups=v), IDS)
    model = Proxy(fit)
    new = LISTS | {"all wider": [Graph(np.ones((4, 3)), [])], "all with areas": [AREAS]}
    yield Parameter("GraphClassifier.predict(graphs)", model.predict, new)
    yield Parameter("GraphClassifier.decision_function(graphs)", model.decision_function, new)
    some = without(TARGETS, "one class", "none known", "one class known")
    for name in ("score", "evaluate"):
        measure = getattr(model, name)
        yield Parameter(f"GraphClassifier.{name}(graphs)", lambda v, m=measure: m(v, LABELS), new)
        yield Parameter(f"GraphClassifier.{name}(labels)", partial(measure, GRAPHS), some)
        yield Parameter(f"GraphClassifier.{name}(groups)", partial(measure, GRAPHS, LABELS), IDS)
    wrong = without(NAMES, "None") | {"class": Jaccard}
    yield Parameter("GraphClassifier.evaluate(loss)", partial(model.evaluate, GRAPHS, LABELS, None), wrong)


@pytest.mark.parametrize("parameter", list(networks()), ids=lambda parameter: parameter.where)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_malformed_argument_is_refused_in_a_sentence(parameter):
    try_all(parameter)
