"""Places that hold parts of a data set: functions travel to the data, and small answers come back.

Of places that are blocks of a file, what is large is read whenever a function needs it, and never kept.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from setwise.core.checks import Values, as_count
from setwise.kernels.threads import map_units, thread_limit
from setwise.models.rows import RowBlock


class PlacedObjects:
    """What stays at the places: one object at each."""


@final
@dataclass(frozen=True, eq=False)
class PlaceArguments:
    """What is sent to the places: one small object to each, in their order."""

    values: Sequence[Any]


class Places(ABC):
    """Where data lie, in a fixed order. A function is called once for each place.

    An argument that is :class:`PlacedObjects` or :class:`PlaceArguments` stands for the object of the place, and any
    other one is sent to all places. Functions have no state of their own, so that a place that was lost can be made
    again elsewhere.

    Attributes
    ----------
    count : the number of places
    room : the largest number of scores that may be gathered in one place
    """

    count: int
    room: float = np.inf

    @abstractmethod
    def keep(self, function: Callable[..., Any], *arguments: Any) -> PlacedObjects:
        """Call the function at every place, and leave its results there."""

    @abstractmethod
    def tell(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call the function at every place, and return its results, which should be small, in the order of places."""

    def rows(self, X: PlacedObjects, intercept: float) -> PlacedObjects:
        """The :class:`~setwise.models.RowBlock` of the matrix of each place."""
        return self.keep(RowBlock, X, intercept)


@final
@dataclass(frozen=True, eq=False)
class LocalObjects(PlacedObjects):
    """Objects of this process."""

    values: list[Any]


class LocalPlaces(Places):
    """Places that are parts of the memory of this process.

    Parameters
    ----------
    count : their number
    n_jobs : the number of threads that share them. Results do not depend on it
    """

    def __init__(self, count: int, n_jobs: int = 1) -> None:
        self.count, self.n_jobs = as_count(count, "count"), as_count(n_jobs, "n_jobs")

    def keep(self, function: Callable[..., Any], *arguments: Any) -> LocalObjects:
        return LocalObjects(self.tell(function, *arguments))

    def tell(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        calls = [_all_at(arguments, k) for k in range(self.count)]
        with thread_limit(self.n_jobs):
            return map_units(lambda call: function(*call), calls)


@final
@dataclass(frozen=True, eq=False)
class FileObjects(PlacedObjects):
    """What lies in a file: ``read(k)`` reads what place k has of it."""

    read: Callable[[int], Any]


@final
@dataclass(frozen=True, eq=False)
class _RowReader:
    """Reads the rows of a place; what was computed when they were first read is kept, 8 bytes a row."""

    read: Callable[[int], Any]
    intercept: float
    lengths: dict[int, Values] = field(default_factory=dict)

    def __call__(self, k: int) -> RowBlock:
        block = RowBlock(self.read(k), self.intercept, self.lengths.get(k))
        self.lengths[k] = block.lengths
        return block


@final
class FilePlaces(LocalPlaces):
    """Places whose large objects are :class:`FileObjects`, and whose small ones are in the memory of this process.

    Functions of stored objects are called one after another, while a thread reads what the next call needs. So there
    are two blocks at most, beside what one of them is read from. Successive passes go forwards and backwards in turn,
    so that what the operating system still has of the end of the file is not read from the disk. A single block is
    read once.

    Parameters
    ----------
    count : the number of blocks
    n_jobs : the number of threads that share calls for which nothing is read. Results do not depend on it
    room : the largest number of scores that may be gathered
    """

    def __init__(self, count: int, n_jobs: int = 1, room: float = float("inf")) -> None:
        super().__init__(count, n_jobs)
        self.room, self._backwards = room, False

    def tell(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call the function at every place, and return its results in the order of places."""
        if not any(isinstance(each, FileObjects) for each in arguments):
            return super().tell(function, *arguments)
        found: list[Any] = [None] * self.count
        order = range(self.count)[:: -1 if self._backwards else 1]
        self._backwards = not self._backwards
        with ThreadPoolExecutor(1, "setwise-reader") as reader:
            coming = reader.submit(_all_at, arguments, order[0])
            for k, after in zip(order, [*order[1:], None], strict=True):
                # Nothing else holds the block of the call before.
                call = coming.result()
                coming = coming if after is None else reader.submit(_all_at, arguments, after)
                found[k] = function(*call)
                del call
        return found

    def rows(self, X: PlacedObjects, intercept: float) -> PlacedObjects:
        """The rows of each block, which are read anew for each pass; those of a single block stay in memory."""
        if not isinstance(X, FileObjects) or self.count == 1:
            return self.keep(RowBlock, X, intercept)
        return FileObjects(_RowReader(X.read, intercept))


def _all_at(arguments: Sequence[Any], k: int) -> list[Any]:
    """What the arguments are at place k."""
    read = [each.read(k) if isinstance(each, FileObjects) else each for each in arguments]
    return [each.values[k] if isinstance(each, LocalObjects | PlaceArguments) else each for each in read]
