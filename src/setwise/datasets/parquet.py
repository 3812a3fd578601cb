"""Parquet files as pyarrow reads them, which must stay as they are, and tables of any kinds of columns in them."""

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Ints, shown
from setwise.core.exceptions import BrokenPromise
from setwise.datasets.columns import WORDS, Cells, Texts
from setwise.datasets.tables import Columns

BUFFER = 1 << 20
"""So many bytes of a column are read at a time, that there is no copy of all of it before it is decoded."""

NUMBERS = ("boolean", "integer", "floating")
"""The kinds of columns that hold numbers, as pyarrow calls them."""


def is_of(kind: Any, *names: str) -> bool:
    """Whether a type of pyarrow is of one of the kinds with these names, as ``"integer"``."""
    import pyarrow as pa

    return any(getattr(pa.types, f"is_{name}")(kind) for name in names)


@final
@dataclass(frozen=True)
class Stamp:
    """A file, and its size, the time of its last change and its number at some time."""

    path: Path
    state: tuple[int, int, int]

    @classmethod
    def of(cls, path: Path) -> Self:
        """The stamp of a file as it is now."""
        found = os.stat(path)
        return cls(path, (found.st_size, found.st_mtime_ns, found.st_ino))

    def check(self) -> None:
        """Raise BrokenPromise where the file is another one by now."""
        with suppress(OSError):
            if Stamp.of(self.path) == self:
                return
        raise BrokenPromise(f"X changed while it was read: {self.path.name} is not the file that it was.")


class ParquetFile:
    """Columns of row groups of a Parquet file; this needs pyarrow.

    Parameters
    ----------
    stamp : the file, which must stay as it is
    absent : the sentence where pyarrow is not installed
    damaged : what is said before the reason of pyarrow, where the file cannot be read

    Attributes
    ----------
    metadata, schema : what the footer of the file says
    sizes : the number of rows of each row group
    edges : row group g has the rows ``edges[g]:edges[g+1]``
    """

    def __init__(self, stamp: Stamp, absent: str, damaged: str) -> None:
        self.stamp, self._absent, self._damaged = stamp, absent, damaged
        self.metadata: Any = None
        with self.opened() as file:
            self.metadata, self.schema = file.metadata, file.schema_arrow
        self.sizes: list[int] = [self.metadata.row_group(g).num_rows for g in range(self.metadata.num_row_groups)]
        self.edges = [0, *accumulate(self.sizes)]

    def arrow(self, groups: Sequence[int], names: Sequence[str]) -> Any:
        """Some columns of some row groups as a table of pyarrow."""
        with self.opened() as file:
            return file.read_row_groups(list(groups), columns=list(names)).select(list(names))

    def is_number(self, name: str) -> bool:
        """Whether a column holds numbers."""
        return is_of(self.schema.field(name).type, *NUMBERS)

    @contextmanager
    def opened(self) -> Any:
        """The file of pyarrow; ValueError in a sentence where it cannot be read, BrokenPromise where it has changed."""
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise ValueError(self._absent) from None
        self.stamp.check()
        try:
            with pq.ParquetFile(self.stamp.path, metadata=self.metadata, buffer_size=BUFFER) as file:
                yield file
            self.stamp.check()
        except (pa.ArrowException, OSError) as error:
            self.stamp.check()
            raise ValueError(f"{self._damaged}: {' '.join(str(error).split()).rstrip('.')}.") from None


