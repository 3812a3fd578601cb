"""Graphs and images: every argument."""

from functools import partial

import numpy as np
import pytest

from setwise.core.networks import Graphs
from setwise.graphs import Graph, box_labels, from_image, known_part, trimap_labels
from surface.refusals import COUNTS, OBJECTS, Dummy, Parameter, numbers, try_all, without

X, EDGES = np.arange(12.0).reshape(4, 3), np.array([[0, 1], [2, 3]])
MAP = np.array([[0, 1], [2, 3]])
MATRICES = {
    "None": None, "text": "a", "number": 1.0, "flat": X[0], "words": [["a"]], "NaN": X * np.nan, "inf": X + np.inf,
    "complex": X + 1j, "ragged": [[1.0], [1.0, 2.0]], "empty": np.zeros((0, 3)), "dict": {}, "object": Dummy(),
    "objects": np.full((4, 3), Dummy()), "dates": np.zeros((4, 3), "M8[D]"), "digits": [["1"] * 3] * 4,
    "no column": X[:, :0],
}  # fmt: skip
PAIRS = {
    "text": "a", "number": 1, "flat": [0, 1], "floats": EDGES * 1.0, "outside": [[0, 4]], "negative": [[-1, 0]],
    "loop": [[1, 1]], "triples": [[0, 1, 2]], "words": [["0", "1"]], "ragged": [[0], [0, 1]], "object": Dummy(),
    "truths": [[True, False]], "beyond": [[0, 10**30]], "None": None, "dict": {}, "no columns": np.zeros((2, 0)),
}  # fmt: skip
MAPS = {
    "text": "a", "number": 1, "flat": [0, 1], "floats": MAP * 1.0, "outside": MAP + 1, "negative": MAP - 1,
    "cube": MAP[None], "words": [["0"]], "ragged": [[0], [0, 1]], "object": Dummy(), "truths": MAP > 1, "dict": {},
    "empty": np.zeros((0, 2), dtype=int), "complex": MAP + 1j,
}  # fmt: skip
IMAGES = without(MATRICES, "text", "no column", "digits") | {
    "text": "a.png", "whole numbers": MAP, "truths": MAP > 1, "two layers": np.zeros((2, 2, 2, 2)), "huge": X * 1e300,
    "no pixel": np.zeros((0, 2)), "no channel": np.zeros((2, 2, 0)), "int8": MAP.astype(np.int8),
    "channels first": np.zeros((3, 6, 6)),
}  # fmt: skip
NAMES = OBJECTS | {"unknown name": ["colour"], "empty": [], "text": "color", "numbers": [1]}


def graphs():
    one = partial(Graph, X, EDGES)
    yield Parameter("Graph(X)", lambda v: Graph(v, EDGES), MATRICES | {"cube": X[None]})
    yield Parameter("Graph(edges)", lambda v: Graph(X, v), PAIRS)
    features = {"negative": -X[:2], "three edges": X[:3], "cube": X[None], "no rows": X[:0]}
    yield Parameter("Graph(Z)", one, without(MATRICES, "None") | features)
    yield Parameter("Graph(areas)", partial(one, None), without(numbers(4), "None", "huge") | {"zeros": np.zeros(4)})
    yield Parameter("Graph(regions)", partial(one, None, None), MAPS)
    graph = one(None, None, MAP)
    yield Parameter(
        "Graph.paint(labels)", graph.paint, {"None": None, "short": [1], "matrix": MAP, "ragged": [[1], [1, 2]]}
    )
    masks = without(MAPS, "outside", "truths", "negative") | {
        "-2": MAP - 2,
        "of another shape": MAP[:1],
        "large": MAP + 10**6,
    }
    yield Parameter("Graph.labels_of(mask)", graph.labels_of, masks | {"None": None})


def weak_labels():
    box, masks = [[0, 0, 1, 1]], without(OBJECTS, "array") | {"numbers": MAP, "empty": MAP[:0] > 1}
    shapes = OBJECTS | {"zero": (0, 3), "one": (3,), "floats": (2.0, 2.0), "three": (2, 2, 2)}
    yield Parameter("box_labels(shape)", lambda v: box_labels(v, box), shapes)
    boxes = {"outside": [[0, 0, 3, 1]], "turned": [[1, 0, 0, 1]], "negative": [[-1, 0, 1, 1]], "floats": [[0.0] * 4]}
    boxes |= {"three": [[0, 0, 1]], "cube": [[box[0]]], "flat": box[0], "words": [["a"] * 4], "ragged": [[0], [0, 1]]}
    yield Parameter("box_labels(boxes)", lambda v: box_labels((2, 2), v), boxes)
    yield Parameter("trimap_labels(inside)", lambda v: trimap_labels(v, MAP > 9), masks | {"row": MAP[:1] > 1})
    yield Parameter("trimap_labels(outside)", lambda v: trimap_labels(MAP > 1, v), masks | {"both": MAP > 2})
    unknown = Graphs(np.full(2, -1, np.int8), np.array([0, 2]), EDGES[:1])
    yield Parameter("known_part(graphs)", known_part, OBJECTS | {"unknown": unknown})


def images():
    image = np.arange(16.0).reshape(4, 4)
    yield Parameter("from_image(image)", from_image, IMAGES)
    maps = without(MAPS, "outside", "negative", "truths") | {"shape": MAP, "name": "quickshift"}
    yield Parameter("from_image(segments)", partial(from_image, image), maps)
    yield Parameter("from_image(node_features)", lambda v: from_image(image, node_features=v), NAMES)
    edges = OBJECTS | {"unknown": "color", "list": ["contrast"]}
    yield Parameter("from_image(edge_features)", lambda v: from_image(image, edge_features=v), edges)
    yield Parameter("from_image(neighbors)", lambda v: from_image(image, neighbors=v), COUNTS | {"six": 6})
    yield Parameter("from_image(size)", lambda v: from_image(image, size=v), COUNTS | {"zero": 0})


@pytest.mark.parametrize("parameter", [*graphs(), *images(), *weak_labels()], ids=lambda parameter: parameter.where)
def test_a_malformed_argument_is_refused_in_a_sentence(parameter):
    try_all(parameter)
