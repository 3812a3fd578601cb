"""Places that are partitions on the workers of a Dask cluster, and its client for the time of a call.

Collections of rows, labels and ids have partitions that lie side by side.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from typing import Any, Self, final
from uuid import uuid4

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed
from distributed import Client, Future, default_client, wait
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone

from setwise.core.checks import Values, as_count, as_float64, as_kind
from setwise.core.pages import CLUSTER
from setwise.distributed.rows import PlacedRows
from setwise.estimators.base import VersionedEstimator
from setwise.models.rows import RowBlock
from setwise.risks.places import PlaceArguments, PlacedObjects, Places

PACK = 1 << 27
"""The most bytes of partitions that are worked on as one task: what a worker cannot hold, it spills by packs."""


@final
@dataclass(frozen=True, eq=False)
class WorkerObjects(PlacedObjects):
    """The futures of the lists of what the partitions of each pack have."""

    futures: Sequence[Future]


@final
@dataclass(frozen=True, eq=False)
class DelayedObjects(PlacedObjects):
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
    >>> from setwise.risks.places import PlaceArguments
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     places = Workers(client, 3)
    ...     kept = places.keep(np.arange, PlaceArguments([2, 3, 4]))  # stays on the workers
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

    def hold(self, futures: Sequence[Future]) -> WorkerObjects:
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
        return WorkerObjects([self.client.submit(list, [futures[k] for k in pack], pure=False) for pack in self.packs])

    def keep(self, function: Callable[..., Any], *arguments: Any) -> WorkerObjects:
        """Call a function once for each partition, and leave the results on the workers.

        Parameters
        ----------
        function : what is called, without a state of its own
        *arguments : a :class:`~setwise.risks.places.PlacedObjects` or
            :class:`~setwise.risks.places.PlaceArguments` stands for what it has of a partition; any other one is sent
            to all of them

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
        split = [isinstance(each, PlacedObjects | PlaceArguments) for each in arguments]
        calls = [
            (function, split, len(pack), *(_of_pack(each, i, pack) for each in arguments))
            for i, pack in enumerate(self.packs)
        ]
        if any(isinstance(each, DelayedObjects) for each in arguments):
            lazy = delayed(_together, pure=False)
            tasks = [lazy(*call, dask_key_name=f"{key}-{number}-{i}") for i, call in enumerate(calls)]
            return WorkerObjects(self.client.compute(tasks))
        return WorkerObjects(
            [self.client.submit(_together, *call, key=(key, number, i)) for i, call in enumerate(calls)]
        )

    def tell(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call a function once for each partition, and return the results, which should be small.

        Parameters
        ----------
        function : what is called, without a state of its own
        *arguments : a :class:`~setwise.risks.places.PlacedObjects` or
            :class:`~setwise.risks.places.PlaceArguments` stands for what it has of a partition; any other one is sent
            to all of them

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

    def rows(self, X: PlacedObjects, intercept: float) -> PlacedObjects:
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
        if not isinstance(X, DelayedObjects):
            return self.keep(RowBlock, X, intercept)
        lengths = self.keep(_lengths, X, intercept)
        block, parts = delayed(_block, pure=False), [None] * self.count
        for pack, known in zip(self.packs, lengths.futures, strict=True):
            for i, k in enumerate(pack):
                parts[k] = block(X.parts[k], intercept, known, i)
        return DelayedObjects(parts)


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
    if isinstance(argument, WorkerObjects):
        return argument.futures[i]
    if isinstance(argument, DelayedObjects):
        return [argument.parts[k] for k in pack]
    return [argument.values[k] for k in pack] if isinstance(argument, PlaceArguments) else argument


class ClusterEstimator(VersionedEstimator):
    """A base of estimators with a parameter ``client``, which is neither stored nor copied."""

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}

    def __sklearn_clone__(self) -> Self:
        given: dict[str, Any] = self.get_params(deep=False)
        client = given.pop("client")
        return type(self)(**{name: clone(value, safe=False) for name, value in given.items()}, client=client)


