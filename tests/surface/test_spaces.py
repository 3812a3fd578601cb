"""Spaces of labels: every argument."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from setwise.losses import MaxLoss
from setwise.spaces import (
    ClosedSets,
    FiniteSpace,
    Hierarchy,
    ListedSets,
    hierarchical_f1,
    hierarchical_precision,
    hierarchical_recall,
    label_f1,
    label_precision,
    label_recall,
    mean_average_precision,
)
from surface.refusals import COUNTS, OBJECTS, Dummy, Parameter, try_all, without

FINITE, TREE = FiniteSpace(["a", "b"]), Hierarchy({"a": "b"})
LABELS = {
    "None": None, "text": "ab", "number": 1, "empty": [], "twice": ["a", "a"], "NaN": [np.nan], "lists": [["a"]],
    "dict": {"a": 1}, "dicts": [{}], "object": Dummy(), "bytes": b"ab", "class": float, "truth": True,
}  # fmt: skip
FEATURES = {
    "text": "a", "number": 1.0, "flat": [1.0, 2.0], "short": [[1.0]], "long": np.ones((3, 1)), "NaN": [[np.nan]] * 2,
    "inf": [[np.inf]] * 2, "no column": np.zeros((2, 0)), "complex": [[1j]] * 2, "ragged": [[1.0], [1.0, 2.0]],
    "words": [["a"]] * 2, "dict": {}, "object": Dummy(), "objects": np.full((2, 2), Dummy()),
    "cube": np.ones((2, 2, 2)), "sparse": csr_array(np.eye(2)), "truths": np.eye(2, dtype=bool),
}  # fmt: skip
PARENTS = {
    "None": None, "text": "ab", "list": ["a"], "empty": {}, "cycle": {"a": "b", "b": "a"}, "itself": {"a": "a"},
    "twice": {"a": ["b", "b"]}, "dict in it": {"a": {}}, "lists in it": {"a": [["b"]]}, "NaN": {"a": np.nan},
    "object": Dummy(), "number": 1, "longer cycle": {"a": "b", "b": ["c", "d"], "d": "a"}, "NaN node": {np.nan: "a"},
}  # fmt: skip
SETS = {
    "None": None, "text": "ab", "number": 1, "texts": ["ab"], "another": [["c"]], "lists": [[["a"]]], "dicts": [{}],
    "numbers": [1, 0], "Nones": [None], "None in it": [["a", None]], "wide": np.ones((2, 3)), "twos": 2 * np.eye(2),
    "NaN": np.nan * np.eye(2), "words": np.array([["a", "b"]]), "sparse": csr_array(np.eye(2)), "object": Dummy(),
    "dict": {}, "complex": 1j * np.eye(2), "array of numbers": np.ones(2), "bytes": [b"a"], "no dimension": np.ones(()),
    "masked": np.ma.masked_array(np.eye(2), np.eye(2)),
}  # fmt: skip
MATRICES = {
    "None": None, "text": "a", "flat": [1, 0], "wide": np.ones((2, 3)), "twos": 2 * np.eye(2),
    "NaN": np.nan * np.eye(2), "words": [["a", "b"]], "ragged": [[1], [0, 1]],
    "sparse": csr_array(np.eye(2)), "object": Dummy(), "empty": [],
}  # fmt: skip
SCORES = {
    "None": None, "text": "a", "number": 1.0, "flat": [1.0, 0.0], "wide": np.ones((2, 3)), "NaN": np.nan * np.eye(2),
    "words": [["a", "b"]], "ragged": [[1], [0, 1]], "sparse": csr_array(np.eye(2)), "object": Dummy(), "empty": [],
    "truths": np.eye(2, dtype=bool), "complex": 1j * np.eye(2),
}  # fmt: skip
LEGAL = (ListedSets([[1, 0], [1, 1]]), ClosedSets(TREE))
PARAMETERS = [
    Parameter("ListedSets(sets)", ListedSets, without(MATRICES, "wide") | {"no column": np.zeros((2, 0))}),
    Parameter("ClosedSets(hierarchy)", ClosedSets, OBJECTS | {"finite": FINITE, "graph": Hierarchy({"a": ["b", "c"]})}),
    *(
        Parameter(f"{type(legal).__name__}.{name}", call, values)
        for legal in LEGAL
        for name, call, values in (
            ("best(scores)", legal.best, SCORES),
            ("best(k)", partial(legal.best, [[1.0, 2.0]]), without(COUNTS, "truth") | {"zero": 0}),
            ("marginals(scores)", legal.marginals, SCORES),
            ("log_likelihood(scores)", lambda v, legal=legal: legal.log_likelihood(v, [[1, 1]]), SCORES),
            ("log_likelihood(Y)", partial(legal.log_likelihood, [[1.0, 2.0]]), MATRICES),
            ("decide(scores)", lambda v, legal=legal: legal.decide(v, MaxLoss()), SCORES),
            ("decide(loss)", partial(legal.decide, [[1.0, 2.0]]), OBJECTS),
            ("decide(k)", partial(legal.decide, [[1.0, 2.0]], MaxLoss()), without(COUNTS, "truth") | {"zero": 0}),
            ("holds(Y)", legal.holds, MATRICES),
        )
    ),
    Parameter("FiniteSpace(labels)", FiniteSpace, LABELS),
    Parameter("FiniteSpace(features)", partial(FiniteSpace, ["a", "b"]), FEATURES),
    Parameter("Hierarchy(parents)", Hierarchy, PARENTS),
    Parameter("FiniteSpace.encode(Y)", FINITE.encode, SETS),
    Parameter("FiniteSpace.decode(matrix)", FINITE.decode, MATRICES),
    Parameter("Hierarchy.closed(Y)", TREE.closed, SETS),
    *(
        Parameter(f"{score.__name__}({name})", call, values)
        for score in (hierarchical_precision, hierarchical_recall, hierarchical_f1)
        for name, call, values in (
            ("hierarchy", lambda v, score=score: score(v, [["a"]], [["a"]]), OBJECTS | {"finite": FINITE}),
            ("Y", lambda v, score=score: score(TREE, v, [["a"]]), SETS),
            ("predictions", partial(score, TREE, [["a"]]), SETS | {"long": [["a"]] * 2}),
        )
    ),
    *(
        Parameter(f"{score.__name__}({name})", call, values)
        for score in (label_precision, label_recall, label_f1)
        for name, call, values in (
            ("space", lambda v, score=score: score(v, [["a"]], [["a"]]), OBJECTS),
            ("Y", lambda v, score=score: score(TREE, v, [["a"]]), SETS),
            ("Y", lambda v, score=score: score(TREE, v, v), {"empty": [], "no row": np.ones((0, 2))}),
            ("predictions", partial(score, TREE, [["a"]]), SETS | {"long": [["a"]] * 2}),
            (
                "average",
                partial(score, TREE, [["a"]], [["a"]]),
                OBJECTS | {"unknown name": "row", "upper case": "ROWS"},
            ),
        )
    ),
    Parameter("mean_average_precision(space)", lambda v: mean_average_precision(v, [["a"]], [[1.0, 2.0]]), OBJECTS),
    Parameter(
        "mean_average_precision(Y)",
        lambda v: mean_average_precision(TREE, v, [[1.0, 2.0]]),
        SETS | {"nothing true": [[]]},
    ),
    Parameter(
        "mean_average_precision(scores)",
        partial(mean_average_precision, FINITE, [["a"], ["b"]]),
        FEATURES | {"None": None},
    ),
]


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.where)
def test_a_malformed_parameter_is_refused_in_a_sentence(parameter):
    try_all(parameter)
