"""The kinds of columns of a raw table, each of which turns its cells into numbers, with NaN for a gap.

Columns without a header get names when these are asked for. Missing values among labels and ids are refused, since
their meaning is unknown.
"""

import math
import os
import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Self, final, overload

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import as_names, as_text, shown
from setwise.core.exceptions import BrokenPromise


@final
@dataclass(frozen=True)
class FeatureNames(Sequence[str]):
    """The names ``"feature j"`` for each j in ``places``, made on demand, so that they take no memory."""

    places: range

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> "FeatureNames": ...

    def __getitem__(self, place: int | slice) -> "str | FeatureNames":
        if isinstance(place, slice):
            return FeatureNames(self.places[place])
        return f"feature {self.places[place]}"


def some(names: Sequence[str]) -> str:
    """The first dozen names in quotes, and the number of the others."""
    first = ", ".join(shown(n) for n in names[:12])
    return f"{first} and {len(names) - 12} more" if len(names) > 12 else first


def word(value: Any) -> str:
    """A label as text: a whole number has no point, and any other number has all its digits."""
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value)


WORDS = frozenset(
    {"", "nan", "NaN", "NAN", "-nan", "NaT", "NA", "N/A", "n/a", "#N/A", "<NA>", "null", "NULL", "None", "?"}
)
"""The words that tables write for a missing value."""


def row_words(row: int) -> str:
    """The words for a row in a sentence, from its number from 0 on."""
    return f"row {row + 1}"


def refuse_missing(values: NDArray[Any], what: str, place: Callable[[int], str] = row_words) -> None:
    """Raise ValueError naming the first row of ``values`` (n,) that is missing: NaN, inf, NaT, or one of ``WORDS``.

    ``place`` gives the words for a row.
    """
    kind = values.dtype.kind
    if kind in "fc":
        missing = ~np.isfinite(values)
    elif kind in "mM":
        missing = np.isnat(values)
    elif kind in "UO":
        # Objects are Python strings here, as tables hold them.
        missing = np.array([value in WORDS for value in values.tolist()], dtype=np.bool_)
    else:
        # In whole numbers, truth values and bytes no value stands for a missing one.
        return
    if missing.any():
        row = int(np.argmax(missing))
        word = str(values[row])
        shown = f"{word!r} in {place(row)}, which is no label and no id" if word else f"nothing in {place(row)}"
        raise ValueError(f"{what} holds {shown}; leave such rows out.")


Cells = NDArray[Any]

DAY = 86400.0
"""The number of seconds in a day."""

WHOLE = re.compile(r"\A(-?\d+)\.0*\Z")
"""A whole number with a point."""

CLOCKS = ("", " %H:%M", " %H:%M:%S")
"""The times of day that may follow a date, as the formats of ``datetime.strptime``."""

DAYS = ("", "%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y", "%d-%m-%Y", "%d-%b-%Y")
"""The forms of dates, in the order in which they are tried; the empty one stands for ISO 8601."""


@dataclass(frozen=True)
class Column(ABC):
    """One feature of a table: its name, and how its cells become float64 numbers.

    Attributes
    ----------
    name : the name in the header of the file
    """

    name: str

    kind: ClassVar[str]
    reads: ClassVar[str]

    def __post_init__(self) -> None:
        as_text(self.name, "name")

    @classmethod
    def of(cls, name: str, words: Set[str]) -> Self | None:
        """The column of this kind for cells with these distinct texts, none of them a gap; None if one does not fit."""
        found = cls(name)
        return found if all(map(found.fits, words)) else None

    def fits(self, text: str) -> bool:
        """Whether a text that is no gap has the form of the column."""
        try:
            self.code(text)
        except (ValueError, OverflowError):
            return False
        return True

    @abstractmethod
    def code(self, text: str) -> float:
        """The number for one text that is no gap; ValueError if it does not fit."""

    def number(self, value: float) -> float:
        """The number for a cell that the file holds as a number; ValueError if it does not fit."""
        return self.code(word(value))

    def plain(self, cells: Cells) -> NDArray[np.float64] | None:
        """The numbers for cells that need no look at each of them; None for others."""
        return None

    @final
    def codes(self, cells: Cells, file: str, place: Callable[[int], str] = row_words) -> NDArray[np.float64]:
        """The numbers (n,) for the cells (n,), with NaN for gaps.

        ``cells`` holds numbers, truth values, or Python strings as objects. ``file`` is the name for the sentence, and
        ``place`` gives the words for a row.
        Raises ValueError naming the first row that does not fit this column.
        """
        plain = self.plain(cells)
        if plain is not None:
            return plain
        values = cells.tolist()
        # Each distinct cell is turned into a number once; NaN differs from itself, so it needs no entry.
        table: dict[Any, float] = {}
        for cell in dict.fromkeys(value for value in values if value == value):
            try:
                table[cell] = self._of_cell(cell)
            except (ValueError, OverflowError):
                raise ValueError(
                    f"column {self.name!r} of {file} holds {shown(cell)} in {place(values.index(cell))}, and it must "
                    f"hold {self.reads}; mend it, or leave it out."
                ) from None
        return np.array([table[value] if value == value else np.nan for value in values], dtype=np.float64)

    def _of_cell(self, cell: Any) -> float:
        if isinstance(cell, str):
            return np.nan if cell in WORDS else self.code(cell)
        return self.number(cell)


