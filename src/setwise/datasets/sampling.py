"""A random part of a Parquet table of any kinds of columns, drawn row group by row group.

The table itself never is in memory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from setwise.core.checks import Bools, Ints, as_count
from setwise.core.exceptions import Refusal
from setwise.core.files import visible_errors
from setwise.core.pages import LARGE_FILES
from setwise.datasets.files import Data, Request, as_existing, of_columns, parts_of, request
from setwise.datasets.parquet import ParquetTable


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

    def holds(self, first: int, last: int) -> Bools:
        """Which of the rows ``first`` to ``last - 1`` of the file are in the part, (last - first,)."""
        return np.isin(np.arange(first, last), self.rows, assume_unique=True)


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
    asked, seed = request(True, target, group, positive, drop, kinds, missing), as_count(seed, "seed", low=0)
    return drawn(ParquetTable(as_existing(path)), asked, lambda sets: as_count(rows, "rows"), seed)[0]


def drawn(table: ParquetTable, asked: Request, room: Callable[[int], int], seed: int) -> tuple[Data, Sample]:
    """The content of a random part of a table, and the part.

    ``room`` tells for a number of sets how many rows the part may have.
    """
    import pyarrow as pa

    target, _ = parts_of(table.head, asked)
    if asked.group is None:
        sets = table.rows if len(target) > 1 else 1
        chosen = uniform_rows(table.rows, room(sets), seed)
    else:
        codes: dict[Any, int] = {}
        ids, sizes = table.sets(asked.group, codes)
        sets, rows = len(ids), room(len(ids))
        wanted = ids[whole_sets(sizes, rows, seed)]
        if not len(wanted):
            raise Refusal(
                f"{rows} rows are too few for a set of {table.path.name}, which may have {sizes.max()}.", LARGE_FILES
            )
        held = (np.isin(table.ids([g], asked.group, codes), wanted) for g in range(len(table.sizes)))
        chosen = np.concatenate([first + np.flatnonzero(one) for first, one in zip(table.edges, held, strict=False)])
    names = [name for name in table.names if name not in asked.drop]
    places = np.split(chosen, np.searchsorted(chosen, table.edges[1:-1]))
    parts = [table.arrow([g], names).take(rows - table.edges[g]) for g, rows in enumerate(places) if len(rows)]
    return of_columns(table.columns(pa.concat_tables(parts)), asked), Sample(table, asked, target, chosen, sets)


def uniform_rows(n: int, rows: int, seed: int) -> Ints:
    """The numbers of ``rows`` random ones of n rows, rising; all of them where there are fewer. Memory is O(rows)."""
    return np.sort(np.random.default_rng(seed).choice(n, min(rows, n), replace=False, shuffle=False))


def whole_sets(sizes: Ints, rows: int, seed: int) -> Ints:
    """The places of random sets that have at most so many rows together, up to the first one that would be too much."""
    order = np.random.default_rng(seed).permutation(len(sizes))
    return np.sort(order[: int(np.searchsorted(np.cumsum(sizes[order]), rows, side="right"))])
