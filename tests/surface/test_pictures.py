"""Pictures: every argument."""

from functools import partial

import numpy as np
import pytest

from setwise.losses import Jaccard
from setwise.plotting import cross_table, curves, gap_curves, plane, scores, segmentations, surface, surfaces
from setwise.surrogates import LovaszHinge
from surface.refusals import COUNTS, NUMBERS, OBJECTS, Parameter, labels, numbers, try_all, without

X, Y = np.random.default_rng(0).standard_normal((12, 2)), np.arange(12) % 2
S, HINGE = X[:, 0], LovaszHinge("jaccard")
TITLES = OBJECTS | {"numbers": [1, 2], "text": "ab", "short": ["a"]}
SQUARE = {"flat": [1.0, 2.0], "wide": np.ones((2, 3)), "words": [["a", "b"]] * 2, "inf": [[1.0, np.inf]] * 2}
SQUARE |= {"complex": np.ones((2, 2)) * 1j, "dates": np.zeros((2, 2), "M8[D]")}


def of_surfaces():
    yield Parameter(
        "surface(surrogate)", surface, OBJECTS | {"name": "lovasz", "loss": Jaccard(), "class": LovaszHinge}
    )
    yield Parameter("surface(y)", partial(surface, HINGE), labels(2) | {"short": [1], "long": [1, 0, 1]})
    wrong = without(NUMBERS, "negative")
    yield Parameter("surface(low)", lambda v: surface(HINGE, low=v), wrong | {"crossed": 9.0})
    yield Parameter("surface(high)", lambda v: surface(HINGE, high=v), wrong | {"crossed": -9.0})
    views = OBJECTS | {"one": (1.0,), "words": ("a", "b"), "NaN": (np.nan, 1.0), "three": (1.0, 2.0, 3.0)}
    yield Parameter("surface(view)", lambda v: surface(HINGE, view=v), views)
    yield Parameter("surface(title)", lambda v: surface(HINGE, title=v), OBJECTS)
    panels = OBJECTS | {"text": "a", "bare": [HINGE], "triple": [("a", HINGE, 1)], "text in it": ["ab"]}
    yield Parameter("surfaces(panels)", surfaces, panels | {"a loss": [("a", Jaccard())]})
    yield Parameter("surfaces(columns)", lambda v: surfaces([("", HINGE)], columns=v), COUNTS | {"zero": 0})


def of_gaps():
    history = {"lower_bound": [0.0, 1.0], "upper_bound": [2.0, 1.5], "seconds": [0.1, 0.2]}
    odd = {"lower_bound": [], "upper_bound": []}, {"upper_bound": [1.0, np.nan]}, {"lower_bound": ["a", "b"]}
    wrong = {f"odd {i}": {"a": history | more} for i, more in enumerate((*odd, {"upper_bound": [2.0]}))}
    wrong |= {"text": "a", "text in it": {"a": "b"}, "none": {"a": {}}, "pairs": [("a", history)]}
    yield Parameter("gap_curves(histories)", gap_curves, OBJECTS | wrong)
    yield Parameter("gap_curves(tol)", partial(gap_curves, {"a": history}), without(NUMBERS, "None"))


def of_points():
    lines = {"one": (1.0, 2.0, 0.5)}
    points = numbers(12, negative=True) | {"three": np.ones((12, 3)), "NaN": X * np.nan, "words": np.full((12, 2), "a")}
    points |= {"complex": X + 1j, "dates": np.zeros((12, 2), "M8[D]"), "inf": X + np.inf, "none": X[:0]}
    yield Parameter("plane(X)", lambda v: plane(v, Y, ["a", "b"], lines), points)
    kinds = labels(12) | {"short": Y[:-1], "words": ["a"] * 12}
    yield Parameter("plane(kinds)", lambda v: plane(X, v, ["a", "b"], lines), kinds)
    yield Parameter("plane(names)", lambda v: plane(X, Y, v, lines), TITLES)
    wrong = {"text": "a", "pair": {"a": (1.0, 2.0)}, "words": {"a": ("x", "y", "z")}, "number": {"a": 1.0}}
    wrong |= {"NaN": {"a": (np.nan, 1.0, 1.0)}}
    yield Parameter("plane(lines)", partial(plane, X, Y, ["a", "b"]), OBJECTS | wrong)


