"""The rows of a Parquet file, block by block of row groups."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import as_float64, as_names
from setwise.core.files import in_line
from setwise.datasets.array_blocks import matrix_dtype, room_for
from setwise.datasets.budget import Budget
from setwise.datasets.names import some
from setwise.datasets.stamp import Stamp

RUN, WORDS, BUFFER = 4096, 1 << 14, 1 << 20
"""So many rows are made of columns at a time: they fit the cache of a processor. So many ids are decoded at a time. So
many bytes of a column are read at a time, that there is no copy of all of it before it is decoded."""


@final
class ParquetBlocks:
    """Blocks of successive row groups of a Parquet file.

    Parameters
    ----------
    path : the file
    budget : what blocks and rows may take
    features : the names of the columns of numbers that are read; None reads all but ``others`` and the index of pandas
    others : the names of columns that are no features

    Attributes
    ----------
    names : the names of the features
    count, features, edges, room : as those of :class:`~setwise.datasets.array_blocks.ArrayBlocks`
    """

    def __init__(
        self, path: str | Path, budget: Budget, features: Sequence[str] | None = None, others: Sequence[str] = ()
    ) -> None:
        self._path, self._finite, self._codes = Path(path), set[int](), dict[Any, int]()
        self._name = in_line(self._path.name)
        try:
            self._stamp = Stamp.of(self._path)
        except (OSError, ValueError):
            raise FileNotFoundError(f"X must be the path of a Parquet file; there is no {self._path.name!r}.") from None
        self._metadata: Any = None
        with self._opened() as file:
            self._metadata, self._schema = file.metadata, file.schema_arrow
        self.names = self._features(features, others)
        self._dtype = matrix_dtype([self._number(name) for name in self.names])
        sizes = [self._metadata.row_group(g).num_rows for g in range(self._metadata.num_row_groups)]
        n, self.features = sum(sizes), len(self.names)
        if not n:
            raise ValueError(f"X must have at least one row; {self._name} has none.")
        least, row = max(sizes), self.features * self._dtype.itemsize
        most = budget.rows(n, row, least, f"{least * row} bytes, which its largest row group takes")
        self._groups, self.edges = joined(sizes, most)
        self.count, self.room = len(self._groups), budget.room(n)

    def rows(self, k: int) -> NDArray[Any]:
        """Block k as a matrix (m, features) of finite numbers."""
        out = room_for(self.edges[k + 1] - self.edges[k], self.features, self._dtype)
        first = 0
        for group in self._groups[k]:
            # Beside the matrix there is one row group at a time.
            table = self._table([group], self.names)
            self._refuse_gaps(table, "X")
            for batch in table.to_batches(max_chunksize=RUN):
                self._fill(out[first : first + len(batch)], batch)
                first += len(batch)
        if k not in self._finite:
            self._refuse_infinite(out)
            self._finite.add(k)
        return out

    def labels(self, name: str, k: int) -> NDArray[Any]:
        """What block k has of a column of labels."""
        column = self._column(name, k, "y")
        if self._is("dictionary", column.type) or self._is_text(column.type):
            words = column.dictionary_encode()
            texts: NDArray[Any] = np.asarray(words.dictionary.to_pylist(), dtype=np.str_)
            return np.asarray(texts[words.indices.to_numpy()])
        return self._numbers(column, name, "y")

    def ids(self, name: str, k: int) -> NDArray[Any]:
        """What block k has of a column of ids, where other kinds than numbers become whole numbers."""
        return np.concatenate(list(self.runs_of_ids(name, k)))

    def runs_of_ids(self, name: str, k: int) -> Iterator[NDArray[Any]]:
        """The same, a few rows at a time: words take much more memory than what becomes of them."""
        for column in self._runs(name, k):
            if any(self._is(kind, column.type) for kind in ("boolean", "integer", "floating")):
                yield self._numbers(column, name, "groups")
                continue
            if self._is("nested", column.type):
                raise ValueError(f"groups must be numbers, text or dates; column {name!r} holds {column.type}.")
            words = column.dictionary_encode()
            # A value has the same code in all blocks, in whatever order they are read.
            codes = [self._codes.setdefault(word, len(self._codes)) for word in words.dictionary.to_pylist()]
            yield np.asarray(np.array(codes, dtype=np.int64)[words.indices.to_numpy()])

    def is_number(self, name: str) -> bool:
        """Whether a column holds numbers."""
        return any(self._is(kind, self._schema.field(name).type) for kind in ("boolean", "integer", "floating"))

    def _fill(self, out: NDArray[Any], batch: Any) -> None:
        """Write some rows into a matrix."""
        for j, (name, column) in enumerate(zip(self.names, batch.columns, strict=True)):
            values = column.to_numpy(zero_copy_only=False)
            long = values.dtype.kind in "iu" and values.dtype.itemsize == 8
            out[:, j] = as_float64(values, values, f"X, column {name!r},") if long else values

    def _features(self, features: Sequence[str] | None, others: Sequence[str]) -> tuple[str, ...]:
        """The names of the features, all of which and of the others are in the file."""
        known = self._schema.names
        for name, what in ((others[i], ("y", "groups")[i]) for i in range(len(others))):
            if name not in known:
                raise ValueError(f"{what} must be a column of {self._name}, which has {some(known)}; got {name!r}.")
        if len(others) > 1 and others[0] == others[1]:
            raise ValueError(f"groups must be another column than y; got {others[0]!r} for both.")
        # What pandas has stored as the index of its rows says where they stood, and not what they are.
        index = (self._schema.pandas_metadata or {}).get("index_columns", [])
        left_out = {*others, *(name for name in index if isinstance(name, str))}
        chosen = (
            [name for name in known if name not in left_out] if features is None else as_names(features, "features")
        )
        for name in chosen:
            if known.count(name) != 1 or chosen.count(name) != 1 or name in others:
                what = "have each column once, and neither that of y nor that of groups"
                raise ValueError(f"features must {what}; got {name!r}, and {self._name} has {some(known)}.")
        if not chosen:
            raise ValueError(f"X must have at least one feature; {self._name} has {some(known)}.")
        return tuple(chosen)

    def _number(self, name: str) -> np.dtype[Any]:
        """The kind of the numbers of a feature."""
        kind = self._schema.field(name).type
        if not self.is_number(name):
            raise ValueError(
                f"X must hold numbers; column {name!r} of {self._name} holds {kind}: leave it out by features, or "
                "encode it."
            )
        found: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
        return found

    def _column(self, name: str, k: int, what: str) -> Any:
        """What block k has of a column without gaps, as one array."""
        table = self._table(self._groups[k], (name,))
        self._refuse_gaps(table, what)
        return table.column(0).combine_chunks()

    def _runs(self, name: str, k: int) -> Iterator[Any]:
        """What block k has of a column of ids without gaps, as arrays of a few rows."""
        import pyarrow as pa

        self._stamp.check()
        with self._opened() as file:
            for batch in file.iter_batches(WORDS, row_groups=self._groups[k], columns=[name], use_threads=False):
                table = pa.Table.from_batches([batch])
                self._refuse_gaps(table, "groups")
                yield table.column(0).combine_chunks()
        self._stamp.check()

    def _numbers(self, column: Any, name: str, what: str) -> NDArray[Any]:
        """A column of labels or ids as an array of numbers."""
        if not any(self._is(kind, column.type) for kind in ("boolean", "integer", "floating")):
            raise ValueError(f"{what} must hold numbers or text; column {name!r} holds {column.type}.")
        out = column.to_numpy(zero_copy_only=False)
        if out.dtype.kind == "f" and not np.isfinite(out).all():
            raise ValueError(f"{what} must not hold NaN or inf; column {name!r} of {self._name} does.")
        return np.asarray(out)

    def _refuse_gaps(self, table: Any, what: str) -> None:
        for name, column in zip(table.column_names, table.columns, strict=True):
            if column.null_count:
                raise ValueError(f"{what} must hold no missing values; column {name!r} of {self._name} has some.")

    def _refuse_infinite(self, rows: NDArray[Any]) -> None:
        for name, column in zip(self.names, rows.T, strict=True):
            if not np.isfinite(column).all():
                raise ValueError(f"X must be finite; column {name!r} of {self._name} holds NaN or inf.")

    def _table(self, groups: list[int], names: Sequence[str]) -> Any:
        """Some columns of some row groups, as pyarrow reads them."""
        self._stamp.check()
        with self._opened() as file:
            table = file.read_row_groups(groups, columns=list(names)).select(list(names))
        self._stamp.check()
        return table

    @contextmanager
    def _opened(self) -> Any:
        """The file of pyarrow."""
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise ValueError(f"X is refused: to read {self._name} install pyarrow.") from None
        try:
            with pq.ParquetFile(self._path, metadata=self._metadata, buffer_size=BUFFER) as file:
                yield file
        except (pa.ArrowException, OSError) as error:
            self._stamp.check()
            why = " ".join(str(error).split()).rstrip(".")
            raise ValueError(f"X must be a Parquet file; {self._name} cannot be read: {why}.") from None

    @staticmethod
    def _is(kind: str, of: Any) -> bool:
        import pyarrow as pa

        return bool(getattr(pa.types, f"is_{kind}")(of))

    def _is_text(self, kind: Any) -> bool:
        return any(self._is(each, kind) for each in ("string", "large_string", "string_view"))


def joined(sizes: Sequence[int], most: int) -> tuple[list[list[int]], list[int]]:
    """The numbers of the row groups of each block, of at most so many rows, and the rows at which blocks begin."""
    groups: list[list[int]] = []
    edges = [0]
    for g, size in enumerate(sizes):
        if size and groups and edges[-1] - edges[-2] + size <= most:
            groups[-1].append(g)
            edges[-1] += size
        elif size:
            groups.append([g])
            edges.append(edges[-1] + size)
    return groups, edges
