"""Registries that discover the classes of a package, so that a new loss or method needs a new file and nothing else."""

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from inspect import isabstract
from types import ModuleType
from typing import TypeVar

Kind = TypeVar("Kind")


def discover(package: ModuleType | str, kind: type[Kind]) -> Mapping[str, type[Kind]]:
    """The concrete subclasses of ``kind`` that the modules of ``package`` define, by ``name``, sorted.

    Classes that a module only imports do not count, nor do modules and classes whose name begins with an underscore,
    nor classes that say ``listed = False``. Raises TypeError if a class has no name, or the name of another one.
    """
    home = import_module(package) if isinstance(package, str) else package
    found: dict[str, type[Kind]] = {}
    for module in sorted(m.name for m in pkgutil.walk_packages(home.__path__, f"{home.__name__}.")):
        if any(part.startswith("_") for part in module.split(".")):
            continue
        for value in vars(import_module(module)).values():
            # Abstract classes are bases, not entries.
            # Most classes are imported: it is slow to ask them all whether they are subclasses.
            named = isinstance(value, type) and value.__module__ == module and issubclass(value, kind)
            if not named or isabstract(value) or value.__name__.startswith("_") or not getattr(value, "listed", True):
                continue
            name = getattr(value, "name", "")
            if not name or found.get(name, value) is not value:
                raise TypeError(f"{value.__module__}.{value.__name__} needs a name of its own; got {name!r}.")
            found[name] = value
    return dict(sorted(found.items()))