@dataclass(frozen=True)
class Numbers(Column):
    """A column of finite numbers; each is itself."""

    kind: ClassVar[str] = "number"

    @abstractmethod
    def fits(self, text: str) -> bool:
        """Whether a text is a number in the form of the column; the words of infinite ones are."""

    @final
    def plain(self, cells: Cells) -> NDArray[np.float64] | None:
        if cells.dtype.kind not in "iuf":
            return None
        found = cells.astype(np.float64)
        # An infinite number is refused with its row.
        return None if np.isinf(found).any() else found

    @final
    def code(self, text: str) -> float:
        if not self.fits(text):
            raise ValueError(text)
        return self.number(float(text.replace(",", ".")))

    @final
    def number(self, value: float) -> float:
        out = float(value)
        if not math.isfinite(out):
            raise ValueError(value)
        return out


@final
@dataclass(frozen=True)
class Number(Numbers):
    """A column of finite numbers that are written with a decimal point; each is itself."""

    reads: ClassVar[str] = "finite numbers"

    def fits(self, text: str) -> bool:
        return is_number(text)


@final
@dataclass(frozen=True)
class DecimalComma(Numbers):
    """A column of finite numbers that are written with a decimal comma, as ``12,50``; each is itself."""

    reads: ClassVar[str] = "finite numbers with a decimal comma"

    def fits(self, text: str) -> bool:
        return "." not in text and text.count(",") <= 1 and is_number(text.replace(",", "."))


@final
@dataclass(frozen=True)
class Truth(Column):
    """A column of truth values: 1 for ``true`` and 0 for ``false``, in letters of any case."""

    kind: ClassVar[str] = "truth value"
    reads: ClassVar[str] = "true and false"

    # Zeros and ones alone are numbers, which are tried first.
    CODES: ClassVar[dict[str, float]] = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}

    def code(self, text: str) -> float:
        if text.lower() not in self.CODES:
            raise ValueError(text)
        return self.CODES[text.lower()]


@final
@dataclass(frozen=True)
class Date(Column):
    """A column of dates, with or without a time of day; the number is the days since the first of January 1970.

    Attributes
    ----------
    form : the format of ``datetime.strptime``; the empty one stands for ISO 8601. A time without a zone counts as UTC
    """

    form: str = ""

    kind: ClassVar[str] = "date"
    reads: ClassVar[str] = "dates of one form"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_text(self.form, "form")

    @classmethod
    def of(cls, name: str, words: Set[str]) -> "Date | None":
        for form in [day and day + clock for day in DAYS for clock in CLOCKS]:
            found = cls(name, form)
            if all(map(found.fits, words)):
                return found
        return None

    def code(self, text: str) -> float:
        # A whole number is a date in ISO 8601 too, but hardly in a table.
        if text.isdigit():
            raise ValueError(text)
        found = datetime.strptime(text, self.form) if self.form else datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() / DAY


@final
@dataclass(frozen=True)
class Category(Column):
    """A column of words; the number of a word is its place among ``words``, and their number for any other word.

    Attributes
    ----------
    words : the distinct words, sorted; that of a whole number has no point, so that ``1.0`` is ``1``
    """

    words: tuple[str, ...]

    kind: ClassVar[str] = "category"
    reads: ClassVar[str] = "text"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "words", as_names(self.words, "words"))

    @classmethod
    def of(cls, name: str, words: Set[str]) -> "Category":
        return cls(name, tuple(sorted({WHOLE.sub(r"\1", text) for text in words})))

    def code(self, text: str) -> float:
        for spelled in (text, WHOLE.sub(r"\1", text)):
            place = bisect_left(self.words, spelled)
            if place < len(self.words) and self.words[place] == spelled:
                return float(place)
        return float(len(self.words))


KINDS: tuple[type[Column], ...] = (Number, DecimalComma, Truth, Date, Category)
"""The kinds in the order in which they are tried; the last one takes any text."""


def column_of(name: str, cells: Cells, decimal_comma: bool = False) -> Column | None:
    """The column for the cells of a file: the first of ``KINDS`` that fits them all; None if all are gaps.

    Numbers with a decimal comma are looked for where ``decimal_comma`` says that a comma does not part cells.
    """
    if cells.dtype.kind == "b":
        return Truth(name)
    if cells.dtype.kind != "O":
        return Number(name) if (cells == cells).any() else None
    words = set(cells.tolist()) - WORDS
    kinds = [kind for kind in KINDS if decimal_comma or kind is not DecimalComma]
    return next(found for kind in kinds if (found := kind.of(name, words)) is not None) if words else None


def is_number(text: str) -> bool:
    """Whether a text is a number or the word of an infinite one; ``1_000`` is no number in a table."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


@final
@dataclass(frozen=True)
class Stamp:
    """The size, the time of the last change, and the number of a file."""

    path: Path
    size: int
    changed: int
    number: int

    @classmethod
    def of(cls, path: Path) -> Self:
        """The stamp of a file as it is now."""
        found = os.stat(path)
        return cls(path, found.st_size, found.st_mtime_ns, found.st_ino)

    def check(self) -> None:
        """Raise BrokenPromise where the file is another one by now."""
        try:
            same = Stamp.of(self.path) == self
        except OSError:
            same = False
        if not same:
            raise BrokenPromise(f"X changed while it was read: {self.path.name} is not the file that it was.")
