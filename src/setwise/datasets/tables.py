"""Tables with named columns: numbers, dates, words and truth values, with gaps; and how text tables are read."""

import codecs
import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import shown
from setwise.datasets.columns import (
    FEW,
    WORDS,
    Category,
    Cells,
    Column,
    Date,
    Number,
    Texts,
    Word,
    as_texts,
    column_of,
    is_number,
    is_prose,
    pandas_for,
    refuse_missing,
    row_words,
    some,
    written,
)

EXACT = 2.0**53
"""From this size on, different whole numbers become equal in float64."""

SEPARATORS = ",;\t|"
"""What may part the cells of a text table; the one that parts the header and the first row into most cells is taken."""

SEP_LINE = re.compile(r'"?sep=(.?)"?\s*')
"""The line by which some programs name the separator."""

HEAD = 1000
"""So many lines are looked at for the header; quoted names may hold ends of lines."""

NAMELESS = "Unnamed: {}"
"""What a column without a name is called, from its place from 0 on, as pandas calls it."""


@final
@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table by name, all with ``rows`` cells, as the file holds them.

    ``cells(name)`` is a column as an array of numbers, of truth values, or as texts. ``decimal_comma`` tells whether a
    comma in a number is rather a decimal one, since it does not part the cells. ``place`` gives the words for a row in
    sentences, and ``notes`` are sentences on how the file was read.
    """

    path: Path
    names: tuple[str, ...]
    rows: int
    cells: Callable[[str], Cells]
    decimal_comma: bool = False
    place: Callable[[int], str] = row_words
    notes: tuple[str, ...] = ()

    def require(self, names: Sequence[str], what: str = "") -> None:
        """Raise ValueError if a named column is missing; ``what`` follows its name in the sentence."""
        for name in names:
            if name not in self.names:
                aside = "" if len(self.names) > 1 else " If another character parts its cells, name it by --sep."
                raise ValueError(f"{self.path.name} has no column {name!r}{what}; it has {some(self.names)}.{aside}")

    def numbers(self, names: Sequence[str]) -> NDArray[np.float64]:
        """The named columns as a matrix, (n, len(names)) float64.

        Raises ValueError that names the first cell that is not a finite number.
        """
        out = np.empty((self.rows, len(names)))
        for j, name in enumerate(names):
            out[:, j] = Number(name).codes(self.cells(name), self.path.name, self.place)
            gaps = np.isnan(out[:, j])
            if gaps.any():
                where = self.place(int(np.argmax(gaps)))
                raise ValueError(f"{self.what(name)} holds no number in {where}; fill it, or leave it out.")
        return out

    def labels(self, name: str) -> NDArray[Any]:
        """A column of labels, as numbers if float64 tells them apart; ValueError if a label is missing."""
        cells, found = self.cells(name), self.ids(name)
        if not isinstance(cells, Texts) or not all(map(is_number, cells.values.tolist())):
            return found
        numbers = cells.values.astype(np.float64)[cells.places]
        refuse_missing(numbers, self.what(name), self.place)
        return found if (np.abs(numbers) >= EXACT).any() else numbers

    def ids(self, name: str) -> NDArray[Any]:
        """A column as the file holds it, so that different ids stay different; ValueError if a value is missing."""
        cells = self.cells(name)
        found = cells.cells if isinstance(cells, Texts) else cells
        refuse_missing(found, self.what(name), self.place)
        return found

    def what(self, name: str) -> str:
        """The words for a column in a sentence."""
        return f"column {name!r} of {self.path.name}"


@final
@dataclass(frozen=True)
class TextForm:
    """How a text table is written.

    Attributes
    ----------
    path : the file
    encoding, separator : as Python and pandas call them
    header : the number of records up to the names of the columns, with these
    names : the names; behind the last one there may be an empty one, which rows need not have
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
        with path.open(encoding=encoding, newline="") as file:
            head = list(islice(file, HEAD))

        def cells_of(part: str) -> tuple[bool, int]:
            # The first row has about as many cells as the header.
            _, names, first = _header(head, part)
            return not first or abs(len(first) - len(names)) <= 1, len(names)

        told = SEP_LINE.fullmatch(head[0]) if head else None
        usual = "\t" if path.suffix.lower() == ".tsv" else None
        separator = sep or (told[1] if told else usual) or max(SEPARATORS, key=cells_of)
        header, names, first = _header(head, separator)
        if not names:
            raise ValueError(f"{path.name} must have a line of column names and at least one row.")
        if any(line.startswith("#") for line in head[: header - 1]):
            notes.append(f"The lines before the header of {path.name} that begin with # are left out.")
        # A separator may end each row.
        more = len(first) == len(names) + 1 and not first[-1].strip()
        return cls(path, encoding, separator, header, (*names, *([""] if more else [])), tuple(notes))

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """The rows as the module csv reads them, each with the number of the line on which it begins.

        Blank lines and comments are no rows.
        """
        with self.path.open(encoding=self.encoding, newline="") as file:
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
        right = {width, width - 1} if self.names and not self.names[-1] else {width}
        for row, (line, cells) in enumerate(self.records()):
            if len(cells) not in right:
                raise ValueError(
                    f"{row_words(row)} (line {line}) of {self.path.name} has {len(cells)} fields and the header has "
                    f"{width}: name each column, and quote cells that hold {self.separator!r}."
                )


