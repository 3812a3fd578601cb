"""The rows, labels and ids of a file, as places of which each is a block of it."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import as_text, shown
from setwise.datasets.array_blocks import ArrayBlocks
from setwise.datasets.budget import Budget
from setwise.datasets.parquet_blocks import ParquetBlocks
from setwise.estimators.placed.rows import PlacedRows
from setwise.estimators.sets import as_ids, as_target
from setwise.risks.places import Blocks, KeptHere, Stored

Reader = ArrayBlocks | ParquetBlocks

Run = Callable[[], Iterator[NDArray[Any]]]

Runs = tuple[int, list[Run]]
"""The number of rows, and what yields the ids of each block, a few at a time."""

RUN = 1 << 14
"""So many ids are counted at a time."""


def reader_of(X: Any, budget: Budget, features: Any = None, others: tuple[str, ...] = ()) -> Reader:
    """What reads the rows X; TypeError for what is neither the path of a Parquet file nor an array."""
    if isinstance(X, str | PathLike):
        return ParquetBlocks(Path(X), budget, features, others)
    if not isinstance(X, np.ndarray) or isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            "X must be the path of a Parquet file, or an array of NumPy, as np.load(path, mmap_mode='r') gives; got "
            f"{shown(X)}; setwise.SetClassifier takes what lies in memory."
        )
    if features is not None:
        raise ValueError(f"features must be None where X is an array; got {shown(features)}.")
    return ArrayBlocks(X, budget)


def placed_rows(X: Any, y: Any, groups: Any, features: Any, budget: Budget, n_jobs: int) -> PlacedRows:
    """The rows with their labels, ids, and the names of the features where they have any.

    The sets are counted before any features are read, and blocks are smaller by what many sets take.
    """
    found, runs, named = _placed(X, y, groups, features, budget, n_jobs)
    while found.ids is not None:
        needed = budget.beside(*_rows_and_sets(runs, budget, named), named)
        if needed.sets <= budget.sets:
            break
        # Smaller blocks may cut more sets, so these are counted again.
        budget = needed
        found, runs, named = _placed(X, y, groups, features, budget, n_jobs)
    return found


def _placed(X: Any, y: Any, groups: Any, features: Any, budget: Budget, n_jobs: int) -> tuple[PlacedRows, Runs, bool]:
    """The rows in blocks of what the budget leaves, what yields the ids of each, and whether these are no numbers."""
    if not isinstance(X, str | PathLike):
        arrays = reader_of(X, budget, features)
        places, n = Blocks(arrays.count, n_jobs, arrays.room), arrays.edges[-1]
        ids = None if groups is None else _parts(as_ids(groups, n), arrays)
        rows = PlacedRows(places, Stored(arrays.rows), _parts(_labels(y, n), arrays), ids)
        return rows, (n, [partial(_runs, part) for part in ([] if ids is None else ids.values)]), False
    others = as_text(y, "y"), *(() if groups is None else (as_text(groups, "groups"),))
    file = ParquetBlocks(Path(X), budget, features, others)
    places = Blocks(file.count, n_jobs, file.room)
    found = None if groups is None else Stored(partial(file.ids, groups))
    rows = PlacedRows(places, Stored(file.rows), Stored(partial(file.labels, y)), found, file.names)
    runs: list[Run] = [partial(file.runs_of_ids, groups, k) for k in range(file.count)]
    return rows, (file.edges[-1], runs), groups is not None and not file.is_number(groups)


def _rows_and_sets(runs: Runs, budget: Budget, named: bool) -> tuple[int, int]:
    """How many rows there are, and of how many sets, counted in each block; Refusal as soon as these are too many."""
    n, blocks = runs
    read = sets = 0
    for block in blocks:
        known, fresh, length = np.zeros(0, dtype=np.int64), list[NDArray[Any]](), 0
        for ids in block():
            fresh.append(np.unique(ids))
            length, read = length + len(fresh[-1]), read + len(ids)
            # Few are waiting beside those that are known, and yet each is sorted only a few times.
            if length >= len(known):
                known, length = np.unique(np.concatenate([*([known] if len(known) else []), *fresh])), 0
                fresh.clear()
                budget.refuse_sets(n, read, sets + len(known), named)
        sets += len(np.unique(np.concatenate([known, *fresh]))) if fresh else len(known)
        budget.refuse_sets(n, read, sets, named)
    return n, sets


def _runs(ids: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The ids of a block, a few at a time."""
    return (ids[a : a + RUN] for a in range(0, len(ids), RUN))


def _labels(y: Any, n: int) -> NDArray[Any]:
    labels = as_target(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise ValueError(f"y must have shape ({n},), one label for each row of X; got shape {labels.shape}.")
    if labels.dtype.kind == "O":
        raise ValueError(f"y must hold labels of one kind, numbers or text; got {shown(labels.tolist())}.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y must not hold NaN or inf.")
    return labels


def _parts(column: NDArray[Any], blocks: Reader) -> KeptHere:
    """What each block has of a column in memory."""
    return KeptHere([column[first:last] for first, last in pairwise(blocks.edges)])
