"""The packages whose names are public: the site has a page for each name, and a test reads each docstring."""

import ast
import inspect
from importlib import import_module
from itertools import pairwise
from types import FunctionType
from typing import Any

PACKAGES = (
    "setwise", "setwise.losses", "setwise.surrogates", "setwise.inference", "setwise.models", "setwise.risks",
    "setwise.learners", "setwise.decisions", "setwise.probabilistic", "setwise.spaces", "setwise.graphs",
    "setwise.datasets", "setwise.estimators", "setwise.distributed", "setwise.torch", "setwise.boosting",
    "setwise.dask", "setwise.plotting", "setwise.compare", "setwise.core", "setwise.estimators.selection",
)  # fmt: skip

WITH_METHODS = ("setwise", "setwise.estimators", "setwise.dask")
"""The packages of classes whose methods are public one by one: a docstring tells their arguments and results."""


def own_methods(kind: type[Any]) -> dict[str, FunctionType]:
    """The public methods of a class by their names, those of base classes in setwise included.

    What scikit-learn defines is left out, also what it adds to its subclasses.
    """
    found = {}
    for name in filter(lambda name: not name.startswith("_"), dir(kind)):
        held = next(vars(base)[name] for base in kind.__mro__ if name in vars(base))
        # ``available_if`` keeps the function as ``fn``, a method of the class as ``__func__``.
        function = getattr(held, "fn", getattr(held, "__func__", held))
        if isinstance(function, FunctionType) and function.__module__.startswith("setwise."):
            found[name] = function
    return found


def literal(package: str, name: str) -> str:
    """What is said of a name that is no class and no function: the literal below its definition, wherever that is."""
    imports = [line for line in _lines(package) if isinstance(line, ast.ImportFrom) and line.module]
    homes = [line.module for line in imports if name in [alias.name for alias in line.names]]
    return next(filter(None, (_below(home, name) for home in (package, *homes))), "")


def _below(module: str, name: str) -> str:
    """The literal below the definition of a name in a module; nothing where there is none."""
    for line, below in pairwise(_lines(module)):
        named = [getattr(target, "id", "") for target in getattr(line, "targets", [getattr(line, "target", None)])]
        if name in named and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            return inspect.cleandoc(str(below.value.value))
    return ""


def _lines(module: str) -> list[ast.stmt]:
    """The statements of a module."""
    return ast.parse(inspect.getsource(import_module(module))).body