def _encoding(path: Path, asked: str | None) -> tuple[str, list[str]]:
    """The encoding of a file, all of which it can read, and a sentence where it is not the usual one."""
    with path.open("rb") as file:
        wide = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    # A byte order mark is no part of the first name.
    usual = "utf-8-sig" if asked is not None and codecs.lookup(asked).name == "utf-8" else asked
    for encoding in (usual,) if usual is not None else ("utf-16",) if wide else ("utf-8-sig", "cp1252", "latin-1"):
        with suppress(UnicodeError), path.open(encoding=encoding, newline="") as file:
            if any("\0" in part for part in iter(partial(file.read, 1 << 20), "")):
                raise ValueError(
                    f"{path.name} is no text, for it holds NUL; if it is UTF-16, write --encoding utf-16-le."
                )
            guess = f"{path.name} is not UTF-8 and is read in {encoding}, a guess; --encoding names another one."
            said = [f"{path.name} is read in UTF-16, as its first bytes say."] if wide else [guess]
            return encoding, [] if asked or encoding == "utf-8-sig" else said
    raise ValueError(f"{path.name} is not text in {usual or 'UTF-16'}; name another encoding.")


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
        # Names may stand in a comment: those above are names, and these are numbers.
        if not found and len(comment[1]) == len(cells) and all(map(is_number, cells)):
            found.append(comment)
        found.append(row)
        if len(found) > 1:
            break
    found += [(0, [])] * (2 - len(found))
    return found[0][0], found[0][1], found[1][1]


def read_csv(path: Path, sep: str | None = None, encoding: str | None = None) -> Columns:
    """Read a text table whose first line names the columns, by pandas.

    The separator of a ``.tsv`` file is the tab; otherwise it is the comma, semicolon, tab or bar that parts the header
    and the first row into most cells. ``sep`` and ``encoding`` name others.
    """
    pandas = pandas_for(f"to read {path.name}")
    try:
        form = TextForm.of(path, sep, encoding)
        with path.open(encoding=form.encoding, newline="") as file:
            header = csv.reader(iter(file.readline, ""), delimiter=form.separator, skipinitialspace=True)
            for _ in range(form.header):
                next(header)
            frame = pandas.read_csv(
                file, sep=form.separator, header=None, names=range(len(form.names)), index_col=False, dtype=str,
                na_filter=False, skipinitialspace=True,
            )  # fmt: skip
    except LookupError:
        raise ValueError(f"encoding must be one that Python knows, as 'cp1252'; got {encoding!r}.") from None
    except pandas.errors.EmptyDataError:
        raise ValueError(f"{path.name} must have a line of column names and at least one row.") from None
    except (pandas.errors.ParserError, csv.Error) as error:
        why = " ".join(str(error).split()).rstrip(".")
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
    notes += [
        f"Column {j + 1} has no name and is called {NAMELESS.format(j)!r} here." for j in kept if not form.names[j]
    ]
    twice = [(old, new) for old, new in zip(given, names, strict=True) if old != new]
    notes += [f"Column {old!r} is there twice; the later one is called {new!r} here." for old, new in twice]
    if len(comments):
        notes.append(f"{len(comments)} lines of {form.path.name} that begin with # are left out.")
    places = dict(zip(names, kept, strict=True))

    def cells(name: str) -> Cells:
        return Texts.of(frame[places[name]], strip=True)

    return Columns(form.path, tuple(names), len(frame), cells, form.separator != ",", form.place, tuple(notes))


def _counts(cells: Sequence[str]) -> bool:
    """Whether they count the rows, from 0 or 1 on."""
    return any(cells == [str(i) for i in range(first, first + len(cells))] for first in (0, 1))


LIKE_AN_ID = "it is text of which no value occurs twice, as an id is"
"""Why a column is left out whose words say nothing about other rows."""