def of_scores():
    odd = [
        S,
        (S[:-1], 0.0),
        (["a"] * 12, 0.0),
        (S * np.nan, 0.0),
        (S, np.nan),
        (S, "b"),
        (S, 0, 1),
        (S + 1j, 0.0),
        (X, 0),
    ]
    wrong = OBJECTS | {f"odd {i}": {"a": pair} for i, pair in enumerate(odd)}
    yield Parameter("scores(found, scores)", lambda v: scores(v, Y), wrong)
    truths = without(labels(12), "matrix", "column", "number")
    yield Parameter("scores(y)", partial(scores, {"a": (S, 0.0)}), truths)
    yield Parameter("scores(scores)", partial(scores, {"a": (S, 0.0)}), {"short": Y[:-1], "long": np.append(Y, 1)})
    yield Parameter("scores(classes)", partial(scores, {"a": (S, 0.0)}, Y), TITLES | {"three": ["a"] * 3})


def of_tables():
    whole = np.ones((2, 2))
    wrong = numbers(2, negative=True) | SQUARE
    yield Parameter("cross_table(means)", partial(cross_table, ["a", "b"], ["c", "d"]), wrong)
    yield Parameter("cross_table(errors)", partial(cross_table, ["a", "b"], ["c", "d"], whole), without(wrong, "None"))
    names = without(TITLES, "short")
    yield Parameter("cross_table(rows)", lambda v: cross_table(v, ["c", "d"], whole), names)
    yield Parameter("cross_table(columns)", lambda v: cross_table(["c", "d"], v, whole), names)


def of_lines():
    x, good = [0.0, 1.0], {"a": ([1.0, 2.0], [0.1, 0.0])}
    wrong = {"NaN": [0.0, np.nan], "words": ["a", "b"], "square": np.ones((2, 2)), "none": [], "complex": [1j, 2j]}
    yield Parameter("curves(x)", lambda v: curves(v, good), OBJECTS | wrong)
    odd = [[1.0, 2.0], ([1.0, 2.0],), ([1.0], [0.1]), ([1.0, 2.0], [0.1, -0.1]), ([1.0, np.inf], [0.1, 0.1]), (x, "ab")]
    pairs = {f"odd {i}": {"a": pair} for i, pair in enumerate(odd)} | {"none": {}, "number as name": {1: (x, x)}}
    yield Parameter("curves(curves)", partial(curves, x), OBJECTS | pairs)
    marks = {"none": {}, "words": {"a": "b"}, "NaN": {"a": np.nan}, "number as name": {1: 0.5}}
    yield Parameter("curves(marks)", lambda v: curves(x, good, v), without(OBJECTS, "None") | marks)
    for name in ("xlabel", "ylabel", "title"):
        yield Parameter(f"curves({name})", lambda v, name=name: curves(x, good, **{name: v}), OBJECTS)


def of_masks():
    image, good = np.zeros((3, 4, 3), np.uint8), {"a": [np.eye(3, 4, dtype=int)]}
    odd = [image[0, 0], image[:, :, :2], image.astype(int), image - 0.5, np.full((3, 4), np.nan), image[:0], "ab"]
    wrong = {f"odd {i}": [one] for i, one in enumerate(odd)} | {"none": [], "dict": {"a": image}}
    yield Parameter("segmentations(images)", lambda v: segmentations(v, good), OBJECTS | wrong)
    shapes = [np.eye(4, 3, dtype=int), 2 * np.eye(3, 4, dtype=int), np.eye(3, 4), "ab"]
    masks = {f"odd {i}": {"a": [one]} for i, one in enumerate(shapes)}
    masks |= {"none": {}, "two": {"a": good["a"] * 2}, "number as name": {1: good["a"]}, "text": {"a": "b"}}
    yield Parameter("segmentations(masks)", partial(segmentations, [image]), OBJECTS | masks)
    yield Parameter("segmentations(title)", lambda v: segmentations([image], good, v), without(OBJECTS, "None"))


PARAMETERS = [*of_surfaces(), *of_gaps(), *of_points(), *of_scores(), *of_tables(), *of_lines(), *of_masks()]


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.where)
def test_a_malformed_argument_is_refused_in_a_sentence(parameter):
    try_all(parameter)


def test_what_is_odd_and_right_is_drawn():
    plane(X[:1], Y[:1], ["a"], {"one": (1.0, 2.0, 0.5)})
    cross_table(["a", "b"], ["c", "d"], np.full((2, 2), np.nan))
    scores({"a": (np.zeros(12), 0.0)}, Y.reshape(3, 4))
