"""One way to share work: a function mapped over independent units by threads."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

Unit = TypeVar("Unit")
Found = TypeVar("Found")

_local = threading.local()


def available() -> int:
    """How many threads the calling code may use: what :func:`allowed` says, 1 inside a mapped function."""
    return int(getattr(_local, "threads", 1))


@contextmanager
def allowed(threads: int) -> Iterator[None]:
    """Lets the code inside use so many threads."""
    before = available()
    _local.threads = threads
    try:
        yield
    finally:
        _local.threads = before


def map_units(function: Callable[[Unit], Found], units: Sequence[Unit]) -> list[Found]:
    """``function`` of every unit, in order, by as many threads as are available; nested calls are serial.

    Results do not depend on the number of threads, as long as the units do not touch one another.
    """
    threads = min(available(), len(units))
    if threads <= 1:
        return [function(unit) for unit in units]

    def alone(unit: Any) -> Found:
        with allowed(1):
            return function(unit)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(alone, units))
