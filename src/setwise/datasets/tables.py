"""Tables with named columns: CSV with a header, and Parquet."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray


@final
@dataclass(frozen=True, eq=False)
class Columns:
    """Named columns of one length, as the file has them: text in CSV, numbers, truth values or text in Parquet."""

    path: Path
    names: tuple[str, ...]
    values: tuple[NDArray[Any], ...]

    def numbers(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        """The columns side by side, (n, len(names)) float64, finite; ValueError names the first cell that is no
        finite number.
        """
        out = np.empty((len(self.values[0]), len(names)))
        for j, name in enumerate(names):
            column = _parsed(self.values[self.names.index(name)])
            if column.dtype.kind == "U":
                row = next(i for i, text in enumerate(column.tolist()) if not _is_number(text))
                self._refuse(name, row, repr(str(column[row])) if column[row] else "nothing")
            out[:, j] = column
            if not np.isfinite(out[:, j]).all():
                row = int(np.argmin(np.isfinite(out[:, j])))
                self._refuse(name, row, "a missing value, NaN or inf")
        return out

    def labels(self, name: str) -> NDArray[Any]:
        """A column of labels, numbers where all are numbers; ValueError where a value is missing."""
        self.ids(name)
        return _parsed(self.values[self.names.index(name)])

    def ids(self, name: str) -> NDArray[Any]:
        """A column as it is: no two different ids become one; ValueError where a value is missing."""
        column = self.values[self.names.index(name)]
        missing = column == "" if column.dtype.kind == "U" else ~np.isfinite(column.astype(np.float64))
        if missing.any():
            self._refuse(name, int(np.argmax(missing)), "nothing", "leave such rows out")
        return column

    def _refuse(
        self, name: str, row: int, what: str, way: str = "encode it as numbers, fill it, or leave it out"
    ) -> None:
        raise ValueError(f"column {name!r} of {self.path.name} holds {what} in row {row + 1}; {way}.")


def read_csv(path: Path) -> Columns:
    """A table whose first line names the columns; the separator is the comma, semicolon or tab that the header has
    most of.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            separator = max(",;\t", key=file.readline().count)
            file.seek(0)
            rows = [row for row in csv.reader(file, delimiter=separator) if row]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} is not a text table: {error}.") from None
    if len(rows) < 2:
        raise ValueError(f"{path.name} must have a line of column names and at least one row.")
    names = tuple(name.strip() for name in rows[0])
    _check_names(names, path)
    for number, row in enumerate(rows[1:], 1):
        if len(row) != len(names):
            raise ValueError(f"row {number} of {path.name} has {len(row)} fields and the header has {len(names)}.")
    columns = zip(*rows[1:], strict=True)
    return Columns(path, names, tuple(np.array([t.strip() for t in texts]) for texts in columns))


def read_parquet(path: Path) -> Columns:
    """A Parquet table; needs pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ValueError(f"to read {path.name} install pyarrow, or save the table as CSV.") from None
    try:
        table = pyarrow.parquet.read_table(path)
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise ValueError(f"{path.name} is not a Parquet table: {error}.") from None
    names = tuple(table.column_names)
    _check_names(names, path)
    if table.num_rows == 0:
        raise ValueError(f"{path.name} has no rows.")
    values = []
    for name in names:
        column = table.column(name).to_pylist()
        if all(isinstance(v, bool | int) for v in column):
            values.append(np.array(column))
        elif all(v is None or isinstance(v, bool | int | float) for v in column):
            values.append(np.array([np.nan if v is None else v for v in column], dtype=np.float64))
        else:
            values.append(np.array(["" if v is None else str(v) for v in column]))
    return Columns(path, names, tuple(values))


def _check_names(names: tuple[str, ...], path: Path) -> None:
    twice = [n for n in names if names.count(n) > 1]
    if twice:
        raise ValueError(f"{path.name} has two columns called {twice[0]!r}.")


def _parsed(column: NDArray[Any]) -> NDArray[Any]:
    """Numbers where all are numbers, else the text; Python's ``1_000`` is no number in a table."""
    if column.dtype.kind != "U":
        return column.astype(np.float64)
    if np.char.find(column, "_").max() >= 0:
        return column
    try:
        return column.astype(np.float64)
    except ValueError:
        return column


def _is_number(text: str) -> bool:
    return _parsed(np.array([text])).dtype.kind == "f"
