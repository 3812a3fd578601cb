"""One table or figure of one paper is one file here; a file with an ``EXPERIMENT`` shows up by itself."""

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from setwise.experiments.experiment import Experiment

__all__ = ["experiments", "find"]


def experiments() -> "list[Experiment]":
    """All of them, in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = (import_module(f"{__name__}.{name}") for name in names)
    return [module.EXPERIMENT for module in modules if hasattr(module, "EXPERIMENT")]


def find(name: str) -> "Experiment":
    """The experiment of that name; ValueError where there is none."""
    known = {experiment.name: experiment for experiment in experiments()}
    if name not in known:
        raise ValueError(f"there is no experiment {name!r}; use {', '.join(known)}.")
    return known[name]
