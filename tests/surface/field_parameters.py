"""Malformed values for the fields of the dataclasses in a registry, by their annotations: a new file needs no row."""

from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields, replace
from types import UnionType
from typing import Literal, get_args, get_origin

import numpy as np

from setwise.core.inference import Inference
from setwise.core.loss import CountLoss, Loss
from setwise.inference import GreedySearch
from setwise.losses import Jaccard, Trait
from surface.refusals import COUNTS, FLAGS, NUMBERS, OBJECTS, Parameter, numbers, without

P = 4
"""Arrays are for so many decisions; one of another length is refused when the loss is bound."""


def parameters(kind, example):
    """One :class:`Parameter` for each field of a dataclass, tried on an instance."""
    for field in fields(kind):
        values = _values(field.type)
        if field.default is None or (field.default is MISSING and _optional(field.type)):
            values = without(values, "None")

        def call(value, name=field.name):
            return replace(example, **{name: value})

        yield Parameter(f"{kind.__name__}({field.name})", call, values)


def _optional(annotation):
    return isinstance(annotation, UnionType) and type(None) in get_args(annotation)


def _values(annotation):
    parts = get_args(annotation)
    if get_origin(annotation) is not Literal and float in parts and str in parts and len(parts) > 2:
        # A number, an array, or the name of a column.
        given = without(NUMBERS, "array", "text", "digits", "list", "tuple", "negative")
        more = {"matrix": np.zeros((1, 1)), "texts": ["a"], "ragged": [[0.5], [0.5, 1.0]], "infinite": [1.0, np.inf]}
        return given | more | {"flags": [True, False], "no name": ""}
    if isinstance(annotation, UnionType):
        given = [part for part in get_args(annotation) if part is not type(None)]
        if given == [float, str]:
            return without(NUMBERS, "text", "digits") | {"another name": "length"}
        if len(given) > 1 and int in given:
            return without(COUNTS, "negative") | {"negative": -1}
        if given[0] is float and any("ndarray" in str(part).lower() for part in given):
            return without(NUMBERS, "array") | {
                "matrix": np.zeros((1, 1)),
                "empty": np.zeros(0),
                "texts": np.array(["a"]),
            }
        annotation = given[0]
    if annotation is float:
        return NUMBERS
    if annotation is int:
        return COUNTS
    if annotation is bool:
        return FLAGS
    if annotation in (Loss, CountLoss):
        return OBJECTS | {"unknown name": "jacard", "needs parameters": "capped", "class": Jaccard}
    if annotation is Inference:
        return OBJECTS | {"name": "greedy", "class": GreedySearch, "another kind": Jaccard()}
    if get_origin(annotation) is Callable:
        return without(OBJECTS, "class") | {"text": "f"}
    if get_origin(annotation) is Iterable:
        return without(OBJECTS, "dict") | {
            "text": "INCREASING",
            "texts": ["INCREASING"],
            "class": Trait,
            "ones": [1],
            "list": [None],
        }
    if get_origin(annotation) is Literal:
        return OBJECTS | {"another": "nothing", "text list": ["perfect"]}
    return without(numbers(P), "short", "long")