@contextmanager
def cluster(client: Client | None) -> Iterator[Client]:
    """The client that is given, or that was made last, or one of a cluster that is started on this machine."""
    if client is None:
        try:
            client = default_client()
        except ValueError:
            warnings.warn(
                f"there is no Dask client, so a cluster on this machine is started for this call.{CLUSTER.see}",
                stacklevel=4,
            )
            with Client(dashboard_address=":0") as own:
                yield own
            return
    yield client


Read = Callable[[Any], Any]
"""How a partition of X becomes what is computed with."""


def as_rows(part: Any) -> Any:
    """A partition of X as a matrix, in float32 where all of it is."""
    if issparse(part):
        return part.tocsr()
    values = _plain(part, "X")
    return values if values.dtype in (np.float32, np.float64) else as_float64(values, values, "X")


def untouched(part: Any) -> Any:
    """A partition of X as it is."""
    return part


def placed_rows(client: Client, X: Any, y: Any, groups: Any, read: Read = as_rows, persist: bool = True) -> PlacedRows:
    """The partitions of the collections on the workers, which begin to compute them; X is read by ``read``.

    Without ``persist`` X is made anew whenever it is needed.

    Raises
    ------
    TypeError : for what is no Dask collection
    ValueError : where the partitions of the three do not agree
    """
    if isinstance(X, da.Array) and X.ndim != 2:
        raise ValueError(f"X must have shape (rows, features); got {X.ndim} dimensions.")
    return _placed(client, {"X": X, "y": y, "groups": groups}, read, "setwise.SetClassifier", persist)


def placed_columns(client: Client, predictions: Any, y: Any, groups: Any) -> PlacedRows:
    """The partitions of flat collections on the workers; the predictions take the place of X."""
    given = {"predictions": predictions, "y": y, "groups": groups}
    return _placed(client, given, partial(as_column, name="predictions"), "a loss of setwise.losses")


def _placed(client: Client, given: dict[str, Any], read: Read, local: str, persist: bool = True) -> PlacedRows:
    """The rows of the first of the collections, with the others; ``local`` takes data in memory."""
    given = aligned(client, {name: each for name, each in given.items() if each is not None}, persist)
    parts = {name: partitions(each, name, local) for name, each in given.items()}
    sizes = {name: len(each) for name, each in parts.items()}
    first, *others = given
    if len(set(sizes.values())) > 1:
        raise ValueError(f"{first}, y and groups must have the same number of partitions; got {sizes}.")
    wrapped = [delayed(read)(part) for part in parts[first]]
    held = client.compute(wrapped) if persist else None
    columns = {name: client.compute([delayed(as_column)(part, name) for part in parts[name]]) for name in others}
    # A worker that loads rows anew has one partition of them at a time.
    places = Workers(client, sizes[first], None if held is None else packs_of(client, held))
    rows: PlacedObjects = DelayedObjects(wrapped) if held is None else places.hold(held)
    kept = {name: places.hold(each) for name, each in columns.items()}
    return PlacedRows(places, rows, kept["y"], kept.get("groups"), names_of(given[first]))


def names_of(X: Any) -> tuple[str, ...] | None:
    """The names of the columns of a dataframe, if all are words."""
    columns = tuple(getattr(X, "columns", ()))
    return columns if columns and all(isinstance(name, str) for name in columns) else None


def aligned(client: Client, given: dict[str, Any], persist: bool = True) -> dict[str, Any]:
    """The collections, of which Dask arrays have the row chunks of the first; unknown chunk sizes are computed."""
    (first, X), *others = given.items()
    arrays = {name: each for name, each in others if isinstance(each, da.Array)}
    if not isinstance(X, da.Array):
        return given
    X = X.rechunk({1: -1}) if X.ndim == 2 and len(X.chunks[1]) > 1 else X
    X = _sized(client, X, persist) if arrays else X
    for name, each in arrays.items():
        column = _sized(client, each, persist)
        if column.shape[0] != X.shape[0]:
            raise ValueError(
                f"{first} and {name} must have the same number of rows; got {X.shape[0]} and {column.shape[0]}."
            )
        arrays[name] = column.rechunk({0: X.chunks[0]})
    return given | {first: X} | arrays


