"""Places that are partitions on the workers of a Dask cluster."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, final
from uuid import uuid4

from distributed import Client, Future

from setwise.core.checks import as_count, as_kind
from setwise.risks.places import Each, Kept, Places


@final
@dataclass(frozen=True, eq=False)
class KeptOnWorkers(Kept):
    """The futures of the partitions."""

    futures: Sequence[Future]


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
        return KeptOnWorkers(
            [self.client.submit(function, *call, key=(key, number, k)) for k, call in enumerate(calls)]
        )

    def tell(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        return list(self.client.gather(list(self.keep(function, *arguments).futures)))


def _at(argument: Any, k: int) -> Any:
    """What an argument is at place k."""
    if isinstance(argument, KeptOnWorkers):
        return argument.futures[k]
    return argument.values[k] if isinstance(argument, Each) else argument
