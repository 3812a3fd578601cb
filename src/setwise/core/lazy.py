"""Packages whose names are imported when they are first asked for, so that who needs one does not wait for all."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns ``__getattr__`` and ``__dir__`` of a package; ``homes`` says in which of its modules each name is.

    No module may have the name of what it holds, for once it is imported it would stand in its place.
    """
    assert not any(name == home for name, home in homes.items())

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return get, lambda: sorted({*vars(sys.modules[package]), *homes})
