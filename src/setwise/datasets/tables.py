"""Tables with named columns, CSV with a header or Parquet: numbers, dates, words and truth values, with gaps."""

import csv
import re
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
from setwise.datasets.columns import (
    WORDS,
    Category,
    Column,
    Date,
    DecimalComma,
    Stamp,
    column_of,
    is_number,
    refuse_missing,
    row_words,
    some,
)
from setwise.datasets.parquet import NUMBERS, ParquetFile, is_of

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
    _check_names(names, path)
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
    with table_file(path).opened() as file:
        table = file.read()
    return of_arrow(table, tuple(table.column_names), path)


def table_file(path: Path) -> ParquetFile:
    """The file of a Parquet table, which has rows, and columns of different names."""
    absent = f"to read {path.name} install pyarrow, or save the table as CSV."
    file = ParquetFile(Stamp.of(path), absent, f"{path.name} is not a Parquet table")
    _check_names(file.schema.names, path)
    if not sum(file.sizes) or not file.schema.names:
        raise ValueError(f"{path.name} has no rows.")
    return file


def of_arrow(table: Any, names: tuple[str, ...], path: Path) -> Columns:
    """The columns of a table of Arrow that was read from a file, which has the columns ``names``."""
    # A column of another type than numbers and text is refused where it is read, and may be left out.
    return Columns(path, names, table.num_rows, lambda name: _values(table.column(name), name, path))


def _values(column: Any, name: str, path: Path) -> NDArray[Any]:
    """A column of Parquet as an array; a missing number is NaN, and a missing text is the empty one."""
    import pyarrow as pa

    kind = column.type
    if is_of(kind, "null"):
        return np.full(len(column), "", dtype=object)
    # Truth values with gaps would become objects; as whole numbers with gaps they become floats with NaN.
    if is_of(kind, "boolean") and column.null_count:
        column, kind = column.cast(pa.int8()), pa.int8()
    if is_of(kind, *NUMBERS):
        return np.asarray(column.to_numpy())
    try:
        # Dates and decimals become text, which keeps all their digits.
        texts = column.cast(pa.string()).to_pylist()
    except pa.ArrowException:
        raise ValueError(
            f"column {name!r} of {path.name} has the type {kind}, neither numbers nor text; leave it out."
        ) from None
    return np.array(["" if text is None else text for text in texts], dtype=object)


def _check_names(names: Sequence[str], path: Path) -> None:
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


MOSTLY = 0.9
"""The share of numbers among the distinct values from which on a column of text is worth a sentence."""

GROUPED = re.compile(r"[+-]?([1-9]\d{0,2}(\.\d{3})+(,\d+)?|[1-9]\d{0,2}(,\d{3})+(\.\d+)?|\d+,\d+)")
"""Numbers as 1.234,50 or 1,234.50, with a sign between thousands, and numbers as 12,50."""

THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
"""What may be thousands, or a number with a decimal comma."""

LIKE_AN_ID = "it is text of which no value occurs twice, as an id is"
"""Why a column is left out whose words say nothing about other rows."""

Raw = tuple[NDArray[np.float64], tuple[Column, ...], tuple[str, ...]]


def raw_features(table: Columns, names: Sequence[str]) -> Raw:
    """The named columns as numbers (n, d) with NaN for gaps, their d kinds, and sentences on what was left out.

    Left out are columns that hold nothing, the same value in every row, or text of which no value occurs twice, as ids
    do; and the column without a name, if it numbers the rows.
    """
    kept: list[Column] = []
    codes: list[NDArray[np.float64]] = []
    notes: list[str] = []
    for name in names:
        cells = table.cells(name)
        column = column_of(name, cells, table.decimal_comma)
        if column is None:
            notes += [left_out(name, "it holds nothing")] if name else []
            continue
        found = column.codes(cells, table.path.name, table.place)
        if not name:
            _refuse_unless_numbered(table, found)
            continue
        why = _useless(column, found)
        if why:
            notes.append(left_out(name, why))
            # What looks like an id may be numbers that were not read as such.
            notes += _doubts(column, cells) if isinstance(column, Category) else []
            continue
        notes += _doubts(column, cells)
        kept.append(column)
        codes.append(found)
    return np.column_stack(codes) if codes else np.empty((table.rows, 0)), tuple(kept), tuple(notes)


def left_out(name: str, why: str) -> str:
    """The sentence on a column that is left out."""
    return f"Column {name!r} is left out: {why}."


def _useless(column: Column, codes: NDArray[np.float64]) -> str:
    """Why a column says nothing about other rows; the empty text if it may say something."""
    # NaN is neither the largest nor the smallest, so a gap beside one value is a difference.
    if codes.min() == codes.max():
        return "it holds the same value in every row"
    known = codes[~np.isnan(codes)]
    if isinstance(column, Category) and 1 < len(known) == len(column.words):
        return LIKE_AN_ID
    return ""


def _refuse_unless_numbered(table: Columns, codes: NDArray[np.float64]) -> None:
    """Raise ValueError unless the column without a name counts the rows from 0 or 1 on."""
    counts = np.arange(float(len(codes)))
    if not any(np.array_equal(codes, counts + first) for first in (0.0, 1.0)):
        table.refuse_nameless()


def _doubts(column: Column, cells: NDArray[np.object_]) -> list[str]:
    """Sentences on a column that may be read in another way."""
    if isinstance(column, Date) and column.form.startswith("%m"):
        other = Date(column.name, column.form.translate(str.maketrans("md", "dm")))
        if all(map(other.fits, set(cells.tolist()) - WORDS)):
            return [f"Column {column.name!r} is read as month before day: no date in it tells the order."]
    if isinstance(column, DecimalComma):
        # Of three digits behind each comma nobody can tell.
        parted = [text for text in sorted(set(cells.tolist()) - WORDS) if "," in text]
        aside = f" If the comma of {shown(parted[0])} parts thousands, take it out."
        return [
            f"Column {column.name!r} is read as numbers with a decimal comma."
            + (aside if all(map(THOUSANDS.fullmatch, parted)) else "")
        ]
    if isinstance(column, Category):
        strays = [text for text in column.words if not is_number(text) and not GROUPED.fullmatch(text)]
        if not strays:
            odd = next(text for text in column.words if not is_number(text))
            return [
                f"Column {column.name!r} is read as text: it holds {shown(odd)}. If that is a number, write it with a "
                "decimal point, and with nothing between thousands."
            ]
        if len(strays) <= (1.0 - MOSTLY) * len(column.words):
            return [f"Column {column.name!r} is read as text: it holds {shown(strays[0])} among its numbers."]
    return []
