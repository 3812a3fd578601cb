"""Windows of images, what wrong ones cost, and their scores: every argument."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from setwise.core.bound_loss import BoundLoss
from setwise.losses import EqualCosts, GivenCosts, NearestHammingCosts
from setwise.spaces import (
    ByWindows,
    Overlap,
    Windows,
    WordImage,
    window_average_precision,
    window_f1,
    window_precision,
    window_recall,
)
from setwise.spaces.boxes import Boxes
from surface.refusals import COUNTS, NUMBERS, OBJECTS, PARTS, Dummy, Parameter, numbers, try_all, without

IMAGE, SPACE = WordImage(4, 4, [[0, 0, 1]]), Windows(2)
BATCH = Boxes([[4, 4], [4, 4]], [[[0, 0]], [[1, 1]]])
BAD_BOXES = {
    "text": "a", "number": 1, "flat": [0, 0, 1, 1], "narrow": [[0, 0, 1]], "floats": [[0.0, 0.0, 1.0, 1.0]],
    "no pixel": [[1, 1, 1, 2]], "inside out": [[2, 0, 1, 1]], "NaN": [[np.nan] * 4], "words": [["a"] * 4],
    "ragged": [[0], [0, 1]], "object": Dummy(), "complex": [[0j, 0, 1, 1]], "truths": [[False, False, True, True]],
    "sparse": csr_array(np.eye(4)), "masked": np.ma.masked_array(np.eye(4), np.eye(4)), "beyond": [[0, 0, 1, 10**30]],
    "huge": [[0, 0, 1, 2**40]],
}  # fmt: skip
OUTSIDE = {"outside": [[0, 0, 5, 5]], "negative": [[-1, 0, 1, 1]]}
LISTS = {"text": "ab", "number": 1, "empty": [], "one": [()], "three": [()] * 3, "dict": {}, "object": Dummy()}
LISTS |= {label: [boxes, ()] for label, boxes in BAD_BOXES.items()}
WHERE = {
    "text": "a", "number": 1, "flat": [0, 0], "floats": [[0.0, 0.0]], "outside": [[4, 0]], "negative": [[-1, 0]],
    "NaN": [[np.nan, 0]], "words": [["a", "b"]], "ragged": [[0], [0, 1]], "object": Dummy(), "wide": [[0] * 5],
    "complex": [[0j, 0]], "truths": [[True, False]], "beyond": [[0, 10**30]],
}  # fmt: skip
WORDS = WHERE | {
    "pixels": [[0, 0]], "outside": [[0, 4, 0]], "negative": [[0, 0, -1]], "floats": [[0.0] * 3], "None": None,
    "complex": [[0j, 0, 0]], "truths": [[True] * 3], "beyond": [[0, 0, 10**30]], "unsigned": [[0, 0, 2**64 - 1]],
}  # fmt: skip
SHAPES = {
    "None": None, "text": "a", "number": 4, "flat": [4, 4], "zero": [[0, 4], [4, 4]], "floats": [[4.0, 4.0]] * 2,
    "large": [[4, 2**20]] * 2, "empty": [], "NaN": [[np.nan, 4]] * 2, "words": [["a", "b"]] * 2, "object": Dummy(),
}  # fmt: skip
INPUTS = {
    "None": None, "text": "ab", "number": 1, "empty": [], "numbers": [1, 2], "arrays": [np.zeros((1, 3), int)],
    "dict": {}, "object": Dummy(), "other words": [WordImage(2, 2, [[0, 0, 2]])] * 2, "Nones": [None, None],
}  # fmt: skip
LABELS = {
    "None": None, "text": "a", "number": 1, "short": [1, 1], "floats": [0.5] * 4, "negative": [-1] * 4,
    "words": ["a"] * 4, "object": Dummy(), "matrix": [[1] * 4], "complex": [1j] * 4,
}  # fmt: skip
SHARES = NUMBERS | {"zero": 0.0, "above": 1.5}
COSTS = without(NUMBERS, "inf", "-inf", "beyond floats") | {"zero": 0.0, "large": 1e300}


def parameters():
    places = [[[0, 0]], [[1, 1]]]
    boxes = {label: lists for label, lists in LISTS.items() if label != "huge"} | {
        label: [value, ()] for label, value in OUTSIDE.items()
    }
    yield Parameter("Boxes(shapes)", lambda v: Boxes(v, places), SHAPES)
    yield Parameter("Boxes(points)", partial(Boxes, BATCH.shapes), boxes | {k: [v, ()] for k, v in WHERE.items()})
    yield Parameter("Boxes(truths)", partial(Boxes, BATCH.shapes, places), boxes | {"twice": [[[0, 0, 1, 1]] * 2, ()]})
    yield Parameter("Boxes(difficult)", partial(Boxes, BATCH.shapes, places, None), boxes)
    yield Parameter("Boxes(stride)", lambda v: Boxes(BATCH.shapes, places, stride=v), COUNTS)
    yield Parameter("Boxes.take(parts)", BATCH.take, PARTS)
    maximizer = ByWindows().prepare(BoundLoss(BATCH))
    limits = without(NUMBERS, "negative", "inf", "-inf")
    for name in ("k_best", "above"):
        more = (1,) if name == "k_best" else (0.0,)
        yield Parameter(
            f"ByWindows.{name}(scores)",
            lambda v, n=name, m=more: getattr(maximizer, n)(v, *m),
            numbers(4, negative=True),
        )
    yield Parameter("ByWindows.maximize(scores)", maximizer.maximize, numbers(4, negative=True))
    yield Parameter("ByWindows.k_best(k)", partial(maximizer.k_best, np.ones(4)), COUNTS)
    yield Parameter("ByWindows.above(threshold)", partial(maximizer.above, np.ones(4)), limits)
    yield Parameter("ByWindows.above(limit)", partial(maximizer.above, np.ones(4), 0.0), COUNTS)
    yield Parameter("Overlap(threshold)", Overlap, SHARES)
    for kind in (Overlap, EqualCosts, NearestHammingCosts):
        yield Parameter(f"{kind.__name__}(factor)", lambda v, kind=kind: kind(factor=v), COSTS)
    yield Parameter("NearestHammingCosts(missed)", NearestHammingCosts, NUMBERS)
    yield Parameter("GivenCosts(function)", GivenCosts, without(OBJECTS, "class"))
    yield Parameter("GivenCosts(most)", partial(GivenCosts, len), NUMBERS)
    yield Parameter("WordImage(height)", lambda v: WordImage(v, 4, []), COUNTS)
    yield Parameter("WordImage(width)", lambda v: WordImage(4, v, []), COUNTS)
    yield Parameter("WordImage(points)", partial(WordImage, 4, 4), WORDS)
    yield Parameter("WordImage(difficult)", partial(WordImage, 4, 4, []), BAD_BOXES | OUTSIDE)
    yield Parameter("Windows(n_words)", Windows, COUNTS)
    yield Parameter("Windows(stride)", partial(Windows, 2), COUNTS)
    yield Parameter("Windows(overlap)", partial(Windows, 2, 1), SHARES)
    yield Parameter("Windows.bind(X)", SPACE.bind, INPUTS)
    yield Parameter("Windows.bind(Y, truths)", partial(SPACE.bind, [IMAGE] * 2), boxes)
    yield Parameter("Windows.bind(constant)", partial(SPACE.bind, [IMAGE], None), NUMBERS)
    yield Parameter("Windows.decode(labels)", SPACE.decode, LABELS)
    good = [[[0, 0, 2, 2]], []]
    for score in (window_precision, window_recall, window_f1, window_average_precision):
        name, more = score.__name__, ([[1.0], []],) if score is window_average_precision else ()
        lists = without(LISTS, "three") | {"none": None}
        yield Parameter(f"{name}(Y, predictions)", lambda v, s=score, m=more: s(v, good, *m), lists)
        yield Parameter(f"{name}(predictions)", lambda v, s=score, m=more: s(good, v, *m), lists)
        yield Parameter(
            f"{name}(threshold)",
            lambda v, s=score, m=more: s(good, good, *m, threshold=v),
            without(SHARES, "list", "tuple", "array") | {"twos": (1.0, 2.0)},
        )
    for score in (window_precision, window_recall, window_f1):
        words = {"None": None, "rows": "rows", "number": 1, "object": Dummy()}
        yield Parameter(f"{score.__name__}(average)", lambda v, s=score: s(good, good, average=v), words)
    precision = partial(window_average_precision, good, good)
    values = {"text": "ab", "one": [[1.0]], "none": [[], []], "NaN": [[np.nan], []], "words": [["a"], []], "None": None}
    yield Parameter("window_average_precision(scores)", precision, values | {"object": Dummy(), "flat": [1.0, 2.0]})
    yield Parameter("window_average_precision(limit)", lambda v: precision([[1.0], []], limit=v), COUNTS)
    yield Parameter("window_average_precision(difficult)", lambda v: precision([[1.0], []], difficult=v), LISTS)


PARAMETERS = list(parameters())


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.where)
def test_a_malformed_parameter_is_refused_in_a_sentence(parameter):
    try_all(parameter)