def _sized(client: Client, array: da.Array, persist: bool) -> da.Array:
    """The array with the sizes of its chunks of rows; where they are not known, it is computed for them."""
    if not np.isnan(array.chunks[0]).any():
        return array
    array = client.persist(array) if persist else array
    blocks = array.to_delayed().reshape(len(array.chunks[0]), -1)[:, 0]
    sizes = client.gather(client.compute([delayed(_rows)(block) for block in blocks]))
    return da.Array(array.dask, array.name, (tuple(sizes), *array.chunks[1:]), meta=array)


def _rows(part: Any) -> int:
    return int(part.shape[0])


def partitions(collection: Any, name: str, local: str = "setwise.SetClassifier") -> Sequence[Any]:
    """The partitions of a Dask array, dataframe or series, or of a list of delayed objects.

    The refusal of anything else names what is for data in memory, ``local``.
    """
    if isinstance(collection, list | tuple) and collection and all(isinstance(part, Delayed) for part in collection):
        return collection
    if isinstance(collection, Delayed):
        raise TypeError(f"{name} must be a list of delayed objects; got a single one: put it into a list, [{name}].")
    if is_dask_collection(collection) and hasattr(collection, "to_delayed"):
        # Optimized, a dataframe of few columns may have fewer partitions than another one of the same file.
        return list(np.ravel(collection.to_delayed(optimize_graph=False)))
    raise TypeError(
        f"{name} must be a Dask array or dataframe, or a list of delayed objects; got {type(collection).__name__}. "
        f"{local} takes data in memory."
    )


def as_column(part: Any, name: str) -> Any:
    """A partition of labels, ids or predictions as a flat array."""
    values = _plain(part, name)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{name} must be flat, one entry for each row; got shape {values.shape}.")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite; got NaN or inf.")
    if values.dtype.kind in "mM" and np.isnat(values).any():
        raise ValueError(f"{name} must not have missing values; got NaT.")
    if values.dtype.kind == "O" and any(value is None or value != value for value in values):
        raise ValueError(f"{name} must not have missing values; got None or NaN.")
    if values.dtype.kind != "O" or not all(type(value) is int for value in values):
        return values
    # Objects that are whole numbers of Python become an array of them, if it holds them.
    numbers = np.array(values.tolist())
    return numbers if numbers.dtype.kind in "iu" else values


def _plain(part: Any, name: str) -> NDArray[Any]:
    """A partition as an array of real numbers or words, without masked entries."""
    if isinstance(part, np.ma.MaskedArray) and np.ma.getmaskarray(part).any():
        raise ValueError(f"{name} must not have masked entries; got {int(np.ma.getmaskarray(part).sum())} of them.")
    values = np.asarray(part)
    if values.dtype.kind == "c":
        raise ValueError(f"{name} must be real; got dtype {values.dtype}.")
    return values


def mapped(function: Callable[[Any], Any], X: Any, dtype: Any, read: Read = as_rows) -> Any:
    """The function of each partition, as a collection of the kind of X."""
    if isinstance(X, da.Array):
        whole = X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
        return whole.map_blocks(lambda rows: function(read(rows)), dtype=dtype, drop_axis=1)
    if isinstance(X, list | tuple):
        return [delayed(lambda rows: function(read(rows)))(part) for part in partitions(X, "X")]
    if is_dask_collection(X) and hasattr(X, "map_partitions"):
        return X.map_partitions(lambda rows: as_series(function(read(rows)), rows), meta=(None, dtype))
    return function(read(X))


def as_series(values: Any, part: Any, name: Any = None) -> Any:
    """Values as a series with the index of a partition of a dataframe or series."""
    import pandas as pd

    return pd.Series(values, index=part.index, name=name)
