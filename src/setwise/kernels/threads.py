"""Work in parallel: a function is mapped over independent units by threads."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Unit = TypeVar("Unit")
Found = TypeVar("Found")

_local = threading.local()


def available() -> int:
    """Returns how many threads the calling code may use: what :func:`thread_limit` has set, else 1."""
    return int(getattr(_local, "threads", 1))


class thread_limit:  # noqa: N801  (it is called as a function)
    """Allows the code in the ``with`` block to use this number of threads."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def __enter__(self) -> None:
        self.before = available()
        _local.threads = self.threads

    def __exit__(self, *unused: object) -> None:
        _local.threads = self.before


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


def share_units(worker: Callable[[Iterator[Unit]], Found], units: Sequence[Unit]) -> list[Found]:
    """Returns what a worker of each available thread makes of the units that it takes, one after another.

    No unit is taken twice, and a thread that is held up takes fewer, so that all are done at about the same time. Which
    worker takes which unit is left to chance. A worker makes its state once, and not for each unit.
    """
    left, threads = deque(units), min(available(), len(units))

    def taken() -> Iterator[Unit]:
        while True:
            try:
                unit = left.popleft()
            except IndexError:
                return
            yield unit

    found: list[Future[Found]] = [Future() for _ in range(max(threads, 1))]

    def work(future: "Future[Found]") -> None:
        try:
            future.set_result(worker(taken()))
        except BaseException as error:
            left.clear()
            future.set_exception(error)

    # The calling thread is one of them. To start and end a pool takes as long as some samples.
    others = [threading.Thread(target=work, args=(future,), daemon=True) for future in found[1:]]
    for one in others:
        one.start()
    with thread_limit(1):
        work(found[0])
    for one in others:
        one.join()
    return [future.result() for future in found]
