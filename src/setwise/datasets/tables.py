"""Tables in files, with columns by name: text as pandas reads it, and Parquet as pyarrow reads it."""

import codecs
import csv
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, count, islice
from pathlib import Path
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Ints, shown
from setwise.core.exceptions import BrokenPromise, reason_of
from setwise.core.files import in_line
from setwise.datasets.columns import FEW, WORDS, Cells, Columns, Texts, is_number, optional, row_words

SEPARATORS = ",;\t|"
"""What may part the cells of a text table; the one that parts the header and the first row into most cells is taken."""

SEP_LINE = re.compile(r'"?sep=(.?)"?\s*')
"""The line by which some programs name the separator."""

HEAD = 1000
"""So many lines are looked at for the header; quoted names may hold ends of lines."""

NAMELESS = "Unnamed: {}"
"""What a column without a name is called, from its place from 0 on, as pandas calls it."""


@final
@dataclass(frozen=True)
class TextForm:
    """How a text table is written.

    Attributes
    ----------
    path : the file
    encoding, separator : as Python and pandas call them
    header : the number of records up to the names of the columns, with these
    names : the names; behind the last one there may be empty ones, which rows need not have
    notes : sentences on what is not usual
    """

    path: Path
    encoding: str
    separator: str
    header: int
    names: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, path: Path, sep: str | None, encoding: str | None) -> "TextForm":
        """The form of a file: what is given, and what its first lines show."""
        encoding, notes = _encoding(path, encoding)
        with unpacked(path, encoding) as file:
            head = list(islice(file, HEAD))

        def cells_of(part: str) -> tuple[bool, int]:
            # The first row has about as many cells as the header.
            _, names, first = _header(head, part)
            return _named(names) - 1 <= len(first) <= len(names) + 1, len(names)

        told = SEP_LINE.fullmatch(head[0]) if head else None
        usual = "\t" if ending(path) == ".tsv" else None
        separator = sep or (told[1] if told else usual) or max(SEPARATORS, key=cells_of)
        header, names, first = _header(head, separator)
        if not first:
            raise ValueError(f"{path.name} must have a line of column names and at least one row.")
        if any(line.startswith("#") for line in head[: header - 1]):
            notes.append(f"The lines before the header of {path.name} that begin with # are left out.")
        if len(first) == len(names) + 1:
            # A separator may end each row. R names the rows in a first column that has no name.
            names = ["", *names] if first[-1].strip() else [*names, ""]
        return cls(path, encoding, separator, header, tuple(names), tuple(notes))

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """The rows as the module csv reads them, each with the number of the line on which it begins.

        Blank lines and comments are no rows.
        """
        with unpacked(self.path, self.encoding) as file:
            reader, before = csv.reader(file, delimiter=self.separator, skipinitialspace=True), 0
            for number, cells in enumerate(reader):
                comment = len(self.names) > 1 and cells and cells[0].startswith("#") and not any(cells[1:])
                if number >= self.header and not _blank(cells) and not comment:
                    yield before + 1, cells
                before = reader.line_num

    def place(self, row: int) -> str:
        """The words for a row, with its line in the file, as an editor shows it."""
        try:
            return f"{row_words(row)} (line {next(islice(self.records(), row, None))[0]})"
        except (csv.Error, StopIteration):
            return row_words(row)

    def refuse_ragged(self) -> None:
        """Raise ValueError naming the first row that has not as many cells as there are names."""
        width = len(self.names)
        right = range(_named(self.names), width + 1)
        for row, (line, cells) in enumerate(self.records()):
            if len(cells) not in right:
                what = f"{row_words(row)} (line {line}) of {self.path.name} has {len(cells)} fields"
                aside = f"name each column, and quote cells that hold {self.separator!r}"
                aside = "it begins with #; take lines that are comments out" if cells[0].startswith("#") else aside
                raise ValueError(f"{what} and the header has {width}: {aside}.")


TEXTS = (".csv", ".tsv", ".txt")
"""The endings of text tables."""

PACKED = (".gz", ".bz2", ".xz", ".zip", ".zst")
"""The endings of compressed ones, behind their own."""

BEGINS = {b"\x1f\x8b\x08": "gzip", b"PK\x03": "zip", b"\xfd7z": "xz", b"\x28\xb5\x2f": "zstd"}
"""The first bytes of compressed files, whatever their names are."""


def ending(path: Path) -> str:
    """The ending of a file in small letters; of a compressed text table it is its own, as ``.csv`` of ``t.csv.gz``.

    In a ``.zip`` without another ending there is a ``.csv``.
    """
    last, own = path.suffix.lower(), Path(path.stem).suffix.lower()
    return own if last in PACKED and own in TEXTS else ".csv" if last == ".zip" else last


