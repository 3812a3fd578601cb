"""A random part of a Parquet table, drawn row group by row group, so that the table itself never is in memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from setwise.core.checks import Bools, Ints, as_count
from setwise.core.exceptions import Refusal
from setwise.core.files import visible_errors
from setwise.core.pages import LARGE_FILES
from setwise.datasets.files import Data, Request, as_existing, of_columns, parts_of, refuse_group, request
from setwise.datasets.parquet_table import ParquetTable

RUN = 1 << 16
"""So many rows draw their numbers at a time, or as many as the part has."""


@final
@dataclass(frozen=True, eq=False)
class Sample:
    """A random part of a Parquet table.

    Attributes
    ----------
    table : the file
    asked : what is read of it
    target : the names of the target columns
    rows : (m,) the numbers of the rows of the part in the file, rising
    sets : the number of sets in the file, 1 without groups; of a label matrix each row is one
    """

    table: ParquetTable
    asked: Request
    target: tuple[str, ...]
    rows: Ints
    sets: int

    def holds(self, first: int, count: int) -> Bools:
        """Which of the rows ``first`` to ``first + count`` of the file are in the part, (count,)."""
        found = np.zeros(count, dtype=np.bool_)
        low, high = np.searchsorted(self.rows, (first, first + count))
        found[self.rows[low:high] - first] = True
        return found

    def part(self, places: Ints) -> "Sample":
        """The part of some of its rows, given by their places in it."""
        return replace(self, rows=self.rows[places])


@visible_errors()
def load_sample(
    path: str | Path,
    rows: int,
    target: str | Sequence[str] | None = None,
    group: str | None = None,
    positive: str | None = None,
    drop: str | Sequence[str] | None = None,
    seed: int = 0,
) -> Data:
    """Read random rows of a Parquet table as :func:`load_table` reads all of them; memory is proportional to the rows.

    All parts of so many rows have the same chance. With ``group`` whole sets are drawn, one after another until the
    next one would be too much. What is drawn depends on the seed, and not on the row groups of the file.

    Parameters
    ----------
    path : the path of a ``.parquet`` file
    rows : at most so many rows
    target, group, positive, drop : as in :func:`load`
    seed : the seed of the draw, an int from 0 on

    Returns
    -------
    Data
        The rows that are drawn, in the order of the file.

    Raises
    ------
    Refusal : if rows are too few for the first set that is drawn
    TypeError : if path is no path, a name no text, or rows or seed no whole number
    ValueError, OSError : with one sentence that says what is wrong and where; also without PyArrow

    Examples
    --------
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from setwise.datasets import load_sample
    >>> table = pa.table({"size": range(1000), "y": [0, 1] * 500})
    >>> pq.write_table(table, "t.parquet")
    >>> data = load_sample("t.parquet", rows=10, seed=0)
    >>> data.X.shape, bool((data.X[:, 0] % 2 == data.y).all())
    ((10, 1), True)
    """
    asked, seed = request(target, group, positive, drop, True), as_count(seed, "seed", low=0)
    return drawn(ParquetTable(as_existing(path)), asked, lambda sets: as_count(rows, "rows"), seed)[0]


def drawn(table: ParquetTable, asked: Request, room: Callable[[int], int], seed: int) -> tuple[Data, Sample]:
    """The content of a random part of a table, and the part.

    ``room`` tells for a number of sets how many rows the part may have.
    """
    target, _ = parts_of(table.head, asked)
    if len(target) > 1:
        refuse_group(asked)
    if asked.group is None:
        sets = table.rows if len(target) > 1 else 1
        sample = Sample(table, asked, target, uniform_rows(table.rows, room(sets), seed), sets)
    else:
        codes: dict[Any, int] = {}
        ids, sizes = table.sets(asked.group, codes)
        rows = room(len(ids))
        chosen = ids[whole_sets(sizes, rows, seed)]
        if not len(chosen):
            raise Refusal(
                f"{rows} rows are too few for a set of {table.path.name}, which may have {sizes.max()}.", LARGE_FILES
            )
        parts, first = [], 0
        for g, size in enumerate(table.sizes):
            found = np.isin(table.ids([g], asked.group, codes), chosen)
            parts.append(first + np.flatnonzero(found))
            first += size
        sample = Sample(table, asked, target, np.concatenate(parts), len(ids))
    return of_columns(_columns(sample), asked), sample


def _columns(sample: Sample) -> Any:
    """The columns of the part."""
    import pyarrow as pa

    table, parts, first = sample.table, [], 0
    names = [name for name in table.names if name not in sample.asked.drop]
    for g, size in enumerate(table.sizes):
        kept = sample.holds(first, size)
        if kept.any():
            parts.append(table.arrow([g], names, kept))
        first += size
    return table.columns(pa.concat_tables(parts))


def uniform_rows(n: int, rows: int, seed: int) -> Ints:
    """The numbers of ``rows`` random ones of n rows, rising; all of them where there are fewer. Memory is O(rows)."""
    if rows >= n:
        return np.arange(n)
    rng, run = np.random.default_rng(seed), max(rows, RUN)
    places, keys = np.empty(0, dtype=np.int64), np.empty(0)
    for first in range(0, n, run):
        new = np.arange(first, min(first + run, n))
        places, keys = np.concatenate([places, new]), np.concatenate([keys, rng.random(len(new))])
        # The rows of the least numbers are a uniform part of all that had one so far.
        if len(keys) > rows:
            least = np.argpartition(keys, rows - 1)[:rows]
            places, keys = places[least], keys[least]
    return np.sort(places)


def whole_sets(sizes: Ints, rows: int, seed: int) -> Ints:
    """The places of random sets that have at most so many rows together, up to the first one that would be too much."""
    order = np.random.default_rng(seed).permutation(len(sizes))
    return np.sort(order[: int(np.searchsorted(np.cumsum(sizes[order]), rows, side="right"))])
