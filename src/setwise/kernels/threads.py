"""Work in parallel: a function is mapped over independent units by threads."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Unit = TypeVar("Unit")
Found = TypeVar("Found")

_local = threading.local()


def available() -> int:
    """Returns how many threads the calling code may use: what :func:`allowed` has set, else 1."""
    return int(getattr(_local, "threads", 1))


@contextmanager
def allowed(threads: int) -> Iterator[None]:
    """Allows the code in the ``with`` block to use this number of threads."""
    before = available()
    _local.threads = threads
    try:
        yield
    finally:
        _local.threads = before


def map_units(function: Callable[[Unit], Found], units: Sequence[Unit]) -> list[Found]:
    """Returns ``function`` of every unit, in order, by as many threads as are available; nested calls are serial.

    The results do not depend on the number of threads, as long as the units share no state.
    """
    threads = min(available(), len(units))
    if threads <= 1:
        return [function(unit) for unit in units]
    # The setting belongs to the thread that made it: those of the pool have none, so nested calls are serial.
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, units))
