"""A Parquet table of any kinds of columns, of which some row groups are read at a time."""

from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Bools, Ints, shown
from setwise.datasets.missing import WORDS
from setwise.datasets.parquet_blocks import BUFFER
from setwise.datasets.stamp import Stamp
from setwise.datasets.tables import Columns, check_names, of_arrow


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
    rows : the number of all rows
    bytes : what all columns take before they are compressed, as the file says
    """

    def __init__(self, path: Path) -> None:
        self.path, self._metadata, self._stamp = path, None, Stamp.of(path)
        with self._opened() as file:
            self._metadata, schema = file.metadata, file.schema_arrow
        self.names = tuple(schema.names)
        check_names(self.names, path)
        self.numbers = frozenset(name for name in self.names if _is_number(schema.field(name).type))
        groups = [self._metadata.row_group(g) for g in range(self._metadata.num_row_groups)]
        self.sizes: list[int] = [group.num_rows for group in groups]
        self.rows, self.bytes = sum(self.sizes), int(sum(group.total_byte_size for group in groups))
        if not self.rows or not self.names:
            raise ValueError(f"{path.name} has no rows.")

    @property
    def head(self) -> Columns:
        """The names of the columns, without any cells."""
        return Columns(self.path, self.names, 0, lambda name: np.empty(0))

    def part(self, groups: Sequence[int], names: Sequence[str], kept: Bools | None = None) -> Columns:
        """The named columns of some row groups, or of those of their rows that are ``kept``."""
        return self.columns(self.arrow(groups, names, kept))

    def arrow(self, groups: Sequence[int], names: Sequence[str], kept: Bools | None = None) -> Any:
        """The same as a table of Arrow."""
        self._stamp.check()
        with self._opened() as file:
            table = file.read_row_groups(list(groups), columns=list(names)).select(list(names))
        self._stamp.check()
        return table if kept is None else table.take(np.flatnonzero(kept))

    def columns(self, table: Any) -> Columns:
        """The columns of a table of Arrow."""
        return of_arrow(table, self.names, self.path)

    def ids(self, groups: Sequence[int], name: str, codes: dict[Any, int]) -> NDArray[Any]:
        """A column of ids of some row groups: numbers as they are, and other kinds as the numbers in ``codes``.

        What has no number in ``codes`` gets the next one, so that a value has the same number wherever it occurs.
        """
        column = self.arrow(groups, (name,)).column(0).combine_chunks()
        if _is_number(column.type):
            return self.columns_of(name, column).ids(name)
        words = column if _is_coded(column.type) else column.dictionary_encode()
        values = words.dictionary.to_pylist()
        odd = [value for value in (*values, *([""] if words.null_count else [])) if value is None or value in WORDS]
        if odd:
            raise ValueError(
                f"column {name!r} of {self.path.name} holds {shown(odd[0])}, which is no id; leave such rows out."
            )
        known = np.array([codes.setdefault(value, len(codes)) for value in values], dtype=np.int64)
        return np.asarray(known[words.indices.to_numpy(zero_copy_only=False)])

    def columns_of(self, name: str, column: Any) -> Columns:
        """A table of one column of Arrow."""
        import pyarrow as pa

        return self.columns(pa.table({name: column}))

    def sets(self, name: str, codes: dict[Any, int]) -> tuple[NDArray[Any], Ints]:
        """The sorted ids of all sets, and how many rows each of them has."""
        parts = [np.unique(self.ids([g], name, codes), return_counts=True) for g in range(len(self.sizes))]
        known, owners = np.unique(np.concatenate([some for some, _ in parts]), return_inverse=True)
        counts = np.concatenate([counts for _, counts in parts])
        return known, np.bincount(owners, counts, minlength=len(known)).astype(np.int64)

    @contextmanager
    def _opened(self) -> Any:
        """The file of pyarrow."""
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise ValueError(f"to read {self.path.name} install pyarrow, or save the table as CSV.") from None
        try:
            with pq.ParquetFile(self.path, metadata=self._metadata, buffer_size=BUFFER) as file:
                yield file
        except (pa.ArrowException, OSError) as error:
            self._stamp.check()
            why = " ".join(str(error).split()).rstrip(".")
            raise ValueError(f"{self.path.name} is not a Parquet table: {why}.") from None


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _is_coded(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_dictionary(kind))
