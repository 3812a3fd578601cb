"""Read tables with named columns: CSV with a header, and Parquet."""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import shown
from setwise.datasets.columns import is_number
from setwise.datasets.missing import refuse_missing, row_words
from setwise.datasets.names import some

EXACT = 2.0**53
"""From this size on, different whole numbers become equal in float64."""

SEPARATORS = ",;\t"
"""What may part the cells of a text table; the first of equally frequent ones is taken."""

LONGEST_HEADER = 1000
"""The most lines of a header, whose quoted names may hold ends of lines."""


@final
@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table by name, all with ``rows`` cells, as the file holds them.

    ``cells(name)`` is a column as an array of numbers, of truth values, or of Python strings as objects. One column
    may have no name, which is then the empty one. ``decimal_comma`` tells whether numbers may be written with a comma,
    since it does not part the cells. ``place`` gives the words for a row in sentences.
    """

    path: Path
    names: tuple[str, ...]
    rows: int
    cells: Callable[[str], NDArray[Any]]
    decimal_comma: bool = False
    place: Callable[[int], str] = row_words

    def require(self, names: Sequence[str], what: str = "") -> None:
        """Raise ValueError if a named column is missing; ``what`` follows its name in the sentence."""
        for name in names:
            if name not in self.names:
                raise ValueError(f"{self.path.name} has no column {name!r}{what}; it has {some(self.names)}.")

    def refuse_nameless(self) -> None:
        """Raise ValueError if a column has no name."""
        if "" in self.names:
            raise ValueError(
                f"column {self.names.index('') + 1} of {self.path.name} has no name; name it, or leave it out where it "
                "numbers rows."
            )

    def numbers(self, names: Sequence[str]) -> NDArray[np.float64]:
        """The named columns as a matrix, (n, len(names)) float64.

        Raises ValueError that names the first cell that is not a finite number.
        """
        out = np.empty((self.rows, len(names)))
        for j, name in enumerate(names):
            column = _parsed(self.cells(name))
            # A column that is still text holds a cell that is no number; find the first one.
            if column.dtype.kind == "O":
                row = next(i for i, text in enumerate(column) if not is_number(text))
                self._refuse(name, row, shown(column[row]) if column[row] else "nothing")
            out[:, j] = column
            if not np.isfinite(out[:, j]).all():
                self._refuse(name, int(np.argmin(np.isfinite(out[:, j]))), "a missing value, NaN or inf")
        return out

    def labels(self, name: str) -> NDArray[Any]:
        """A column of labels, as numbers if float64 tells them apart; ValueError if a label is missing."""
        column = self.ids(name)
        parsed = _parsed(column)
        refuse_missing(parsed, self.what(name), self.place)
        return column if parsed.dtype.kind == "f" and (np.abs(parsed) >= EXACT).any() else parsed

    def ids(self, name: str) -> NDArray[Any]:
        """A column as the file holds it, so that different ids stay different; ValueError if a value is missing."""
        column = self.cells(name)
        refuse_missing(column, self.what(name), self.place)
        return column

    def what(self, name: str) -> str:
        """The words for a column in a sentence."""
        return f"column {name!r} of {self.path.name}"

    def _refuse(self, name: str, row: int, what: str) -> NoReturn:
        advice = "encode it as numbers, fill it, or leave it out"
        raise ValueError(f"{self.what(name)} holds {what} in {self.place(row)}; {advice}.")


def read_csv(path: Path) -> Columns:
    """Read a text table whose first line names the columns.

    The separator of a ``.tsv`` file is the tab; otherwise it is the comma, semicolon or tab that occurs most often in
    the header, outside of quoted names.
    """
    try:
        # Spreadsheets write a byte order mark, which utf-8-sig removes; csv asks for newline="".
        with path.open(encoding="utf-8-sig", newline="") as file:
            separator = "\t" if path.suffix.lower() == ".tsv" else _separator(file)
            file.seek(0)
            rows = (row for row in csv.reader(file, delimiter=separator, strict=True) if row)
            return _filled(path, rows, separator)
    except UnicodeDecodeError as error:
        odd = f"byte 0x{error.object[error.start]:02x}"
        raise ValueError(
            f"{path.name} is not text in UTF-8, as its {odd} shows; save it in UTF-8, as CSV UTF-8 of spreadsheets."
        ) from None
    except csv.Error as error:
        raise ValueError(f"{path.name} is not a text table in UTF-8: {error}.") from None


def _separator(lines: Iterable[str]) -> str:
    """The separator that occurs most often in the header, which is the first line that is not blank.

    A quoted name may hold separators and ends of lines. It begins with a quote at the start of a field.
    """
    found, state = Counter[str](), "start"
    for line in islice(lines, LONGEST_HEADER):
        state = "quoted" if state == "quoted" else "start"
        for char in line:
            if char == '"' and state != "plain":
                # Two quotes inside a quoted name are one.
                state = "closed" if state == "quoted" else "quoted"
            elif state != "quoted":
                state = "start" if char in SEPARATORS else "plain"
                found[char] += 1
        if state != "quoted" and line.strip():
            break
    return max(SEPARATORS, key=found.__getitem__)


def _filled(path: Path, rows: Iterator[list[str]], separator: str) -> Columns:
    """The columns of the rows of text; the first row holds the names."""
    names = tuple(name.strip() for name in next(rows, []))
    check_names(names, path)
    columns: list[list[str]] = [[] for _ in names]
    for number, row in enumerate(rows, 1):
        if len(row) != len(names):
            place = _row_and_line(path, separator, number - 1)
            raise ValueError(f"{place} of {path.name} has {len(row)} fields and the header has {len(names)}.")
        for column, text in zip(columns, row, strict=True):
            column.append(text.strip())
    if not columns or not columns[0]:
        raise ValueError(f"{path.name} must have a line of column names and at least one row.")
    # An array of fixed-width text would give each cell the size of the longest one.
    cells = {name: np.array(column, dtype=object) for name, column in zip(names, columns, strict=True)}
    return Columns(
        path, names, len(columns[0]), cells.__getitem__, separator != ",", partial(_row_and_line, path, separator)
    )


def _row_and_line(path: Path, separator: str, row: int) -> str:
    """The words for a row, with its line in the file, which an editor shows; blank lines are no rows."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader, before, count = csv.reader(file, delimiter=separator), 0, -1
        for cells in reader:
            count += bool(cells)
            if count == row + 1:
                break
            before = reader.line_num
    return f"{row_words(row)} (line {before + 1})"


