"""A Parquet file as pyarrow reads it, which must stay as it is, and the kinds of its columns."""

from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any, final

from setwise.datasets.columns import Stamp

BUFFER = 1 << 20
"""So many bytes of a column are read at a time, that there is no copy of all of it before it is decoded."""

NUMBERS = ("boolean", "integer", "floating")
"""The kinds of columns that hold numbers, as pyarrow calls them."""


def is_of(kind: Any, *names: str) -> bool:
    """Whether a type of pyarrow is of one of the kinds with these names, as ``"integer"``."""
    import pyarrow as pa

    return any(getattr(pa.types, f"is_{name}")(kind) for name in names)


@final
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
    """

    def __init__(self, stamp: Stamp, absent: str, damaged: str) -> None:
        self.stamp, self._absent, self._damaged = stamp, absent, damaged
        self.metadata: Any = None
        with self.opened() as file:
            self.metadata, self.schema = file.metadata, file.schema_arrow
        self.sizes: list[int] = [self.metadata.row_group(g).num_rows for g in range(self.metadata.num_row_groups)]

    def table(self, groups: Sequence[int], names: Sequence[str]) -> Any:
        """Some columns of some row groups as a table of pyarrow."""
        self.stamp.check()
        with self.opened() as file:
            table = file.read_row_groups(list(groups), columns=list(names)).select(list(names))
        self.stamp.check()
        return table

    @contextmanager
    def opened(self) -> Any:
        """The file of pyarrow; ValueError in a sentence where it cannot be read."""
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise ValueError(self._absent) from None
        try:
            with pq.ParquetFile(self.stamp.path, metadata=self.metadata, buffer_size=BUFFER) as file:
                yield file
        except (pa.ArrowException, OSError) as error:
            self.stamp.check()
            raise ValueError(f"{self._damaged}: {' '.join(str(error).split()).rstrip('.')}.") from None
