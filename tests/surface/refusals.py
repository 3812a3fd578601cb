"""Malformed arguments, each of which must be refused in a sentence of our own that names the parameter."""

import datetime
import re
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn

import setwise
from setwise.core.exceptions import Refusal


class Proxy:
    """An object that is made when the first of its methods is called, and not while tests are collected."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._made = cache(make)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = self._made()
            return getattr(made, name)(*args, **more)

        return call


OURS, SKLEARN = (str(Path(package.__file__).parent) for package in (setwise, sklearn))

FOREIGN = re.compile(
    "could not|broadcast|operand|not supported between|has no attribute|setting an array|ufunc|inhomogeneous|"
    "out of bounds|unhashable|not iterable|not subscriptable|invalid literal|real number, not|truth value of|"
    "cannot interpret|too large to convert|zero-size|NoneType|positional argument|unexpected keyword|keepdims|matmul"
)
"""Words of Python and NumPy that tell nothing to who passed the argument."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of one public call, tried with malformed ``values`` by label.

    ``where`` is ``"call(name)"``; the sentence must hold the name, or one of several: ``"call(name, other)"``.
    """

    where: str
    call: Callable[[Any], Any]
    values: dict[str, Any]

    @property
    def names(self):
        return re.search(r"\(([^()]*)\)$", self.where)[1].split(", ")


def try_all(parameter):
    """Try every malformed value of a parameter; returns how many there were."""
    wrong = []
    for label, value in parameter.values.items():
        try:
            refused(lambda value=value: parameter.call(value), *parameter.names)
        except AssertionError as failed:
            wrong.append(f"{label}: {str(failed).splitlines()[0]}")
    assert not wrong, "\n".join([parameter.where, *wrong])
    return len(parameter.values)


def refused(call, *names):
    """Call what must be refused in a sentence of our own that holds one of the names; returns the sentence."""
    try:
        answer = call()
    except Exception as error:
        return own_sentence(error, *names)
    raise AssertionError(f"answered by {answer!r}")


def own_sentence(error, *names):
    """The words of an error, which must be one that we raise on purpose, in a sentence that holds one of the names.

    Users of the estimator know the words of scikit-learn for X and y: what it raises on purpose may be said so.
    """
    last = traceback.extract_tb(error.__traceback__)[-1]
    words = f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
    assert isinstance(error, ValueError | TypeError | OverflowError | FileNotFoundError), words
    assert last.filename.startswith((OURS, SKLEARN)), f"raised elsewhere: {words}"
    assert (last.line or "").startswith("raise"), f"not raised on purpose: {words}"
    sentence = error.sentence if isinstance(error, Refusal) else str(error)
    assert not FOREIGN.search(sentence), f"not our words: {words}"
    if last.filename.startswith(SKLEARN):
        return sentence
    assert re.fullmatch(r".+\.", sentence), f"no sentence: {words}"
    assert any(re.search(rf"\b{re.escape(name)}\b", sentence) for name in names), f"names none of {names}: {words}"
    return sentence


class Dummy:
    """An object of no use, with a name that tests can look for."""

    def __repr__(self):
        return "<odd>"


NO_NUMBERS = {
    "text": "a",
    "digits": "1",
    "bytes": b"1",
    "empty list": [],
    "list": [1.0],
    "tuple": (1.0, 2.0),
    "dict": {},
    "complex": 1j,
    "array": np.ones(2),
    "empty array": np.zeros(0),
    "date": np.datetime64("2020-01-01"),
    "span": datetime.timedelta(1),
    "NA": pd.NA,
    "object": Dummy(),
    "class": float,
    "truth": True,
    "function": len,
}
NUMBERS = NO_NUMBERS | {
    "None": None,
    "NaN": float("nan"),
    "inf": float("inf"),
    "-inf": -np.inf,
    "negative": -1.0,
    "beyond floats": 10**400,
    "NumPy NaN": np.float32("nan"),
}
"""For a number that is finite and not negative."""

COUNTS = NO_NUMBERS | {"None": None, "NaN": float("nan"), "half": 1.5, "float": 2.0, "negative": -1, "inf": np.inf}
"""For a whole number above 0."""

FLAGS = NO_NUMBERS | {"None": None, "words": "no", "two": 2, "half": 0.5, "NaN": float("nan"), "one": 1}
del FLAGS["truth"]

OBJECTS = {
    "None": None,
    "number": 3,
    "float": 0.5,
    "list": [],
    "dict": {},
    "object": Dummy(),
    "class": Dummy,
    "bytes": b"a",
}
"""For an object of the library; names are another matter."""


def without(values, *labels):
    """The values but those that this parameter allows."""
    return {label: value for label, value in values.items() if label not in labels}


def numbers(p, *, negative=False):
    """Malformed arrays for p real numbers."""
    good = np.linspace(0.25, 1.0, p)
    found = {
        "None": None,
        "text": "abc",
        "number": 1.0,
        "empty": [],
        "short": good[:-1],
        "long": np.append(good, 0.5),
        "matrix": good[None, :],
        "column": good[:, None],
        "ragged": [[0.5], [0.5, 1.0], *([[]] * (p - 2))],
        "words": ["a"] * p,
        "digits": ["1"] * p,
        "bytes": [b"1"] * p,
        "complex": good + 1j,
        "objects": np.array([Dummy()] * p),
        "Nones": [None] * p,
        "NA": [pd.NA] * p,
        "dates": np.full(p, np.datetime64("2020-01-01")),
        "spans": np.full(p, np.timedelta64(1, "D")),
        "NaN": np.append(good[:-1], np.nan),
        "inf": np.append(good[:-1], np.inf),
        "huge": np.append(good[:-1], 1.7e308),
        "all huge": np.full(p, 1e308),
        "beyond floats": [10**400] * p,
        "dict": dict.fromkeys(range(p), 1.0),
        "set": set(range(p)),
        "generator": (x for x in good),
        "records": np.zeros(p, dtype=[("a", "f8")]),
        "object": Dummy(),
    }
    return found | ({} if negative else {"negative": np.append(good[:-1], -1.0)})


def labels(p, high=1):
    """Malformed arrays for p labels 0..high; their length does not decide."""
    good = np.arange(p) % 2
    found = numbers(p, negative=True)
    for label in ("short", "long", "huge", "all huge"):
        del found[label]
    return found | {
        "another label": np.append(good[:-1], high + 1),
        "negative": np.append(good[:-1], -1),
        "half": np.append(good[:-1], 0.5),
        "beyond int64": np.append(good[:-1].astype(float), 1e19),
        "matrix": good[None, :],
    }


PARTS = {
    "None": None, "outside": [2], "negative": [-1], "floats": [0.0], "text": "a", "matrix": [[0]], "empty": [],
    "words": ["a"], "number": 1, "complex": [0j], "ragged": [[0], [0, 1]], "truths": [True, False], "dict": {},
    "object": Dummy(),
}  # fmt: skip
"""For numbers of some of two sets."""

OFFSETS = {
    "text": "a", "number": 4, "empty": [], "one": [0], "floats": [0.0, 2.0, 4.0], "falls": [0, 3, 2, 4],
    "empty set": [0, 2, 2, 4], "starts late": [1, 4], "ends early": [0, 3], "ends late": [0, 5], "matrix": [[0, 4]],
    "NaN": [0.0, np.nan], "words": ["0", "4"], "negative": [0, -1, 4], "ragged": [[0], [0, 4]], "complex": [0, 4j],
    "truths": [False, True], "beyond": [0, 10**30], "object": Dummy(),
}  # fmt: skip
"""For the offsets of sets that have four decisions together."""