def read_parquet(path: Path) -> Columns:
    """Read a Parquet table; this needs pyarrow."""
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
    check_names(names, path)
    if table.num_rows == 0 or not names:
        raise ValueError(f"{path.name} has no rows.")
    return of_arrow(table, names, path)


def of_arrow(table: Any, names: tuple[str, ...], path: Path) -> Columns:
    """The columns of a table of Arrow that was read from a file, which has the columns ``names``."""
    # A column of another type than numbers and text is refused where it is read, and may be left out.
    return Columns(path, names, table.num_rows, lambda name: _values(table.column(name), name, path))


def _values(column: Any, name: str, path: Path) -> NDArray[Any]:
    """A column of Parquet as an array; a missing number is NaN, and a missing text is the empty one."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), "", dtype=object)
    # Truth values with gaps would become objects; as whole numbers with gaps they become floats with NaN.
    if pa.types.is_boolean(kind) and column.null_count:
        column, kind = column.cast(pa.int8()), pa.int8()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return np.asarray(column.to_numpy())
    try:
        # Dates and decimals become text, which keeps all their digits.
        texts = column.cast(pa.string()).to_pylist()
    except pa.ArrowException:
        raise ValueError(
            f"column {name!r} of {path.name} has the type {kind}, neither numbers nor text; leave it out."
        ) from None
    return np.array(["" if text is None else text for text in texts], dtype=object)


def check_names(names: tuple[str, ...], path: Path) -> None:
    """Raise ValueError if a name occurs twice, or if two columns have no name."""
    if len(set(names)) < len(names):
        name = Counter(names).most_common(1)[0][0]
        raise ValueError(f"{path.name} has two columns {f'called {name!r}' if name else 'without a name'}.")


def _parsed(column: NDArray[Any]) -> NDArray[Any]:
    """The column as float64 if all its cells are numbers, otherwise as it is; ``1_000`` is no number in a table."""
    if column.dtype.kind != "O" or any("_" in text for text in column):
        return column
    try:
        return column.astype(np.float64)
    except ValueError:
        return column
