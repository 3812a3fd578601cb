"""The partitions of Dask collections of rows, labels and ids, which lie side by side."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed
from distributed import Client
from numpy.typing import NDArray
from scipy.sparse import issparse

from setwise.core.checks import as_float64
from setwise.dask.workers import Anew, Workers, packs_of
from setwise.distributed.rows import PlacedRows
from setwise.risks.places import Kept

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
    """The rows of the first of the collections, with the others; ``local`` takes what lies in memory."""
    given = aligned(client, {name: each for name, each in given.items() if each is not None}, persist)
    parts = {name: partitions(each, name, local) for name, each in given.items()}
    sizes = {name: len(each) for name, each in parts.items()}
    first, *others = given
    if len(set(sizes.values())) > 1:
        raise ValueError(f"{first}, y and groups must have as many partitions; got {sizes}.")
    wrapped = [delayed(read)(part) for part in parts[first]]
    held = client.compute(wrapped) if persist else None
    columns = {name: client.compute([delayed(as_column)(part, name) for part in parts[name]]) for name in others}
    # A worker that loads rows anew has one partition of them at a time.
    places = Workers(client, sizes[first], None if held is None else packs_of(client, held))
    rows: Kept = Anew(wrapped) if held is None else places.hold(held)
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
            raise ValueError(f"{first} and {name} must have as many rows; got {X.shape[0]} and {column.shape[0]}.")
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
        f"{local} takes what lies in memory."
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
        raise ValueError(f"{name} must not have gaps; got NaT.")
    if values.dtype.kind == "O" and any(value is None or value != value for value in values):
        raise ValueError(f"{name} must not have gaps; got None or NaN.")
    return _whole_numbers(values) if values.dtype.kind == "O" else values


def _whole_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Objects that are whole numbers of Python as an array of them; others as they are."""
    if not all(type(value) is int for value in values):
        return values
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
        return X.map_partitions(_series, function, read, meta=(None, dtype))
    return function(read(X))


def _series(frame: Any, function: Callable[[Any], Any], read: Read) -> Any:
    import pandas as pd

    return pd.Series(function(read(frame)), index=frame.index)
