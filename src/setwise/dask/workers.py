"""Places that are partitions on the workers of a Dask cluster."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, final
from uuid import uuid4

from dask.delayed import Delayed, delayed
from distributed import Client, Future

from setwise.core.arrays import Values
from setwise.core.checks import as_count, as_kind
from setwise.models.row_block import RowBlock
from setwise.risks.places import Each, Kept, Places


@final
@dataclass(frozen=True, eq=False)
class KeptOnWorkers(Kept):
    """The futures of the partitions."""

    futures: Sequence[Future]


@final
@dataclass(frozen=True, eq=False)
class Anew(Kept):
    """What workers make anew whenever it is needed, from the delayed objects of the partitions."""

    parts: Sequence[Delayed]


@final
class Workers(Places):
    """Partitions of a collection, wherever the scheduler has put them.

    A partition is a place, so results do not depend on the number of workers. What a lost worker held is computed anew
    by the others, since all functions are without state. Tasks carry the names of their functions on the dashboard.

    Parameters
    ----------
    client : the client of the cluster
    n_places : the number of partitions
    """

    def __init__(self, client: Client, n_places: int) -> None:
        self.client = as_kind(client, "client", Client, "distributed.Client()")
        self.count = as_count(n_places, "n_places")
        self._calls, self._token = count(), uuid4().hex

    def keep(self, function: Callable[..., Any], *arguments: Any) -> KeptOnWorkers:
        # The dashboard groups tasks by what stands before the token.
        name = function.__qualname__.lower().strip("_").replace(".", "-")
        key, number = f"{name}-{self._token}", next(self._calls)
        calls = [tuple(_at(each, k) for each in arguments) for k in range(self.count)]
        if any(isinstance(each, Anew) for each in arguments):
            lazy, names = delayed(function, pure=False), [f"{key}-{number}-{k}" for k in range(self.count)]
            tasks = [lazy(*call, dask_key_name=name) for call, name in zip(calls, names, strict=True)]
            return KeptOnWorkers(self.client.compute(tasks))
        return KeptOnWorkers(
            [self.client.submit(function, *call, key=(key, number, k)) for k, call in enumerate(calls)]
        )

    def tell(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        return list(self.client.gather(list(self.keep(function, *arguments).futures)))

    def rows(self, X: Kept, intercept: float) -> Kept:
        """The rows of each partition; what is loaded anew keeps its lengths, 8 bytes a row."""
        if not isinstance(X, Anew):
            return self.keep(RowBlock, X, intercept)
        lengths = self.keep(_lengths, X, intercept)
        block = delayed(RowBlock, pure=False)
        return Anew([block(part, intercept, known) for part, known in zip(X.parts, lengths.futures, strict=True)])


def _lengths(X: Any, intercept: float) -> Values:
    """The lengths of the rows, which are checked."""
    return RowBlock(X, intercept).lengths


def _at(argument: Any, k: int) -> Any:
    """What an argument is at place k."""
    if isinstance(argument, KeptOnWorkers):
        return argument.futures[k]
    if isinstance(argument, Anew):
        return argument.parts[k]
    return argument.values[k] if isinstance(argument, Each) else argument