@final
class ParquetTable(ParquetFile):
    """Row groups of a Parquet table, which has rows, and columns of different names.

    Parameters
    ----------
    path : the file, which must stay as it is
    sep, encoding : None, for these are of text tables

    Attributes
    ----------
    names : the names of the columns
    rows : the number of all rows
    bytes : what all columns take before they are compressed, as the file says
    head : the columns without any cells
    """

    def __init__(self, path: Path, sep: str | None = None, encoding: str | None = None) -> None:
        if sep is not None or encoding is not None:
            raise ValueError(f"sep and encoding are for text tables; {path.name} is a Parquet table.")
        absent = f"to read {path.name} install pyarrow: pip install 'setwise[compare]'."
        super().__init__(Stamp.of(path), absent, f"{path.name} is not a Parquet table")
        self.path, self.names, self.rows = path, tuple(self.schema.names), self.edges[-1]
        if not self.rows or not self.names:
            raise ValueError(f"{path.name} has no rows.")
        name, times = Counter(self.names).most_common(1)[0]
        if times > 1:
            raise ValueError(f"{path.name} has two columns {f'called {name!r}' if name else 'without a name'}.")
        self.bytes = sum(self.metadata.row_group(g).total_byte_size for g in range(len(self.sizes)))
        self.head = self.columns(self.schema.empty_table())

    def columns(self, table: Any) -> Columns:
        """The columns of a table of Arrow."""
        # A column of another type than numbers and text is refused where it is read, and may be left out.
        return Columns(self.path, self.names, table.num_rows, lambda name: self._cells(table.column(name), name))

    def ids(self, groups: Sequence[int], name: str, codes: dict[Any, int]) -> NDArray[Any]:
        """A column of ids of some row groups: numbers as they are, and other kinds as the numbers in ``codes``.

        What has no number in ``codes`` gets the next one, so that a value has the same number wherever it occurs.
        """
        table = self.arrow(groups, (name,))
        if self.is_number(name):
            return self.columns(table).ids(name)
        column = table.column(0).combine_chunks().dictionary_encode()
        odd = [one for one in column.dictionary.to_pylist() if one is None or one in WORDS]
        if odd or column.null_count:
            what = shown(odd[0] if odd else "")
            raise ValueError(f"column {name!r} of {self.path.name} holds {what}, which is no id; leave such rows out.")
        return coded(column, codes)

    def sets(self, name: str, codes: dict[Any, int]) -> tuple[NDArray[Any], Ints]:
        """The sorted ids of all sets, and how many rows each of them has."""
        parts = [np.unique(self.ids([g], name, codes), return_counts=True) for g in range(len(self.sizes))]
        known, owners = np.unique(np.concatenate([some for some, _ in parts]), return_inverse=True)
        counts = np.concatenate([counts for _, counts in parts])
        return known, np.bincount(owners, counts, minlength=len(known)).astype(np.int64)

    def _cells(self, column: Any, name: str) -> Cells:
        """A column; a missing number is NaN, and a missing text is the empty one."""
        import pyarrow as pa

        if is_of(column.type, *NUMBERS):
            # Truth values with gaps would become objects; as whole numbers with gaps they become floats with NaN.
            gaps = is_of(column.type, "boolean") and column.null_count
            return np.asarray((column.cast(pa.int8()) if gaps else column).to_numpy())
        try:
            # Dates and decimals become text, which keeps all their digits.
            return Texts.of(column.cast(pa.string()).fill_null("").to_numpy())
        except pa.ArrowException:
            raise ValueError(
                f"column {name!r} of {self.path.name} has the type {column.type}, neither numbers nor text; leave it "
                "out."
            ) from None


def coded(column: Any, codes: dict[Any, int]) -> Ints:
    """An array of Arrow without gaps as the numbers in ``codes``; a value that has none there gets the next one."""
    words = column.dictionary_encode()
    known = np.array([codes.setdefault(value, len(codes)) for value in words.dictionary.to_pylist()], dtype=np.int64)
    return np.asarray(known[words.indices.to_numpy()])


def read_parquet(path: Path, sep: str | None = None, encoding: str | None = None) -> Columns:
    """Read all of a Parquet table; this needs pyarrow. ``sep`` and ``encoding`` are those of text tables."""
    table = ParquetTable(path, sep, encoding)
    return table.columns(table.arrow(range(len(table.sizes)), table.names))
