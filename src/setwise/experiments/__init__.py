"""Each file here reproduces one table or figure of a paper; a file that defines ``EXPERIMENT`` is found by itself."""

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from setwise.experiments.experiment import Experiment

__all__ = ["experiments", "find"]


def experiments() -> "list[Experiment]":
    """All experiments in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    # Files without an EXPERIMENT hold what several experiments share.
    modules = (import_module(f"{__name__}.{name}") for name in names)
    return [module.EXPERIMENT for module in modules if hasattr(module, "EXPERIMENT")]


def find(name: str) -> "Experiment":
    """The experiment with the given name, in which ``-`` may stand for ``_``; ValueError if there is none."""
    known = {experiment.name: experiment for experiment in experiments()}
    same = name.replace("-", "_")
    if same not in known:
        raise ValueError(f"there is no experiment {name!r}; use {', '.join(known)}.")
    return known[same]
