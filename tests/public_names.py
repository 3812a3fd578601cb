"""Every public name of setwise, and what its docstring says: the list that tests and the pages of the site share."""

import inspect
import re
from dataclasses import dataclass, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any

from packages import literal, own_methods

EXTRA = {
    "setwise.torch": "torch", "setwise.dask": "distributed", "setwise.plotting": "matplotlib",
    "setwise.compare.load_model": "skops", "setwise.compare.save_model": "skops",
}  # fmt: skip
"""What packages, and the examples of names, need beside setwise itself."""

WITHOUT_FORMULAS = {"setwise.compare", "setwise.dask", "setwise.datasets", "setwise.plotting"}
"""Packages whose names compute nothing that a paper would have to be cited for."""

HEADING = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)
ARRAY = re.compile(r"(?<!ND)Array|Values|Floats|Ints|Bools|Tensor")
DATA = {"X", "Y", "y", "y_true", "y_pred", "predictions", "scores", "probabilities", "logits"}
DATA |= {"groups", "sample_weight"}
"""Arguments that are data whatever their annotation: their shape, or what each entry of a list is, must be told."""

SHAPE = re.compile(r"\((?:\w|\.\.\.|[*+/]|, ?| )*,? ?\)|shape|scalar")
ARRAYS = ARRAY.pattern + r"|\barray\b|ndarray|typing\.Any"
"""What a method returns of which the shape must be told: arrays, and what may be one."""

LISTS = re.compile(r"list of \w+ lists")
NUMBER = re.compile(r"\b(?:int|float)\b")
UNIT = re.compile(
    r"\b(?:seconds|bytes|pixels?|degrees|nats|unit|seeds?|index|indices|weights?|costs?|probability|factor|gap)\b|relative"
    r"|number of|numbers? (?:in|of|at|from|above)|how many|so many|share of|the (?:most|least|largest|smallest|longest)"
    r"|[(\[]0, 1|above 0|at least|at most|[<>]=? ?-?\d|or (?:more|above)|0 or 1|from [01] on"
    r"|as (?:in|that of|those of) |see :"
)
"""What tells a number's unit, its range, what it counts, or where that is told."""

REFUSES = re.compile(r"\braise\b|\bcheck_is_fitted\(")
"""What a function does that raises errors itself."""

SOURCE = re.compile(r"\b(?:LH|LSM|HOL|MLSP|DD)\b|\b(?:19|20)\d\d\b|^Source: ", re.MULTILINE)
"""A key of one of the five papers, a year, or a line that begins with "Source: "."""