@contextmanager
def unpacked(path: Path, encoding: str | None = None) -> Iterator[Any]:
    """The file as text in an encoding, or as bytes, which pandas unpacks; ValueError if damaged."""
    common = optional("pandas.io.common", f"to read {path.name}")
    form = {"mode": "rb" if encoding is None else "r", "encoding": encoding, "is_text": encoding is not None}
    with path.open("rb") as file:
        packed = BEGINS.get(file.read(3))
    try:
        # A path from the root is no address in the web.
        with common.get_handle(path.absolute(), **form, compression=packed or "infer") as one:
            yield one.handle
    # Damaged bytes make the decompressors raise almost any exception.
    except Exception as error:
        if str(error).startswith("Multiple files"):
            raise ValueError(f"{path.name} holds several files; unpack it, and name the one to read.") from None
        if not (packed or path.suffix.lower() in PACKED) or isinstance(
            error, ValueError | LookupError | Warning | csv.Error
        ):
            raise
        raise ValueError(f"{path.name} cannot be unpacked: {reason_of(error)}.") from None


def _encoding(path: Path, asked: str | None) -> tuple[str, list[str]]:
    """The encoding of a file, all of which it can read, and a sentence where it is not the usual one."""
    with unpacked(path) as file:
        wide = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    # A byte order mark is no part of the first name.
    usual = "utf-8-sig" if asked is not None and codecs.lookup(asked).name == "utf-8" else asked
    for encoding in (usual,) if usual is not None else ("utf-16",) if wide else ("utf-8-sig", "cp1252", "latin-1"):
        with suppress(UnicodeError), unpacked(path, encoding) as file:
            if any("\0" in part for part in iter(partial(file.read, 1 << 20), "")):
                why = "it holds NUL; if it is UTF-16, write --encoding utf-16-le"
                raise ValueError(f"{path.name} is no text, for {why}.")
            said = f"{path.name} is not UTF-8 and is read in {encoding}, a guess; --encoding names another one."
            return encoding, [] if asked or encoding == "utf-8-sig" else [said]
    raise ValueError(f"{path.name} is not text in {usual or 'UTF-16'}; name another encoding.")


def _named(names: Sequence[str]) -> int:
    """How many names there are up to the last one that is not empty."""
    return max((place for place, name in enumerate(names, 1) if name), default=0)


def _blank(cells: Sequence[str]) -> bool:
    return not cells or (len(cells) == 1 and not cells[0].strip())


def _header(lines: Iterable[str], separator: str) -> tuple[int, list[str], list[str]]:
    """How many records there are up to the header, its names, and the first row behind it."""
    found: list[tuple[int, list[str]]] = []
    comment: tuple[int, list[str]] = (0, [])
    for number, cells in enumerate(csv.reader(lines, delimiter=separator, skipinitialspace=True), 1):
        row = (number, [name.strip() for name in cells])
        if _blank(cells) or (number == 1 and SEP_LINE.fullmatch(separator.join(cells).strip())):
            continue
        if not found and cells[0].startswith("#"):
            comment = (number, [row[1][0].lstrip("# "), *row[1][1:]])
            continue
        # Names may be in a comment: those above are names, and some of these are numbers.
        if not found and len(comment[1]) == len(cells) and any(map(is_number, cells)):
            found.append(comment)
        found.append(row)
        if len(found) > 1:
            break
    found += [(0, [])] * (2 - len(found))
    return found[0][0], found[0][1], found[1][1]


def read_csv(path: Path, sep: str | None = None, encoding: str | None = None) -> Columns:
    """Read a text table whose first line names the columns, by pandas; it may be compressed.

    The separator of a ``.tsv`` file is the tab; otherwise it is the comma, semicolon, tab or bar that parts the header
    and the first row into most cells. ``sep`` and ``encoding`` name others.
    """
    pandas = optional("pandas", f"to read {path.name}")
    try:
        form = TextForm.of(path, sep, encoding)
        # It only warns of cells that it leaves out.
        strict = warnings.catch_warnings(action="error", category=pandas.errors.ParserWarning)
        with unpacked(path, form.encoding) as file, strict:
            header = csv.reader(iter(file.readline, ""), delimiter=form.separator, skipinitialspace=True)
            for _ in range(form.header):
                next(header)
            frame = pandas.read_csv(
                file, sep=form.separator, header=None, names=range(len(form.names)), index_col=False, dtype=str,
                na_filter=False, skipinitialspace=True,
            )  # fmt: skip
    except LookupError:
        raise ValueError(f"encoding must be one that Python knows, as 'cp1252'; got {encoding!r}.") from None
    except (pandas.errors.ParserError, pandas.errors.ParserWarning, csv.Error) as error:
        why = reason_of(error)
        if "EOF inside string" in why:
            why = "a quoted cell does not end"
        else:
            form.refuse_ragged()
        raise ValueError(f"{path.name} is not a text table: {why}.") from None
    return _columns(form, frame)


