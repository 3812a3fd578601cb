"""Batches and spaces of labels that are too many to list: every argument."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from setwise.core.networks import Graphs
from setwise.graphs import Graph
from setwise.spaces import SPACES as LISTED
from setwise.spaces import Candidates, LabelSequences, LargeSpace, Matchings, NetworkLabelings
from setwise.spaces.matchings import Assignments
from setwise.spaces.network_labelings import Labelings
from setwise.spaces.sequences import Sequences
from surface.refusals import COUNTS, FLAGS, NUMBERS, OBJECTS, PARTS, Dummy, Parameter, try_all, without

NETWORKS = Graphs(np.zeros(4, bool), np.array([0, 2, 4]), np.array([[0, 1], [2, 3]]))
BATCHES = {
    "Sequences": partial(Sequences, [2, 2], 2),
    "Assignments": partial(Assignments, [[2, 2], [2, 2]]),
    "Labelings": partial(Labelings, NETWORKS),
}
TRUTHS = {
    "text": "ab", "number": 1, "empty": [], "few": [[]], "many": [[]] * 3, "flat": [[0, 1], []], "object": Dummy(),
    "floats": [[[0.0, 1.0]], []], "narrow": [[[0]], []], "beyond": [[[0, 2]], []], "negative": [[[0, -1]], []],
    "twice": [[[0, 1], [0, 1]], []], "NaN": [[[np.nan, 1]], []], "words": [[["a", "b"]], []], "dict": {},
    "ragged": [[[0], [0, 1]], []], "truths": [[[True, False]], []], "complex": [[[0j, 1]], []],
}  # fmt: skip
LENGTHS = {
    "None": None, "text": "a", "number": 2, "empty": [], "zero": [2, 0], "floats": [2.0], "matrix": [[2]],
    "NaN": [np.nan], "words": ["a"], "truths": [True], "object": Dummy(), "dict": {}, "ragged": [[2], [2, 2]],
}  # fmt: skip
SHAPES = LENGTHS | {"more rows": [[3, 2]], "no rows": [[0, 2]], "three": [[1, 2, 3]], "flat": [2, 2]}
SPACES = {
    "LabelSequences": (LabelSequences(["a", "b"]), [np.ones((2, 1))] * 2),
    "Matchings": (Matchings(), [np.ones((2, 2, 1))] * 2),
    "NetworkLabelings": (NetworkLabelings(), [Graph([[1.0], [2.0]], [[0, 1]])] * 2),
    "Candidates": (Candidates(), [np.ones((2, 1))] * 2),
}
INPUTS = {
    "None": None, "text": "ab", "number": 1, "empty": [], "texts": ["ab"], "Nones": [None], "numbers": [1.0],
    "flat": [[1.0]], "deep": [np.ones((1, 1, 1, 1))], "NaN": [np.full((1, 1), np.nan)], "dict": {}, "object": Dummy(),
    "NaN in cubes": [np.full((1, 1, 1), np.nan)], "words": [[["a"]]], "no features": [np.ones((1, 0))],
    "complex": [np.ones((1, 1)) * 1j], "objects": [Dummy()], "ragged": [[[1.0], [1.0, 2.0]]],
    "sparse": [csr_array(np.eye(2))], "truths": [np.ones((1, 1), bool)], "two widths": [np.ones((1, 1)), np.eye(2)],
}  # fmt: skip
RIGHT = {
    "text": "ab", "number": 1, "empty": [], "few": [[]], "many": [[]] * 3, "numbers": [1, 0], "Nones": [None, []],
    "words": [["ab"], []], "beyond": [[["a", "c"]], []], "deep": [[[["a", "b"]]], []], "NaN": [[[np.nan, np.nan]], []],
    "None in it": [[None], []], "object": Dummy(), "objects": [[Dummy()], []], "dict": {}, "floats": [[[0.0, 0.5]], []],
    "short": [[["a"]], []], "long": [[["a"] * 3], []], "twice": [[["a", "b"]] * 2, []], "class": float,
    "ragged": [[[[0], [0, 1]]], []], "big": [[[0, 10**30]], []],
}  # fmt: skip
LABELS = {
    "None": None, "text": "a", "number": 1, "floats": [0.5], "matrix": [[1]], "words": ["a"], "NaN": [np.nan],
    "object": Dummy(), "dict": {}, "complex": [1j],
}  # fmt: skip


def parameters():
    for name, make in BATCHES.items():
        yield Parameter(f"{name}(truths)", make, without(TRUTHS, "number") | {"number": 1})
        yield Parameter(f"{name}.take(parts)", make().take, PARTS)
    yield Parameter("Sequences(lengths)", lambda v: Sequences(v, 2), LENGTHS)
    yield Parameter("Sequences(k)", partial(Sequences, [2]), COUNTS)
    yield Parameter("Assignments(shapes)", Assignments, SHAPES)
    yield Parameter("Labelings(networks)", Labelings, OBJECTS)
    for kind in LISTED.values():
        if issubclass(kind, LargeSpace) and kind.__name__ not in {*SPACES, "Windows"}:
            space, X = kind.examples()[0]
            yield Parameter(f"{kind.__name__}.bind(X)", space.bind, INPUTS)
            yield Parameter(f"{kind.__name__}.bind(Y, truths)", partial(space.bind, X[:1] * 2), RIGHT)
            yield Parameter(f"{kind.__name__}.decode(labels)", space.decode, LABELS)
    for name, (space, X) in SPACES.items():
        yield Parameter(f"{name}.bind(X)", space.bind, INPUTS)
        yield Parameter(f"{name}.bind(Y, truths)", partial(space.bind, X), RIGHT)
        names = "intercept" if name == "Candidates" else "constant"
        yield Parameter(f"{name}.bind({names})", lambda v, s=space, X=X: s.bind(X, None, v), NUMBERS)
        yield Parameter(f"{name}.decode(labels)", space.decode, LABELS)
    wrong = {"None": None, "text": "ab", "number": 1, "empty": [], "twice": ["a", "a"], "NaN": [np.nan], "lists": [[1]]}
    yield Parameter("LabelSequences(labels)", LabelSequences, wrong | {"dict": {"a": 1}, "object": Dummy()})
    yield Parameter("NetworkLabelings(k)", NetworkLabelings, COUNTS | {"one": 1})
    yield Parameter("NetworkLabelings(tables)", partial(NetworkLabelings, 2), FLAGS)


PARAMETERS = list(parameters())


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.where)
def test_a_malformed_parameter_is_refused_in_a_sentence(parameter):
    try_all(parameter)
