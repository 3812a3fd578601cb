"""A random part of a Parquet table of any kinds of columns, drawn row group by row group.

The table itself never is in memory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Bools, Ints, as_count, shown
from setwise.core.exceptions import Refusal
from setwise.core.files import visible_errors
from setwise.core.pages import LARGE_FILES
from setwise.datasets.columns import WORDS
from setwise.datasets.files import Data, Request, as_existing, of_columns, parts_of, refuse_group, request
from setwise.datasets.parquet import NUMBERS, is_of
from setwise.datasets.tables import Columns, of_arrow, refuse_text_form, table_file


@final
class ParquetTable:
    """Row groups of a Parquet table, each with its columns by name; this needs pyarrow.

    Parameters
    ----------
    path : the file, which must stay as it is

    Attributes
    ----------
    names : the names of the columns
    numbers : the names of those that hold numbers
    sizes : the number of rows of each row group
    edges : row group g has the rows ``edges[g]:edges[g+1]``
    rows : the number of all rows
    bytes : what all columns take before they are compressed, as the file says
    """

    def __init__(self, path: Path) -> None:
        self.path, self._file = path, table_file(path)
        schema, metadata, self.sizes = self._file.schema, self._file.metadata, self._file.sizes
        self.names = tuple(schema.names)
        self.numbers = frozenset(name for name in self.names if is_of(schema.field(name).type, *NUMBERS))
        self.bytes = sum(metadata.row_group(g).total_byte_size for g in range(len(self.sizes)))
        self.edges = [0, *accumulate(self.sizes)]
        self.rows = self.edges[-1]

    @property
    def head(self) -> Columns:
        """The names of the columns, without any cells."""
        return Columns(self.path, self.names, 0, lambda name: np.empty(0))

    def arrow(self, groups: Sequence[int], names: Sequence[str], kept: Bools | None = None) -> Any:
        """The named columns of some row groups, or of those of their rows that are ``kept``, as a table of Arrow."""
        table = self._file.table(groups, names)
        return table if kept is None else table.take(np.flatnonzero(kept))

    def columns(self, table: Any) -> Columns:
        """The columns of a table of Arrow."""
        return of_arrow(table, self.names, self.path)

    def ids(self, groups: Sequence[int], name: str, codes: dict[Any, int]) -> NDArray[Any]:
        """A column of ids of some row groups: numbers as they are, and other kinds as the numbers in ``codes``.

        What has no number in ``codes`` gets the next one, so that a value has the same number wherever it occurs.
        """
        table = self.arrow(groups, (name,))
        column = table.column(0).combine_chunks()
        if is_of(column.type, *NUMBERS):
            return self.columns(table).ids(name)
        words = column if is_of(column.type, "dictionary") else column.dictionary_encode()
        values = words.dictionary.to_pylist()
        odd = [value for value in (*values, *([""] if words.null_count else [])) if value is None or value in WORDS]
        if odd:
            raise ValueError(
                f"column {name!r} of {self.path.name} holds {shown(odd[0])}, which is no id; leave such rows out."
            )
        known = np.array([codes.setdefault(value, len(codes)) for value in values], dtype=np.int64)
        return np.asarray(known[words.indices.to_numpy(zero_copy_only=False)])

    def sets(self, name: str, codes: dict[Any, int]) -> tuple[NDArray[Any], Ints]:
        """The sorted ids of all sets, and how many rows each of them has."""
        parts = [np.unique(self.ids([g], name, codes), return_counts=True) for g in range(len(self.sizes))]
        known, owners = np.unique(np.concatenate([some for some, _ in parts]), return_inverse=True)
        counts = np.concatenate([counts for _, counts in parts])
        return known, np.bincount(owners, counts, minlength=len(known)).astype(np.int64)


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


@visible_errors()
def load_sample(
    path: str | Path,
    rows: int,
    target: str | Sequence[str] | None = None,
    group: str | None = None,
    positive: str | None = None,
    drop: str | Sequence[str] | None = None,
    seed: int = 0,
    kinds: Mapping[str, str] | None = None,
    missing: str | Sequence[str] | None = None,
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
    kinds, missing : as in :func:`load_table`

    Returns
    -------
    Data
        The rows that are drawn, in the order of the file.

    Raises
    ------
    Refusal : if rows are too few for the first set that is drawn
    TypeError : if path is no path, a name no text, kinds no mapping, or rows or seed no whole number
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
    asked, seed = request(target, group, positive, drop, True, kinds, missing), as_count(seed, "seed", low=0)
    return drawn(ParquetTable(as_existing(path)), asked, lambda sets: as_count(rows, "rows"), seed)[0]


def drawn(table: ParquetTable, asked: Request, room: Callable[[int], int], seed: int) -> tuple[Data, Sample]:
    """The content of a random part of a table, and the part.

    ``room`` tells for a number of sets how many rows the part may have.
    """
    refuse_text_form(table.path, asked.sep, asked.encoding)
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
        parts = [
            first + np.flatnonzero(np.isin(table.ids([g], asked.group, codes), chosen))
            for g, first in enumerate(table.edges[:-1])
        ]
        sample = Sample(table, asked, target, np.concatenate(parts), len(ids))
    return of_columns(_columns(sample), asked), sample


def _columns(sample: Sample) -> Any:
    """The columns of the part."""
    import pyarrow as pa

    table = sample.table
    names = [name for name in table.names if name not in sample.asked.drop]
    parts = []
    for g, size in enumerate(table.sizes):
        kept = sample.holds(table.edges[g], size)
        if kept.any():
            parts.append(table.arrow([g], names, kept))
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
