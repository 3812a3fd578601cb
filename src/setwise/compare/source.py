"""Code that makes an object anew."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from importlib import import_module
from inspect import Parameter, signature
from itertools import takewhile
from typing import Any

from sklearn.pipeline import Pipeline

PACKAGES = (
    "setwise", "setwise.estimators", "setwise.estimators.selection", "setwise.losses", "setwise.surrogates",
    "setwise.inference", "setwise.learners", "setwise.models", "setwise.spaces", "setwise.decisions",
    "setwise.probabilistic", "setwise.datasets", "setwise.compare", "setwise.core",
)  # fmt: skip
"""The packages that users import from."""


Code = tuple[str, list[str]]
"""An expression, and the import lines that it needs."""


def source(held: Any, texts: Mapping[str, str] | None = None, last: Code | None = None) -> Code:
    """``Name(parameter=value)`` without parameters that have their defaults, and the import lines that it needs.

    A dataclass names all its parameters, as its ``repr`` does; an estimator names those behind one that is left out.

    Parameters
    ----------
    held : a dataclass, an estimator, or a pipeline of estimators
    texts : the code of some parameters by their names, which is printed whatever their values are; None for none
    last : the code of the last step of a pipeline; None where its parameters say it
    """
    if isinstance(held, Pipeline):
        *others, (_, end) = held.steps
        steps = [*(source(step, texts) for _, step in others), last or source(end, texts)]
        lines = ["from sklearn.pipeline import make_pipeline", *(line for _, needed in steps for line in needed)]
        return f"make_pipeline({', '.join(text for text, _ in steps)})", lines
    kind, given, texts = type(held), list[str](), texts or {}
    parameters, named = dict(signature(kind).parameters), is_dataclass(held)
    values = held.get_params(deep=False) if hasattr(held, "get_params") else vars(held)
    if any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values()):
        # Other packages gather parameters; a new object has their defaults.
        usual = kind().get_params(deep=False)
        parameters = {name: Parameter(name, Parameter.KEYWORD_ONLY, default=usual.get(name)) for name in values}
    for name, parameter in parameters.items():
        value = values.get(name)
        if name not in texts and (value is parameter.default or value == parameter.default):
            named = True
            continue
        named |= parameter.kind is parameter.KEYWORD_ONLY
        text = texts.get(name) or (f'"{value}"' if isinstance(value, str) else repr(value))
        given.append(f"{name}={text}" if named else text)
    public = list(takewhile(lambda part: not part.startswith("_"), kind.__module__.split(".")))
    name, homes = kind.__name__, {home: import_module(home) for home in (*PACKAGES, public[0])}
    known = (home for home, held in homes.items() if name in getattr(held, "__all__", ()))
    home = next((home for home in known if getattr(homes[home], name) is kind), ".".join(public))
    return f"{name}({', '.join(given)})", [f"from {home} import {name}"]