def _columns(form: TextForm, frame: Any) -> Columns:
    """The columns of what pandas has read."""
    marked = frame[frame[0].str.startswith("#")] if len(frame.columns) > 1 else frame[:0]
    comments = marked.index[(marked.iloc[:, 1:] == "").all(axis=1)]
    frame = frame.drop(index=comments) if len(comments) else frame
    # pandas fills up a row that is too short.
    if (frame.iloc[:, -1] == "").any():
        form.refuse_ragged()
    # A tag as #sale is a word; a comment has a blank.
    odd = [row for row in marked.index.difference(comments) if re.match(r"#\s", marked.at[row, 0])]
    if 0 < len(odd) <= max(1, FEW * len(frame)):
        place, begin = form.place(frame.index.get_loc(odd[0])), shown(marked.at[odd[0], 0])
        what = f"{place} of {form.path.name} begins with {begin}"
        raise ValueError(f"{what}, as a comment does that holds {form.separator!r}; take such lines out.")
    if not len(frame):
        raise ValueError(f"{form.path.name} must have a line of column names and at least one row.")
    numbering = [j for j, name in enumerate(form.names) if not name and _counts(frame[j].tolist())]
    # A separator too many makes a column of nothing.
    kept = [j for j, name in enumerate(form.names) if name or not (j in numbering or (frame[j] == "").all())]
    given = [form.names[j] or NAMELESS.format(j) for j in kept]
    names: list[str] = []
    for name in given:
        # The second of two equal names gets a number, as pandas does it.
        others = (f"{name}.{k}" for k in count(1) if f"{name}.{k}" not in {*given, *names})
        names.append(next(others) if name in names else name)
    notes = [*form.notes, *(f"Column {j + 1} has no name and numbers the rows: it is left out." for j in numbering)]
    nameless = [j for j in kept if not form.names[j]]
    notes += [f"Column {j + 1} has no name and is called {NAMELESS.format(j)!r} here." for j in nameless]
    twice = [(old, new) for old, new in zip(given, names, strict=True) if old != new]
    notes += [f"Column {old!r} is there twice; the later one is called {new!r} here." for old, new in twice]
    if len(comments):
        notes.append(f"{len(comments)} lines of {form.path.name} that begin with # are left out.")
    places = dict(zip(names, kept, strict=True))

    def cells(name: str) -> Cells:
        return Texts.of(frame[places[name]].str.strip())

    numbers = tuple(frame[numbering[0]].str.strip()) if numbering else ()
    return Columns(form.path, tuple(names), len(frame), cells, form.separator != ",", form.place, tuple(notes), numbers)


def _counts(cells: Sequence[str]) -> bool:
    """Whether they count the rows, from 0 or 1 on."""
    return any(cells == [str(i) for i in range(first, first + len(cells))] for first in (0, 1))


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

    Attributes
    ----------
    metadata, schema : what the footer of the file says
    sizes : the number of rows of each row group
    edges : row group g has the rows ``edges[g]:edges[g+1]``
    """

    def __init__(self, stamp: Stamp) -> None:
        self.stamp, self._name = stamp, in_line(stamp.path.name)
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
        arrow, parquet = (optional(name, f"to read {self._name}") for name in ("pyarrow", "pyarrow.parquet"))
        self.stamp.check()
        try:
            with parquet.ParquetFile(self.stamp.path, metadata=self.metadata, buffer_size=BUFFER) as file:
                yield file
            self.stamp.check()
        except (arrow.ArrowException, OSError) as error:
            self.stamp.check()
            raise ValueError(f"{self._name} is not a Parquet table: {reason_of(error)}.") from None


@final
class ParquetTable(ParquetFile):
    """Row groups of a Parquet table, which has rows, and columns of different names.

    Parameters
    ----------
    path : the file, which must stay as it is

    Attributes
    ----------
    names : the names of the columns
    rows : the number of all rows
    bytes : what all columns take before they are compressed, as the file says
    head : the columns without any cells
    """

    def __init__(self, path: Path) -> None:
        super().__init__(Stamp.of(path))
        self.path, self.names, self.rows = path, tuple(self.schema.names), self.edges[-1]
        if not self.rows or not self.names:
            raise ValueError(f"{path.name} has no rows.")
        name, times = Counter(self.names).most_common(1)[0]
        if times > 1:
            raise ValueError(
                f"{path.name} has two columns {f'called {name!r}' if name else 'without a name'}; rename one."
            )
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
            what = f"column {name!r} of {self.path.name} has the type {column.type}"
            raise ValueError(f"{what}, neither numbers nor text; leave it out.") from None


def coded(column: Any, codes: dict[Any, int]) -> Ints:
    """An array of Arrow without gaps as the numbers in ``codes``; a value that has none there gets the next one."""
    words = column.dictionary_encode()
    known = np.array([codes.setdefault(value, len(codes)) for value in words.dictionary.to_pylist()], dtype=np.int64)
    return np.asarray(known[words.indices.to_numpy()])


def read_parquet(path: Path, sep: str | None = None, encoding: str | None = None) -> Columns:
    """Read all of a Parquet table; this needs pyarrow. ``sep`` and ``encoding`` are those of text tables."""
    if sep is not None or encoding is not None:
        raise ValueError(f"sep and encoding are for text tables; {path.name} is a Parquet table.")
    table = ParquetTable(path)
    return table.columns(table.arrow(range(len(table.sizes)), table.names))
