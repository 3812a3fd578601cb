"""Tables with named columns: CSV with a header, and Parquet."""

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from setwise.datasets.missing import refuse_missing

EXACT = 2.0**53
"""From here on float64 makes one number of several whole ones."""


@final
@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of one length by name, as the file has them: numbers, truth values, or Python strings in an array of
    objects.
    """

    path: Path
    values: dict[str, NDArray[Any]]

    def numbers(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        """The columns side by side, (n, len(names)) float64, finite; ValueError names the first cell that is no
        finite number.
        """
        out = np.empty((len(next(iter(self.values.values()))), len(names)))
        for j, name in enumerate(names):
            column = _parsed(self.values[name])
            if column.dtype.kind == "O":
                row = next(i for i, text in enumerate(column) if not _is_number(text))
                self._refuse(name, row, repr(column[row]) if column[row] else "nothing")
            out[:, j] = column
            if not np.isfinite(out[:, j]).all():
                self._refuse(name, int(np.argmin(np.isfinite(out[:, j]))), "a missing value, NaN or inf")
        return out

    def labels(self, name: str) -> NDArray[Any]:
        """A column of labels, numbers where float64 keeps them apart; ValueError where one is missing."""
        column = self.ids(name)
        parsed = _parsed(column)
        refuse_missing(parsed, self.what(name))
        return column if parsed.dtype.kind == "f" and (np.abs(parsed) >= EXACT).any() else parsed

    def ids(self, name: str) -> NDArray[Any]:
        """A column as it is: no two different ids become one; ValueError where a value is missing."""
        column = self.values[name]
        refuse_missing(column, self.what(name))
        return column

    def what(self, name: str) -> str:
        """A column in a sentence."""
        return f"column {name!r} of {self.path.name}"

    def _refuse(self, name: str, row: int, what: str) -> NoReturn:
        way = "encode it as numbers, fill it, or leave it out"
        raise ValueError(f"{self.what(name)} holds {what} in row {row + 1}; {way}.")


def read_csv(path: Path) -> Columns:
    """A table whose first line names the columns; the separator is the tab in ``.tsv``, else the comma, semicolon or
    tab that the header has most of.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            separator = "\t" if path.suffix.lower() == ".tsv" else max(",;\t", key=file.readline().count)
            file.seek(0)
            rows = (row for row in csv.reader(file, delimiter=separator, strict=True) if row)
            return _filled(path, rows)
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} is not a text table in UTF-8: {error}.") from None


def _filled(path: Path, rows: Iterator[list[str]]) -> Columns:
    names = tuple(name.strip() for name in next(rows, []))
    _check_names(names, path)
    columns: list[list[str]] = [[] for _ in names]
    for number, row in enumerate(rows, 1):
        if len(row) != len(names):
            raise ValueError(f"row {number} of {path.name} has {len(row)} fields and the header has {len(names)}.")
        for column, text in zip(columns, row, strict=True):
            column.append(text.strip())
    if not columns or not columns[0]:
        raise ValueError(f"{path.name} must have a line of column names and at least one row.")
    # An array of fixed-width text would give each cell the size of the longest one.
    return Columns(path, {name: np.array(column, dtype=object) for name, column in zip(names, columns, strict=True)})


def read_parquet(path: Path) -> Columns:
    """A Parquet table; needs pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ValueError(f"to read {path.name} install pyarrow, or save the table as CSV.") from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            table = file.read()
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{path.name} is not a Parquet table: {' '.join(str(error).split()).rstrip('.')}.") from None
    names = tuple(table.column_names)
    _check_names(names, path)
    if table.num_rows == 0 or not names:
        raise ValueError(f"{path.name} has no rows.")
    return Columns(path, {name: _values(table.column(name), name, path) for name in names})


def _values(column: Any, name: str, path: Path) -> NDArray[Any]:
    """A column of Parquet as an array: a missing number is NaN, a missing text the empty one."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), "", dtype=object)
    if pa.types.is_boolean(kind) and column.null_count:
        column, kind = column.cast(pa.int8()), pa.int8()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return np.asarray(column.to_numpy())
    try:
        texts = column.cast(pa.string()).to_pylist()
    except pa.ArrowException:
        raise ValueError(
            f"column {name!r} of {path.name} has the type {kind}, neither numbers nor text; leave it out."
        ) from None
    return np.array(["" if text is None else text for text in texts], dtype=object)


def _check_names(names: tuple[str, ...], path: Path) -> None:
    if len(set(names)) < len(names):
        raise ValueError(f"{path.name} has two columns called {Counter(names).most_common(1)[0][0]!r}.")
    if "" in names:
        raise ValueError(
            f"column {names.index('') + 1} of {path.name} has no name; name it, or leave it out where it numbers rows."
        )


def _parsed(column: NDArray[Any]) -> NDArray[Any]:
    """Numbers where all are numbers, else the column as it is; Python's ``1_000`` is no number in a table."""
    if column.dtype.kind != "O" or any("_" in text for text in column):
        return column
    try:
        return column.astype(np.float64)
    except ValueError:
        return column


def _is_number(text: str) -> bool:
    return _parsed(np.array([text], dtype=object)).dtype.kind == "f"
