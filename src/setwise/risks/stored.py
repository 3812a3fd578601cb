"""Places that are blocks of a file: what is large is read whenever a function needs it, and never kept."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, final

from setwise.core.checks import Values, as_count
from setwise.models.row_block import RowBlock
from setwise.risks.places import Each, Here, Kept, KeptHere, Places


@final
@dataclass(frozen=True, eq=False)
class Stored(Kept):
    """What lies in a file: ``read(k)`` reads what place k has of it."""

    read: Callable[[int], Any]


@final
@dataclass(frozen=True, eq=False)
class _Rows:
    """Reads the rows of a place; what was computed when they were first read is kept, 8 bytes a row."""

    read: Callable[[int], Any]
    intercept: float
    lengths: dict[int, Values] = field(default_factory=dict)

    def __call__(self, k: int) -> RowBlock:
        block = RowBlock(self.read(k), self.intercept, self.lengths.get(k))
        self.lengths[k] = block.lengths
        return block


@final
class Blocks(Places):
    """Places whose large objects are :class:`Stored`, and whose small ones are in the memory of this process.

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
        self._here, self.room, self._backwards = Here(as_count(count, "count"), n_jobs), room, False
        self.count = self._here.count

    def keep(self, function: Callable[..., Any], *arguments: Any) -> KeptHere:
        """Call the function at every place, and keep its results, which should be small."""
        return KeptHere(self.tell(function, *arguments))

    def tell(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call the function at every place, and return its results in the order of places."""
        if not any(isinstance(each, Stored) for each in arguments):
            return self._here.tell(function, *arguments)
        found: list[Any] = [None] * self.count
        order = range(self.count)[:: -1 if self._backwards else 1]
        self._backwards = not self._backwards
        with ThreadPoolExecutor(1, "setwise-reader") as reader:
            coming = reader.submit(_at, arguments, order[0])
            for k, after in zip(order, [*order[1:], None], strict=True):
                # Nothing else holds the block of the call before.
                call = coming.result()
                coming = coming if after is None else reader.submit(_at, arguments, after)
                found[k] = function(*call)
                del call
        return found

    def rows(self, X: Kept, intercept: float) -> Kept:
        """The rows of each block, which are read anew for each pass; those of a single block stay in memory."""
        if not isinstance(X, Stored) or self.count == 1:
            return self.keep(RowBlock, X, intercept)
        return Stored(_Rows(X.read, intercept))


def _at(arguments: Sequence[Any], k: int) -> list[Any]:
    """What the arguments are at place k."""
    found = []
    for each in arguments:
        if isinstance(each, Stored):
            found.append(each.read(k))
        else:
            found.append(each.values[k] if isinstance(each, KeptHere | Each) else each)
    return found
