"""The rows of a Parquet file, or of an array in memory or on disk, block by block, below a budget of memory."""

import mmap
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import as_array, as_count, as_float64, as_names, shown
from setwise.core.exceptions import Refusal
from setwise.core.files import in_line
from setwise.core.pages import FILES
from setwise.datasets.columns import room_for, some
from setwise.datasets.tables import ParquetFile, Stamp, coded, is_of

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}

KEPT, GATHERED = 40, 120
"""Bytes of memory for each row of a file beside its features: labels, scores, lengths and gradients; and for each row
of sets that are evaluated in one place. ``benchmarks/out_of_core.py`` measures both together."""

IN_SET, SET, NAME = 100, 640, 500
"""Bytes more for each row that belongs to one of several sets; for each set, in each block that has rows of it; and for
each of them whose id is no number."""


@final
@dataclass(frozen=True)
class Budget:
    """A number of bytes for what is read and kept of a file; Python and its libraries come on top.

    ``sets`` of these bytes are kept for sets.
    """

    bytes: int
    sets: int = 0

    @classmethod
    def of(cls, value: Any, name: str = "memory") -> "Budget":
        """The budget that is given as a number of bytes, or as text: ``"500MB"``, ``"1.5GB"``, ``"2GiB"``."""
        if not isinstance(value, str):
            return cls(as_count(value, name))
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?|)B?\s*", value.upper())
        if found is None:
            raise ValueError(f"{name} must be bytes, as 500_000_000, or text, as '500MB'; got {shown(value)}.")
        return cls(int(float(found[1]) * UNITS[found[2]]))

    def spare(self, n: int) -> int:
        """Bytes that n rows leave to the blocks; below 0 where there are none."""
        return self.bytes - self.sets - KEPT * n

    def beside(self, n: int, sets: int, named: bool) -> "Budget":
        """The same budget, in which n rows form so many sets, counted in each block; ``named`` ids are no numbers."""
        return replace(self, sets=IN_SET * n + (SET + NAME * named) * sets)

    def refuse_sets(self, n: int, read: int, sets: int, named: bool) -> None:
        """Raise Refusal where the sets of the first ``read`` of n rows, counted in each block, take all there is."""
        taken = self.beside(n, sets, named).sets
        if read == n or KEPT * n + taken < self.bytes:
            return
        # As many sets are expected of the other rows.
        about = KEPT * n + self.beside(n, sets * n // read, named).sets
        what = f"which take with the sets of the first {read} of them {KEPT * n + taken} bytes beside two blocks"
        give = f"give some {about} bytes, and what two blocks take"
        raise Refusal(f"memory={self.bytes} is too small for {n} rows, {what}: {give}.", FILES)

    def room(self, n: int) -> int:
        """How many of n rows may be evaluated in one place, when no block is read."""
        return max(self.spare(n), 0) // GATHERED

    def rows(self, n: int, row: int, least: int = 1, what: str = "one row") -> int:
        """How many of n rows of ``row`` bytes a block may have, ``least`` or more; Refusal where these do not fit.

        There are two blocks at a time, the one that is worked on and the next one, which is made of ``least`` rows at a
        time, and these may take twice as much while they are decoded.
        """
        read = 2 * least * row
        if self.spare(n) < 2 * read:
            kept = KEPT * n + self.sets
            what = f"{'with their sets ' if self.sets else ''}{kept} bytes beside two blocks of at least {what}"
            give = f"give {kept + 2 * read} bytes or more"
            raise Refusal(f"memory={self.bytes} is too small for {n} rows, which take {what}: {give}.", FILES)
        return (self.spare(n) - read) // (2 * row)


CONVERTED = 1 << 13
"""So many rows are converted at a time; of a mapped file their pages are in memory meanwhile."""


@final
class ArrayBlocks:
    """Blocks of successive rows of ``X`` (n, d), which may be an ``np.memmap``.

    Parameters
    ----------
    X : a matrix of finite numbers; float32, and what float32 holds exactly, is read as float32, all others as float64
    budget : what blocks and rows may take

    Attributes
    ----------
    count, features : the number of blocks, and of columns
    edges : block k has the rows ``edges[k]:edges[k+1]``
    room : how many rows may be evaluated in one place
    names : None, for arrays have no names of columns
    """

    names = None

    def __init__(self, X: NDArray[Any], budget: Budget) -> None:
        if as_array(X, "X").ndim != 2 or 0 in X.shape:
            raise ValueError(f"X must have shape (rows, features), both at least 1; got shape {X.shape}.")
        if X.dtype.kind not in "biuf":
            raise ValueError(f"X must hold real numbers; got dtype {X.dtype}.")
        n, self.features = X.shape
        self._X: Any = X
        self._dtype = matrix_dtype([X.dtype])
        rows = min(budget.rows(n, self.features * self._dtype.itemsize), n)
        self.edges = [*range(0, n, rows), n]
        self.count, self.room = len(self.edges) - 1, budget.room(n)
        self._map = getattr(X, "_mmap", None) if isinstance(X, np.memmap) else None
        self._stamp: Stamp | None = None
        name: Any = getattr(X, "filename", None)
        # What is read is the file that was mapped, which may have no name, or have been removed since.
        with suppress(TypeError, OSError):
            self._stamp = Stamp.of(Path(name))

    def rows(self, k: int) -> NDArray[Any]:
        """Block k as a matrix (m, features)."""
        first, last = self.edges[k : k + 2]
        if self._map is None and self._X.dtype == self._dtype:
            return np.ascontiguousarray(self._X[first:last])
        out = room_for(last - first, self.features, self._dtype)
        for a in range(first, last, CONVERTED):
            # What is cut off a mapped file is not to be touched: the process would end.
            self._check()
            rows = np.asarray(self._X[a : min(a + CONVERTED, last)])
            out[a - first : a - first + CONVERTED] = rows if rows.itemsize < 8 else as_float64(rows, rows, "X")
            self._release()
        self._check()
        return out

    def _check(self) -> None:
        if self._stamp is not None:
            self._stamp.check()

    def _release(self) -> None:
        """Give pages of a mapped file back, for they count as memory of the process as long as they are mapped."""
        # Pages of a mapping that is written to by copying hold what the file does not.
        if self._map is not None and self._X.mode != "c" and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


def matrix_dtype(kinds: list[np.dtype[Any]]) -> np.dtype[Any]:
    """float32 where it holds all numbers of these kinds exactly, else float64."""
    return np.dtype(np.float32 if all(np.can_cast(kind, np.float32, "safe") for kind in kinds) else np.float64)


RUN, WORDS = 4096, 1 << 14
"""So many rows are made of columns at a time: they fit the cache of a processor. So many ids are decoded at a time."""


@final
class ParquetBlocks:
    """Blocks of successive row groups of a Parquet file.

    Parameters
    ----------
    path : the file
    budget : what blocks and rows may take
    features : the names of the columns of numbers that are read; None reads all but ``others`` and the index of pandas
    others : the names of columns that are not features

    Attributes
    ----------
    names : the names of the features
    is_number : tells of a column whether it holds numbers
    count, features, edges, room : as those of :class:`~setwise.datasets.blocks.ArrayBlocks`
    """

    def __init__(
        self, path: str | Path, budget: Budget, features: Sequence[str] | None = None, others: Sequence[str] = ()
    ) -> None:
        path, self._finite, self._codes = Path(path), set[int](), dict[Any, int]()
        self._name = in_line(path.name)
        try:
            stamp = Stamp.of(path)
        except (OSError, ValueError):
            raise FileNotFoundError(f"X must be the path of a Parquet file; there is no {path.name!r}.") from None
        try:
            self._file = ParquetFile(stamp)
        except ValueError as error:
            raise ValueError(f"X must be the path of a Parquet file: {error}") from None
        self.is_number = self._file.is_number
        self.names = self._features(features, others)
        kinds = [self._file.schema.field(name).type for name in self.names]
        self._dtype = matrix_dtype([np.dtype(kind.to_pandas_dtype()) for kind in kinds])
        sizes, n, self.features = self._file.sizes, self._file.edges[-1], len(self.names)
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
            table = self._file.arrow([group], self.names)
            self._refuse_gaps(table, "X")
            for batch in table.to_batches(max_chunksize=RUN):
                for j, (name, column) in enumerate(zip(self.names, batch.columns, strict=True)):
                    values = column.to_numpy(zero_copy_only=False)
                    long = values.dtype.kind in "iu" and values.dtype.itemsize == 8
                    values = as_float64(values, values, f"X, column {name!r},") if long else values
                    out[first : first + len(batch), j] = values
                first += len(batch)
        if k not in self._finite:
            for name, column in zip(self.names, out.T, strict=True):
                if not np.isfinite(column).all():
                    raise ValueError(f"X must be finite; column {name!r} of {self._name} holds NaN or inf.")
            self._finite.add(k)
        return out

    def labels(self, name: str, k: int) -> NDArray[Any]:
        """What block k has of a column of labels."""
        runs = self._runs(name, k, "y")
        if is_of(self._file.schema.field(name).type, "dictionary", "string", "large_string", "string_view"):
            words = [column.dictionary_encode() for column in runs]
            return np.concatenate([np.array(one.dictionary.to_pylist(), str)[one.indices.to_numpy()] for one in words])
        return np.concatenate([self._numbers(column, name, "y") for column in runs])

    def ids(self, name: str, k: int) -> NDArray[Any]:
        """What block k has of a column of ids, where other kinds than numbers become whole numbers."""
        return np.concatenate(list(self.runs_of_ids(name, k)))

    def runs_of_ids(self, name: str, k: int) -> Iterator[NDArray[Any]]:
        """The same, a few rows at a time: words take much more memory than what becomes of them."""
        for column in self._runs(name, k, "groups"):
            if is_of(column.type, "nested"):
                raise ValueError(f"groups must be numbers, text or dates; column {name!r} holds {column.type}.")
            # A value has the same code in all blocks, in whatever order they are read.
            yield self._numbers(column, name, "groups") if self.is_number(name) else coded(column, self._codes)

    def _features(self, features: Sequence[str] | None, others: Sequence[str]) -> tuple[str, ...]:
        """The names of the features, all of which and of the others are in the file."""
        known = self._file.schema.names
        for name, what in zip(others, ("y", "groups"), strict=False):
            if known.count(name) != 1:
                raise ValueError(f"{what} must be a column of {self._name}, which has {some(known)}; got {name!r}.")
        # What pandas has stored as the index of its rows says where they stood, and not what they are.
        index = (self._file.schema.pandas_metadata or {}).get("index_columns", [])
        left_out = {*others, *(name for name in index if isinstance(name, str))}
        usual = tuple(name for name in known if name not in left_out)
        chosen = usual if features is None else as_names(features, "features")
        for name in chosen:
            if known.count(name) != 1 or chosen.count(name) != 1 or name in others:
                what = "have each column once, and neither that of y nor that of groups"
                raise ValueError(f"features must {what}; got {name!r}, and {self._name} has {some(known)}.")
            if not self.is_number(name):
                what = f"column {name!r} of {self._name} holds {self._file.schema.field(name).type}"
                raise ValueError(f"X must hold numbers; {what}: leave it out by features, or encode it.")
        if not chosen:
            raise ValueError(f"X must have at least one feature; {self._name} has {some(known)}.")
        return chosen

    def _runs(self, name: str, k: int, what: str) -> Iterator[Any]:
        """What block k has of a column without gaps, as arrays of a few rows."""
        with self._file.opened() as file:
            for batch in file.iter_batches(WORDS, row_groups=self._groups[k], columns=[name], use_threads=False):
                self._refuse_gaps(batch, what)
                yield batch.column(0)

    def _numbers(self, column: Any, name: str, what: str) -> NDArray[Any]:
        """A column of labels or ids as an array of numbers."""
        if not self.is_number(name):
            raise ValueError(f"{what} must hold numbers or text; column {name!r} holds {column.type}.")
        out = column.to_numpy(zero_copy_only=False)
        if out.dtype.kind == "f" and not np.isfinite(out).all():
            raise ValueError(f"{what} must not hold NaN or inf; column {name!r} of {self._name} does.")
        return np.asarray(out)

    def _refuse_gaps(self, table: Any, what: str) -> None:
        for name, column in zip(table.schema.names, table.columns, strict=True):
            if column.null_count:
                raise ValueError(f"{what} must hold no missing values; column {name!r} of {self._name} has some.")


def joined(sizes: Sequence[int], most: int) -> tuple[list[list[int]], list[int]]:
    """The numbers of the row groups of each block, of at most so many rows, and the rows at which blocks begin."""
    groups, edges = list[list[int]](), [0]
    for g in np.flatnonzero(sizes).tolist():
        if not groups or edges[-1] - edges[-2] + sizes[g] > most:
            groups.append([])
            edges.append(edges[-1])
        groups[-1].append(g)
        edges[-1] += sizes[g]
    return groups, edges
