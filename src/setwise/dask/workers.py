"""Places that are partitions on the workers of a Dask cluster."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, final
from uuid import uuid4

from dask.delayed import Delayed, delayed
from distributed import Client, Future, wait

from setwise.core.checks import Values, as_count, as_kind
from setwise.models.rows import RowBlock
from setwise.risks.places import Each, Kept, Places

PACK = 1 << 27
"""The most bytes of partitions that are worked on as one task: what a worker cannot hold, it spills by packs."""


@final
@dataclass(frozen=True, eq=False)
class KeptOnWorkers(Kept):
    """The futures of the lists of what the partitions of each pack have."""

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
    packs : the numbers of the partitions that are worked on together, as one task, for each task; None makes a task of
        each partition. Results do not depend on it

    Raises
    ------
    ValueError : for packs that do not hold each partition once, and numbers out of range
    TypeError : for a client or a number of another kind

    Examples
    --------
    >>> from distributed import Client
    >>> from setwise.dask import Workers
    >>> from setwise.risks.places import Each
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     places = Workers(client, 3)
    ...     kept = places.keep(np.arange, Each([2, 3, 4]))  # stays on the workers
    ...     print(places.tell(len, kept))
    [2, 3, 4]
    """

    def __init__(self, client: Client, n_places: int, packs: Sequence[Sequence[int]] | None = None) -> None:
        self.client = as_kind(client, "client", Client, "distributed.Client()")
        self.count = as_count(n_places, "n_places")
        self.packs = [[k] for k in range(self.count)] if packs is None else [list(pack) for pack in packs]
        self._places = list(chain.from_iterable(self.packs))
        if sorted(self._places) != list(range(self.count)):
            raise ValueError(f"packs must have each partition 0 to {self.count - 1} once; got {self.packs[:10]}.")
        self._calls, self._token = count(), uuid4().hex

    def hold(self, futures: Sequence[Future]) -> KeptOnWorkers:
        """What workers have computed of each partition, kept where it is, as a list for each pack.

        Parameters
        ----------
        futures : one for each partition, in their order

        Returns
        -------
        kept : the futures of the lists

        Raises
        ------
        IndexError : for fewer futures than partitions
        """
        return KeptOnWorkers([self.client.submit(list, [futures[k] for k in pack], pure=False) for pack in self.packs])

    def keep(self, function: Callable[..., Any], *arguments: Any) -> KeptOnWorkers:
        """Call a function once for each partition, and leave the results on the workers.

        Parameters
        ----------
        function : what is called, without a state of its own
        *arguments : a :class:`~setwise.risks.places.Kept` or :class:`~setwise.risks.places.Each` stands for what it has
            of a partition; any other one is sent to all of them

        Returns
        -------
        kept : the futures of the results; an error of the function is raised where they are asked for

        Raises
        ------
        AttributeError : for a function without a name
        """
        # The dashboard groups tasks by what stands before the token.
        name = function.__qualname__.lower().strip("_").replace(".", "-")
        key, number = f"{name}-{self._token}", next(self._calls)
        split = [isinstance(each, Kept | Each) for each in arguments]
        calls = [
            (function, split, len(pack), *(_of_pack(each, i, pack) for each in arguments))
            for i, pack in enumerate(self.packs)
        ]
        if any(isinstance(each, Anew) for each in arguments):
            lazy, names = delayed(_together, pure=False), [f"{key}-{number}-{i}" for i in range(len(calls))]
            tasks = [lazy(*call, dask_key_name=name) for call, name in zip(calls, names, strict=True)]
            return KeptOnWorkers(self.client.compute(tasks))
        return KeptOnWorkers(
            [self.client.submit(_together, *call, key=(key, number, i)) for i, call in enumerate(calls)]
        )

    def tell(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call a function once for each partition, and return the results, which should be small.

        Parameters
        ----------
        function : what is called, without a state of its own
        *arguments : a :class:`~setwise.risks.places.Kept` or :class:`~setwise.risks.places.Each` stands for what it has
            of a partition; any other one is sent to all of them

        Returns
        -------
        results : a list (n_places,) in the order of the partitions

        Raises
        ------
        Exception : any error of the function
        """
        answers = chain.from_iterable(self.client.gather(list(self.keep(function, *arguments).futures)))
        found: list[Any] = [None] * self.count
        for k, answer in zip(self._places, answers, strict=True):
            found[k] = answer
        return found

    def rows(self, X: Kept, intercept: float) -> Kept:
        """The rows of each partition as a :class:`~setwise.models.RowBlock`; what is loaded anew keeps their lengths.

        Parameters
        ----------
        X : the kept matrices of the partitions, (n_k, d) each
        intercept : the value of the constant feature, in the unit of the others; 0 adds none

        Returns
        -------
        kept : the rows of each partition

        Raises
        ------
        ValueError : where it is computed, for rows that are not finite
        """
        if not isinstance(X, Anew):
            return self.keep(RowBlock, X, intercept)
        lengths = self.keep(_lengths, X, intercept)
        block, parts = delayed(_block, pure=False), [None] * self.count
        for pack, known in zip(self.packs, lengths.futures, strict=True):
            for i, k in enumerate(pack):
                parts[k] = block(X.parts[k], intercept, known, i)
        return Anew(parts)


def packs_of(client: Client, futures: Sequence[Future]) -> list[list[int]]:
    """The partitions of each worker in packs of at most ``PACK`` bytes, as many as its threads or more.

    It waits until the partitions are computed.
    """
    with client.as_current():
        wait(futures)
    # What a worker lost meanwhile is computed again, anywhere.
    where, sizes, threads = client.who_has(futures), client.nbytes(summary=False), client.nthreads()
    homes: dict[str, list[int]] = {}
    for k, future in enumerate(futures):
        homes.setdefault(next(iter(where.get(future.key, ())), ""), []).append(k)
    packs: list[list[int]] = []
    for home, places in homes.items():
        most, size = -(-len(places) // max(threads.get(home, 1), 1)), 0
        packs.append([])
        for k in places:
            more = sizes.get(futures[k].key, 0)
            if packs[-1] and (len(packs[-1]) == most or size + more > PACK):
                packs.append([])
                size = 0
            packs[-1].append(k)
            size += more
    return packs


def _together(function: Callable[..., Any], split: Sequence[bool], size: int, *arguments: Any) -> list[Any]:
    """The results of a function for the partitions of a pack, where ``split`` arguments are lists of one for each."""
    return [
        function(*(each[i] if of_each else each for each, of_each in zip(arguments, split, strict=True)))
        for i in range(size)
    ]


def _lengths(X: Any, intercept: float) -> Values:
    """The lengths of the rows, which are checked."""
    return RowBlock(X, intercept).lengths


def _block(X: Any, intercept: float, known: Sequence[Values], i: int) -> RowBlock:
    """The rows of partition i of a pack, whose lengths are known."""
    return RowBlock(X, intercept, known[i])


def _of_pack(argument: Any, i: int, pack: Sequence[int]) -> Any:
    """What an argument is for pack i: a list of what its partitions have, or the argument itself."""
    if isinstance(argument, KeptOnWorkers):
        return argument.futures[i]
    if isinstance(argument, Anew):
        return [argument.parts[k] for k in pack]
    return [argument.values[k] for k in pack] if isinstance(argument, Each) else argument