Raw = tuple[NDArray[np.float64], tuple[Column, ...], tuple[str, ...]]


def raw_features(table: Columns, names: Sequence[str], kinds: Mapping[str, str], missing: Sequence[str]) -> Raw:
    """The named columns as numbers (n, d) with NaN for gaps, their d kinds, and sentences on what was left out.

    Left out are columns that hold nothing, the same value in every row, or text of which no value occurs twice, as ids
    do. ``kinds`` names the kinds of some columns, and ``missing``
    further words for gaps.
    """
    kept: list[Column] = []
    codes: list[NDArray[np.float64]] = []
    notes: list[str] = []
    for name in names:
        cells, kind = table.cells(name), kinds.get(name)
        column = None if kind == "id" else column_of(name, cells, table.decimal_comma, missing, kind)
        if column is None:
            notes.append(left_out(name, "it is an id" if kind == "id" else "it holds nothing"))
            continue
        prose = kind == "text" or (kind is None and isinstance(column, Category) and is_prose(as_texts(cells)))
        words = Word.all_of(name, as_texts(cells)) if prose else ()
        if words or kind == "text":
            kept += words
            codes += [one.codes(cells, table.path.name) for one in words]
            notes.append(f"Column {name!r} is read as text: {len(words)} words of it are features.")
            continue
        found = column.codes(cells, table.path.name, table.place)
        why = _useless(column, found) if kind is None else ""
        notes += [left_out(name, why)] if why else []
        # What looks like an id may be numbers that were not read as such.
        if kind is None and (not why or isinstance(column, Category)):
            notes += _doubts(column, cells, missing)
        if not why:
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


THOUSANDS = re.compile(r"[1-9]\d{0,2},\d{3}")
"""What may be thousands, or a number with a decimal comma."""


def _doubts(column: Column, cells: Cells, missing: Sequence[str]) -> list[str]:
    """Sentences on a column that may be read in another way."""
    if not isinstance(cells, Texts):
        return []
    name, notes = repr(column.name), []
    gaps = [text for text in column.missing if text not in missing]
    if gaps:
        what = "dates" if isinstance(column, Date) else "numbers"
        notes.append(f"Column {name} is read as {what}, and {some(gaps)} in it as a gap.")
    words = cells.without({*WORDS, *column.missing})
    if isinstance(column, Date) and column.form.startswith("%m") and "%d" in column.form:
        other = replace(column, form=column.form.translate(str.maketrans("md", "dm")))
        if not np.isnan(other.of_texts(np.array(words, dtype=object))).any():
            aside = "If days come first, write them as 2024-12-31."
            notes.append(f"Column {name} is read as month before day: no date in it tells the order. {aside}")
    if isinstance(column, Number) and "," in (column.decimal, column.thousands):
        parted = [found[1] for text in sorted(words) if (found := written(text)) is not None and "," in found[1]]
        # Of three digits behind each comma nobody can tell.
        doubtful = all(map(THOUSANDS.fullmatch, parted))
        if column.decimal == ",":
            aside = f" If the comma of {shown(parted[0])} parts thousands, take it out." if doubtful else ""
            notes.append(f"Column {name} is read as numbers with a decimal comma.{aside}")
        elif doubtful:
            aside = f"If the comma of {shown(parted[0])} is a decimal one, write a point."
            notes.append(f"Column {name} is read as numbers with commas between thousands. {aside}")
    if isinstance(column, Category):
        # A thousand of the words show what they are.
        notes += _stray_words(name, column.words[:: max(1, len(words) // 1000)])
    return notes


def _stray_words(name: str, words: Sequence[str]) -> list[str]:
    """A sentence on a column of text that may be one of numbers or dates."""
    date, begin = Date.of(name, [words[len(words) // 2]]), f"Column {name} is read as text: it holds"
    if date is not None:
        odd_ones = np.isnan(date.of_texts(np.array(words, dtype=object)))
        strays = [words[i] for i in np.flatnonzero(odd_ones).tolist()]
    else:
        read = [Number.of(name, [text]) for text in words]
        strays = [text for text, column in zip(words, read, strict=True) if column is None]
        if not strays and not any(column.unit[:1].isalpha() for column in read if column is not None):
            odd = next((text for text in words if not is_number(text)), words[0])
            return [
                f"{begin} {shown(odd)}. If that is a number, write it with a decimal point, with nothing between "
                "thousands, and with the same unit as the others."
            ]
    if 0 < len(strays) <= FEW * len(words):
        what = "numbers" if date is None else "dates"
        return [f"{begin} {shown(strays[0])} among its {what}. If that is a gap, write --missing {strays[0]}."]
    return []
