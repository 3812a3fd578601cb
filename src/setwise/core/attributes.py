"""Attributes that are computed, or imported, when they are first read.

They are computed without a lock; and who imports one name of a package does not wait for all.
"""

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar, overload

Value = TypeVar("Value")


class cached_property(functools.cached_property[Value]):  # noqa: N801  (it reads as its parent does)
    """An attribute that the decorated method computes when it is first read.

    That of Python 3.11 holds one lock for all objects of a class while it computes: fits in threads wait for one
    another, and the child of a fork that happens meanwhile waits forever. Here two threads may compute the same value;
    the first one that is done is kept by both.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> "cached_property[Value]": ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Value: ...

    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> "cached_property[Value] | Value":
        if instance is None:
            return self
        assert self.attrname is not None
        # An instance keeps what it knows in its dictionary, which Python reads before it comes here.
        value: Value = vars(instance).setdefault(self.attrname, self.func(instance))
        return value


def lazily(
    package: str, names: Mapping[str, Sequence[str]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Returns ``__all__``, ``__getattr__`` and ``__dir__`` of a package; ``names`` says what each of its modules holds.

    No module may have the name of what is held, for once it is imported it would stand in its place.
    """
    homes = {name: module for module, held in names.items() for name in held}
    assert not homes.keys() & names.keys()

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{homes[name]}"), name)
        # As an import does, so that Python finds it by itself from now on.
        setattr(sys.modules[package], name, found)
        return found

    return sorted(homes), get, lambda: sorted({*vars(sys.modules[package]), *homes})
