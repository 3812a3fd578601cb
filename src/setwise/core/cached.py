"""Attributes that are computed when they are first read, without a lock."""

import functools
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