@dataclass(frozen=True)
class PublicName:
    """One name that a package exports.

    Attributes
    ----------
    package, name : where it is imported from, and its name there
    held : what it is
    """

    package: str
    name: str
    held: Any

    def __str__(self) -> str:
        return f"{self.package}.{self.name}"

    @property
    def is_code(self) -> bool:
        """Whether it is a class or a function; all else is a table of what was discovered."""
        return inspect.isclass(self.held) or inspect.isroutine(self.held)

    @property
    def text(self) -> str:
        """Its docstring, or the literal below its definition."""
        if self.is_code:
            return inspect.cleandoc(self.held.__doc__ or "")
        return literal(self.package, self.name)

    @property
    def sections(self) -> dict[str, str]:
        """The text below each heading of the docstring; that above the first one is ``""``."""
        parts = HEADING.split(self.text)
        return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))

    @property
    def arguments(self) -> list[inspect.Parameter]:
        """What a user passes; nothing for protocols, whose arguments belong to what implements them."""
        if not self.is_code or inspect.isabstract(self.held) or self.is_named_value:
            return []
        try:
            found = inspect.signature(self.held).parameters.values()
        except (TypeError, ValueError):
            return []
        variadic = inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL
        return [one for one in found if not one.name.startswith("_") and one.kind not in variadic]

    @property
    def is_named_value(self) -> bool:
        """Whether it is an enumeration or an exception, which nobody calls."""
        return inspect.isclass(self.held) and issubclass(self.held, Enum | Exception)

    @property
    def is_record(self) -> bool:
        """Whether it is a result that users read and do not make: data that check nothing and serve no protocol."""
        bases = getattr(self.held, "__bases__", ())
        plain = is_dataclass(self.held) and bases == (object,)
        return bases == (tuple,) or (plain and "__post_init__" not in vars(self.held))

    @property
    def missing(self) -> list[str]:
        """What the docstring does not say: a first line, arguments, shapes, units, errors, source, example."""
        if not self.text:
            return ["docstring"]
        said = self.sections
        lacks = [] if said[""].strip() else ["first line"]
        lacks += self._missing_of_arguments
        if inspect.isroutine(self.held) and "Returns" not in said and "Yields" not in said:
            lacks.append("Returns")
        if self.arguments and not self.is_record and "Raises" not in said:
            lacks.append("Raises")
        computes = self.is_code and not self.is_record and not self.is_named_value
        if computes and self.package not in WITHOUT_FORMULAS and not SOURCE.search(self.text):
            lacks.append("source")
        if ">>> " not in said.get("Examples", "" if self.is_code else self.text):
            lacks.append("example")
        return lacks

    @property
    def _missing_of_arguments(self) -> list[str]:
        """The arguments that the docstring does not name, and those whose shape or unit it does not tell."""
        said, lacks = self.sections, []
        entries = _entries(said.get("Parameters", "") + "\n" + said.get("Attributes", ""))
        for one in self.arguments:
            if one.name not in entries:
                lacks.append(f"argument {one.name}")
            elif self._is_data(one) and not SHAPE.search(entries[one.name]):
                lacks.append(f"shape of {one.name}")
            elif NUMBER.search(str(one.annotation)) and not self.is_record and not UNIT.search(entries[one.name]):
                lacks.append(f"unit of {one.name}")
        return lacks

    @staticmethod
    def _is_data(one: inspect.Parameter) -> bool:
        """Whether an argument is data; what may only be None is not read."""
        return bool(ARRAY.search(str(one.annotation))) or (one.name in DATA and one.annotation is not None)


class PublicMethod(PublicName):
    """A method of a class that a package exports; ``name`` is that of the class and its own, ``held`` the function.

    Source and example are those of the class.
    """

    @property
    def arguments(self) -> list[inspect.Parameter]:
        """What a user passes."""
        return [one for one in super().arguments if one.name != "self"]

    @property
    def missing(self) -> list[str]:
        """What the docstring does not say: a first line, arguments, shapes, units, the result, and errors."""
        if not self.text:
            return ["docstring"]
        said, result = self.sections, str(inspect.signature(self.held).return_annotation)
        lacks = [] if said[""].strip() else ["first line"]
        lacks += self._missing_of_arguments
        told = said.get("Returns", "")
        if not told:
            lacks.append("Returns")
        elif re.search(ARRAYS, result) and not (SHAPE.search(told) or LISTS.search(told)):
            lacks.append("shape of Returns")
        if (self.arguments or REFUSES.search(inspect.getsource(self.held))) and "Raises" not in said:
            lacks.append("Raises")
        return lacks


def _entries(text: str) -> dict[str, str]:
    """What is said of each name of a section, where lines like ``a, b : words`` begin an entry."""
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", text.strip("\n")):
        names, colon, words = entry.partition(":")
        if colon:
            found |= {name.strip(" *`"): " ".join(words.split()) for name in names.split(",")}
    return found


@cache
def public_names(package: str) -> tuple[PublicName, ...]:
    """The names that ``package`` exports; what two packages export belongs to the first of them that defines it."""
    module = import_module(package)
    return tuple(PublicName(package, name, getattr(module, name)) for name in module.__all__)


@cache
def public_methods(package: str) -> tuple[PublicMethod, ...]:
    """The methods of the classes that ``package`` exports; one that several classes inherit is named once."""
    kinds = [(name.name, name.held) for name in public_names(package) if inspect.isclass(name.held)]
    found: dict[Any, str] = {}
    for kind, held in kinds:
        for name, method in own_methods(held).items():
            found.setdefault(method, f"{kind}.{name}")
    return tuple(PublicMethod(package, name, method) for method, name in found.items())
