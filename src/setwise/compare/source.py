"""Code that makes an object anew."""

from dataclasses import is_dataclass
from importlib import import_module
from inspect import signature
from itertools import takewhile
from typing import Any

from sklearn.pipeline import Pipeline

PACKAGES = (
    "setwise", "setwise.estimators", "setwise.estimators.selection", "setwise.losses", "setwise.surrogates",
    "setwise.inference", "setwise.learners", "setwise.models", "setwise.spaces", "setwise.decisions",
    "setwise.probabilistic", "setwise.datasets", "setwise.compare", "setwise.core",
)  # fmt: skip
"""The packages that users import from."""


def source(held: Any, **texts: str) -> tuple[str, list[str]]:
    """``Name(parameter=value)`` without parameters that have their defaults, and the import lines that it needs.

    A dataclass names all its parameters, as its ``repr`` does; an estimator names those behind one that is left out.

    Parameters
    ----------
    held : a dataclass, an estimator, or a pipeline of estimators
    texts : the code of some parameters by their names, which is printed whatever their values are
    """
    if isinstance(held, Pipeline):
        steps = [source(step, **texts) for _, step in held.steps]
        lines = ["from sklearn.pipeline import make_pipeline", *(line for _, needed in steps for line in needed)]
        return f"make_pipeline({', '.join(text for text, _ in steps)})", lines
    kind, given = type(held), list[str]()
    named = is_dataclass(held)
    for name, parameter in signature(kind).parameters.items():
        value = getattr(held, name)
        if name not in texts and (value is parameter.default or value == parameter.default):
            named = True
            continue
        named |= parameter.kind is parameter.KEYWORD_ONLY
        text = texts.get(name) or (f'"{value}"' if isinstance(value, str) else repr(value))
        given.append(f"{name}={text}" if named else text)
    public = takewhile(lambda part: not part.startswith("_"), kind.__module__.split("."))
    home = package_of(kind) or ".".join(public)
    return f"{kind.__name__}({', '.join(given)})", [f"from {home} import {kind.__name__}"]


def package_of(kind: Any) -> str | None:
    """The first package of setwise that exports a class; None where none does."""
    name = getattr(kind, "__name__", "")
    return next(
        (home for home in PACKAGES if name in (known := import_module(home)).__all__ and getattr(known, name) is kind),
        None,
    )
