"""The columns of a table: their kinds, each of which turns cells into numbers, with NaN for a gap.

Missing values among labels and ids are refused, since their meaning is unknown.
"""

import mmap
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path
from shlex import quote
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.attributes import cached_property
from setwise.core.checks import as_names, as_text, shown


def some(names: Sequence[str]) -> str:
    """The first dozen names in quotes, and the number of the others."""
    first = ", ".join(shown(n) for n in names[:12])
    return f"{first} and {len(names) - 12} more" if len(names) > 12 else first


def word(value: Any) -> str:
    """A label as text: a whole number has no point, and any other number has all its digits."""
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value)


def known_as(text: str, known: Collection[str]) -> str:
    """A label as it is known: without a point if it is a whole number, as pandas writes 0.0 where a column has gaps."""
    return text if text in known or not is_number(text) else word(float(text))


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
    # Objects are Python strings here, as tables hold them. In whole numbers and bytes no value is a missing one.
    texts = values.dtype.kind in "USO"
    missing = np.array([value in WORDS for value in values.tolist()], np.bool_) if texts else ~np.isfinite(values)
    if missing.any():
        row = int(np.argmax(missing))
        word = str(values[row])
        shown = f"{word!r} in {place(row)}, which is no label and no id" if word else f"nothing in {place(row)}"
        raise ValueError(f"{what} holds {shown}; leave such rows out.")


POINTED = re.compile(r"\A(-?\d+)\.0*\Z")
"""A whole number with a point."""


TOKEN = "[\u3040-\u30ff\u3400-\u9fff]|[^\\W\u3040-\u30ff\u3400-\u9fff]{2,}"
"""A word of a text: two letters or digits or more, or one character of Chinese and Japanese, which have no blanks."""


@final
@dataclass(frozen=True, eq=False)
class Texts:
    """A column of text: the distinct ``values`` (k,), Python strings as objects, and the ``places`` (n,) among them."""

    values: NDArray[np.object_]
    places: NDArray[np.intp]

    @classmethod
    def of(cls, cells: Any) -> "Texts":
        """The column of these texts."""
        places, values = optional("pandas", "to read tables").factorize(cells)
        return cls(np.array(values, dtype=object), places)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def cells(self) -> NDArray[np.object_]:
        """The text of each row, (n,)."""
        return np.asarray(self.values[self.places])

    @cached_property
    def words(self) -> tuple[Any, dict[str, int]]:
        """How often each word is in each of the distinct texts, (k, m) CSC, and the columns of the m words."""
        from sklearn.feature_extraction.text import CountVectorizer

        counter = CountVectorizer(dtype=np.float64, token_pattern=TOKEN)
        try:
            found = counter.fit_transform("" if text in WORDS else text for text in self.values.tolist())
            return found.tocsc(), counter.vocabulary_
        # There is no word.
        except ValueError:
            return None, {}

    def without(self, gaps: Collection[str]) -> list[str]:
        """The distinct texts but for the words of a gap."""
        return [text for text in self.values.tolist() if text not in gaps]


Cells = NDArray[Any] | Texts
"""What a file holds in a column: numbers or truth values, with NaN for gaps, or texts."""


def as_texts(cells: Cells) -> Texts:
    """The cells as texts; a missing number is the empty one."""
    if isinstance(cells, Texts):
        return cells
    return Texts.of(np.array([word(cell) if cell == cell else "" for cell in cells.tolist()], dtype=object))


def room_for(rows: int, features: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """A matrix of no values yet, in memory that goes back to the system with it."""
    # What malloc is given back by one thread stays with it, for a thread that may never come.
    size = rows * features * dtype.itemsize
    return np.frombuffer(mmap.mmap(-1, max(size, 1)), dtype, rows * features).reshape(rows, features)


def optional(module: str, why: str) -> Any:
    """A module of an optional package; ValueError that says how to install it, where ``why`` begins the sentence."""
    try:
        return import_module(module)
    except ImportError:
        raise ValueError(f"{why} install {module.partition('.')[0]}: pip install 'setwise[compare]'.") from None


@dataclass(frozen=True)
class Column(ABC):
    """One feature of a table: its name, and how its cells become float64 numbers.

    Attributes
    ----------
    name : the name in the header of the file
    missing : words that are gaps in this column, beside those of every table
    """

    name: str
    missing: tuple[str, ...] = field(default=(), kw_only=True)

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        for name, value in list(vars(self).items()):
            if name not in ("missing", "words"):
                as_text(value, name)
            elif value != () or name == "words":
                object.__setattr__(self, name, as_names(value, name))

    @property
    def source(self) -> str:
        """The column of the file that it reads."""
        return self.name

    @property
    def reads(self) -> str:
        """What its cells must hold, as a sentence says it."""
        return "text"

    def gaps(self, texts: NDArray[np.object_]) -> NDArray[np.bool_]:
        """Whether each text is a gap, (k,)."""
        return np.array([text in WORDS or text in self.missing for text in texts.tolist()], dtype=np.bool_)

    @abstractmethod
    def of_texts(self, texts: NDArray[np.object_]) -> NDArray[np.float64]:
        """The numbers for texts (k,) that are no gaps; NaN for one that does not fit."""

    def codes(
        self, cells: Cells, file: str, place: Callable[[int], str] = row_words, options: bool = False
    ) -> NDArray[np.float64]:
        """The numbers (n,) for the cells (n,), with NaN for gaps.

        ``file`` is the name for the sentence, ``place`` gives the words for a row, and ``options`` tells whether words
        for gaps can be given. Raises ValueError naming the first row that does not fit this column.
        """
        if isinstance(self, Number) and not isinstance(cells, Texts):
            numbers = [float(text) for text in self.missing if is_number(text)]
            values, places, gap = cells, np.arange(len(cells)), np.isin(cells, numbers) | (cells != cells)
            found = np.where(gap, np.nan, cells.astype(np.float64))
        else:
            texts = as_texts(cells)
            values, places, gap = texts.values, texts.places, self.gaps(texts.values)
            found = np.full(len(values), np.nan)
            found[~gap] = self.of_texts(values[~gap])
        odd = ~gap & ~np.isfinite(found)
        if odd.any():
            row = int(np.argmax(odd[places]))
            what = f"column {self.name!r} of {file} holds {shown(values.tolist()[places[row]])} in {place(row)}"
            words = as_options(dict.fromkeys(map(str, values[odd].tolist())))
            advice = f"mend it, leave it out, or make it a gap by {words}" if options else "mend it, or leave it out"
            raise ValueError(f"{what}, and it must hold {self.reads}; {advice}.")
        return np.asarray(found[places])


def as_options(words: Iterable[str]) -> str:
    """The options that make the first dozen of these words gaps, as a shell takes them."""
    options = []
    for word in words:
        # A full stop at its end is not that of the sentence.
        text = f"'{word}'" if quote(word) == word and word.endswith(".") else quote(word)
        options.append(f"--missing={text}" if word.startswith("-") else f"--missing {text}")
    return " ".join(options[:12] + ["and so on"] * (len(options) > 12))


CURRENCY = r"[A-Z]{0,3}[$€£¥₹₽₺₩₪₫฿]|EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|Rs\.?"

UNIT = rf"%|‰|{CURRENCY}"
"""What may stand before a number as well as behind it."""

WRITTEN = re.compile(
    rf"(?P<open>\()?(?P<sign>[+-]?) ?(?P<before>{UNIT})? ?(?P<after_unit>[+-]?)"
    r"(?P<digits>[.,]?\d(?:[\d.,' ]*\d)?[.,]?(?:[eE][+-]?\d+)?)(?:(?:(?<=[.,])|:)(?:--?|[–—])|(?P<end>-?)) ?"
    rf"(?P<behind>{UNIT}|[^\W\d_][^\d\s,()+-]{{0,9}}|°[CF]?)?(?P<close>\))?"
)
"""A number with what people write around it: a sign on either side, a unit, and what parts thousands; in parentheses it
is below 0, and a dash behind a decimal point means no cents."""

PLAIN = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "’": "'", "−": "-"})

FORMS = ((".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"))
"""What may stand for the decimal point, and between thousands."""


@cache
def _form(decimal: str, thousands: str) -> re.Pattern[str]:
    """The digits of a number in a form."""
    whole = rf"\d+|[1-9]\d{{0,2}}(?:{re.escape(thousands)}\d{{3}})+" if thousands else r"\d+"
    point = re.escape(decimal)
    return re.compile(rf"(?:(?:{whole})(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?")


GROUPED = re.compile(r"(?:[^\d,]*[^\d,.])?(?:0|[1-9]\d{0,2}(?:\.\d{3})?)[^\d,.]*")
"""A number below a million whose point may stand between thousands."""


def points_part_thousands(words: Sequence[str]) -> bool:
    """Whether the points of numbers stand between thousands, where each has three digits behind it.

    Where these are decimals, few numbers have three digits and no point, such as a word for a gap, and amounts of money
    have no third decimal, but for prices below 3, as of fuel.
    """
    if not all(map(GROUPED.fullmatch, words)) or not any("." in text for text in words):
        return False
    if re.search(CURRENCY, words[0]) is not None:
        return not all(re.search(r"(?<!\d)[0-2]\.", text) for text in words)
    return sum("." not in text and len(DIGIT.findall(text)) == 3 for text in words) > max(1, len(words) // 10)


def written(text: str) -> tuple[str, str, str] | None:
    """The sign, the digits and the unit of a text that is a number as people write it; None for another text."""
    text = text[1:-1] if text[:1] + text[-1:] == "[]" else text
    found = WRITTEN.fullmatch(text.translate(PLAIN))
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    signs = [found["sign"], found["after_unit"], found["end"] or "", "-"[: bool(found["open"])]]
    units = found["before"], found["behind"]
    if len("".join(signs)) > 1 or all(units):
        return None
    return "".join(signs), found["digits"], units[0] or units[1] or ""


@dataclass(frozen=True)
class Number(Column):
    """A column of finite numbers; each is itself.

    Attributes
    ----------
    decimal : what stands for the decimal point, ``"."`` or ``","``
    thousands : what may stand between thousands: nothing, a comma, a point, a blank or an apostrophe
    unit : what stands before or behind each number, as ``"%"``, ``"$"`` or ``"kg"``; 12.5 % are 12.5
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    kind: ClassVar[str] = "number"

    @classmethod
    def of(cls, name: str, words: Sequence[str], decimal_comma: bool = False, guess: bool = True) -> "Number | None":
        """The form that fits all words; where comma and point may be either, ``decimal_comma`` decides.

        Without ``guess`` a point alone is a decimal one.
        """
        points = guess and points_part_thousands(words)
        if not points and all(map(is_number, words)):
            return cls(name)
        unit = (written(words[0]) or ("", "", ""))[2]
        forms = sorted(FORMS, key=lambda form: (form != (",", ".")) if points else form[0] == "," and not decimal_comma)
        found = (cls(name, decimal, thousands, unit) for decimal, thousands in forms)
        return next((column for column in found if all(map(column._digits, words))), None)

    @property
    def reads(self) -> str:
        """What its cells must hold."""
        comma = " with a decimal comma" if self.decimal == "," else ""
        return f"finite numbers{comma}{f' in {self.unit}' if self.unit else ''}"

    def of_texts(self, texts: NDArray[np.object_]) -> NDArray[np.float64]:
        """The numbers for texts; infinite ones for the words of these."""
        plain = self.decimal == "." and not self.unit
        if plain and not any("_" in text for text in texts.tolist()):
            with suppress(ValueError):
                return texts.astype(np.float64)
        digits = (text if plain and is_number(text) else self._digits(text) for text in texts.tolist())
        return np.array([float(one or np.nan) for one in digits])

    def _digits(self, text: str) -> str:
        """The sign and the digits of a text in this form, as Python writes them; the empty text for another one."""
        found = written(text)
        if found is None or found[2] != self.unit or not _form(self.decimal, self.thousands).fullmatch(found[1]):
            return ""
        return found[0] + found[1].replace(self.thousands, "").replace(",", ".")


@final
@dataclass(frozen=True)
class Cost(Number):
    """A column of numbers that are costs of the rows, and no feature: base models do not see it."""

    kind: ClassVar[str] = "cost"


@final
@dataclass(frozen=True)
class Truth(Column):
    """A column of truth values: 1 for ``true`` and 0 for ``false``, in letters of any case."""

    kind: ClassVar[str] = "truth value"

    # Zeros and ones alone are numbers, which are tried first.
    CODES: ClassVar[dict[str, float]] = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}

    @property
    def reads(self) -> str:
        """What its cells must hold."""
        return "true and false"

    def of_texts(self, texts: NDArray[np.object_]) -> NDArray[np.float64]:
        """The numbers for texts."""
        return np.array([self.CODES.get(text.lower(), np.nan) for text in texts.tolist()], dtype=np.float64)


DAYS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y",
    "%m-%d-%Y", "%d-%m-%Y", "%m-%d-%y", "%d-%m-%y", "%d-%b-%Y", "%d-%b-%y", "%b %d %Y", "%B %d %Y", "%d %b %Y",
    "%d %B %Y", "%d/%b/%Y", "%b %Y", "%B %Y", "%m/%Y", "%y-%m-%d", "%y/%m/%d", "%y.%m.%d", "%y-%b-%d",
)  # fmt: skip
"""The forms of dates beside ISO 8601, in the order in which they are tried."""

DIGIT = re.compile(r"\d")

IN_DATE = re.compile(
    r"\b(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?\b\.?|\b(?:at|of)\b|(?<=\d)(?:st|nd|rd|th)\b"
    r"|,|\.(?= )|(?<=[+-]\d{4}) \(.*\)$|\b(?:GMT|UTC)(?=[+-])",
    re.IGNORECASE,
)
"""Parts of a date that tell nothing more."""

YEAR_LAST = re.compile(r" (\d{1,2}:\d\d.*) (\d{4})$")
"""A time of day before the year."""


def plain_date(text: str) -> str:
    """A date of words without weekday, commas and the like, and with the time of day at its end; others as they are."""
    # Without a year the weekday tells more.
    if re.search(r"[^\W\d_]{3}", text) is None or re.search(r"\b[12]\d{3}\b", text) is None:
        return text
    return YEAR_LAST.sub(r" \2 \1", " ".join(IN_DATE.sub(" ", text).split()))


STAMPS = {"%Y%m%d": 8, "%Y%m%d%H%M": 12, "%Y%m%d%H%M%S": 14}
"""The forms of dates that are whole numbers, and how many digits these have."""

UNIX = "Unix time"
"""The form of a number of seconds since 1970, or of their thousandths, millionths or billionths."""

UNITS, PARTS = np.array([1e8, 1e11, 1e14, 1e17, 1e20]), np.array([np.nan, 1.0, 1e3, 1e6, 1e9, np.nan])
"""From which size on a Unix time has how many parts of a second; smaller and larger numbers are none."""

FARTHEST = 84_006
"""Most months are within so many days of 1970, from 1740 to 2200."""

SURE, CENTURY = 20, 36_525
"""An order of day, month and year is wrong if it has so many years, twice as many as another one; and the days of the
100 years before a date from 2000-03-01 to 2100-02-28."""

CLOCK = re.compile(
    r"(?P<gap>^|,? |[T:])(?P<hour>\d{1,2}:\d\d)(?P<second>:\d\d)?(?P<part>\.\d+)?(?P<half> ?[AaPp][Mm])?"
    r"(?P<zone> ?(?:[A-Z]{1,4}|[+-]\d\d:?\d\d))?$"
)
"""The time of day at the end of a text."""


def _clock_form(found: re.Match[str]) -> str:
    """The format of a time of day, as pandas takes it."""
    half, zone = found["half"] or "", found["zone"] or ""
    form = found["gap"] + ("%I:%M" if half else "%H:%M") + (":%S" if found["second"] else "")
    form += (".%f" if found["part"] else "") + half[:-2] + ("%p" if half else "")
    return form + (" " * zone.startswith(" ") + ("%z" if zone.strip()[0] in "+-" else "%Z") if zone else "")


@final
@dataclass(frozen=True)
class Date(Column):
    """A column of dates, with or without a time of day; the number is the days since the first of January 1970.

    A column of times alone holds the part of the day that is over.

    Attributes
    ----------
    form : the format for ``pandas.to_datetime``; the empty one stands for ISO 8601, and ``"Unix time"`` for seconds
        since 1970, or thousandths, millionths or billionths, by their size. A time without a zone counts as UTC
    until : the last year of dates with two digits for the year, where later ones are 100 years earlier; or nothing
    """

    form: str = ""
    until: str = ""

    kind: ClassVar[str] = "date"

    @classmethod
    def of(cls, name: str, words: Sequence[str]) -> "Date | None":
        """The first form that fits all words; with two digits for a year one of few years."""
        # The common case, words without digits, costs nothing.
        if not words or DIGIT.search(words[0]) is None:
            return None
        texts = np.array(words, dtype=object)
        clock = CLOCK.search(plain_date(words[0]))
        time = "" if clock is None else _clock_form(clock)
        days = ("",) if clock is not None and clock.start() == 0 else DAYS
        found = (cls(name, form) for form in ("", *(day + time for day in days if day + time), *STAMPS, UNIX))
        likely = (column for column in found if not np.isnan(column.of_texts(texts[:1])[0]))
        # Codes like 6043-12 are no months.
        limit = FARTHEST if len(words[0]) == 7 else np.inf
        first = next((one for one in likely if abs(float(np.median(one.of_texts(texts)))) < limit), None)
        if first is None or "%y" not in first.form:
            return first
        centuries = [replace(first.orders(texts)[0], until=until) for until in ("", str(np.datetime64("today", "Y")))]
        return min(centuries, key=lambda column: float(np.ptp(column.of_texts(texts))))

    def orders(self, texts: NDArray[np.object_]) -> "list[Date]":
        """The column for each order of day, month and year that may be meant, in the order in which they are tried."""
        day = next((day for day in DAYS if self.form.startswith(day)), "")
        forms = [other + self.form.removeprefix(day) for other in DAYS if sorted(other) == sorted(day)]
        read = [(column := replace(self, form=form), column.of_texts(texts)) for form in forms]
        # Days that are taken for years are up to 31.
        years = {column: len(np.unique(days // 365.2425)) for column, days in read if not np.isnan(days).any()}
        return [column for column in years if years[column] < max(SURE, 2 * min(years.values()))]

    @property
    def reads(self) -> str:
        """What its cells must hold."""
        return f"dates of one form, {self.form or 'ISO 8601, as 2024-12-31'}"

    @property
    def clock(self) -> bool:
        """Whether it holds times of day alone."""
        return ":%M" in self.form and "%y" not in self.form.lower()

    def of_texts(self, texts: NDArray[np.object_]) -> NDArray[np.float64]:
        """The numbers for texts."""
        pandas = optional("pandas", "to read dates")
        if self.form == UNIX:
            numbers = pandas.to_numeric(pandas.Series(texts, dtype=object), errors="coerce").to_numpy(np.float64)
            return np.asarray(numbers / PARTS[np.searchsorted(UNITS, numbers, side="right")] / 86_400.0)
        if self.form in STAMPS:
            plain = (POINTED.sub(r"\1", text) for text in texts.tolist())
            kept = [text if len(text) == STAMPS[self.form] else None for text in plain]
        else:
            # A whole number is a date in ISO 8601 too, but hardly in a table.
            kept = [None if text.isdigit() and not self.form else plain_date(text) for text in texts.tolist()]
        dates = pandas.Series(kept, dtype=object)
        found = pandas.to_datetime(dates, format=self.form or "ISO8601", utc=True, errors="coerce")
        days = (found.dt.tz_localize(None).to_numpy() - np.datetime64(0, "s")) / np.timedelta64(1, "D")
        if self.until:
            days[days >= (np.datetime64(self.until, "Y") + 1).astype("M8[D]").astype(int)] -= CENTURY
        return np.asarray(days % 1.0 if self.clock else days, dtype=np.float64)


@final
@dataclass(frozen=True)
class Category(Column):
    """A column of words; the number of a word is its place among ``words``, and their number for any other word.

    Attributes
    ----------
    words : the distinct words, sorted; that of a whole number has no point, so that ``1.0`` is ``1``
    """

    words: tuple[str, ...] = ()

    kind: ClassVar[str] = "category"

    @classmethod
    def of(cls, name: str, words: Collection[str], missing: tuple[str, ...]) -> "Category":
        """The category of these words."""
        return cls(name, tuple(sorted({POINTED.sub(r"\1", text) for text in words})), missing=missing)

    def of_texts(self, texts: NDArray[np.object_]) -> NDArray[np.float64]:
        """The numbers for texts."""
        places = {text: float(place) for place, text in enumerate(self.words)}
        known = [places.get(text, places.get(POINTED.sub(r"\1", text), len(places))) for text in texts.tolist()]
        return np.array(known, dtype=np.float64)


LEAST_ROWS, MOST_WORDS, MOST_CELLS = 5, 300, 20_000_000
"""A word of a text is a feature if so many rows hold it. There are so many words at most, the most frequent ones, and
they take so many numbers in all rows, but 20 words in any case."""


@final
@dataclass(frozen=True)
class Word(Column):
    """How often a word is in the cells of a column of text.

    Attributes
    ----------
    text : the name of the column of text
    word : the word in small letters
    """

    text: str = ""
    word: str = ""

    kind: ClassVar[str] = "text"

    @classmethod
    def all_of(cls, name: str, cells: Texts) -> "tuple[Word, ...]":
        """The most frequent words of a column of text, sorted."""
        counts, words = cells.words
        if not words:
            return ()
        rows = np.bincount(cells.places, minlength=len(cells.values)) @ (counts > 0)
        most = int(np.clip(MOST_CELLS // len(cells), 20, MOST_WORDS))
        found = sorted(sorted(words, key=lambda word: (-rows[words[word]], word))[:most])
        return tuple(cls(f"{name}: {one}", text=name, word=one) for one in found if rows[words[one]] >= LEAST_ROWS)

    @property
    def source(self) -> str:
        """The column of text."""
        return self.text

    def codes(
        self, cells: Cells, file: str, place: Callable[[int], str] = row_words, options: bool = False
    ) -> NDArray[np.float64]:
        """How often the word is in each cell; never in a gap."""
        texts = as_texts(cells)
        counts, words = texts.words
        if self.word not in words:
            return np.zeros(len(texts))
        return np.asarray(counts[:, [words[self.word]]].toarray().ravel()[texts.places])

    def of_texts(self, texts: NDArray[np.object_]) -> NDArray[np.float64]:
        """How often the word is in each text."""
        return self.codes(Texts(texts, np.arange(len(texts))), "")


ABSENT = frozenset(
    {"-", "--", "---", ".", "..", "*", "x", "n/k", "nk", "n.k.", "n.a.", "na", "n/a", "none", "nil", "null", "unknown",
     "not known", "unk", "missing", "not available", "tbd", "tba", "undefined", "undisclosed", "k.a.", "unbekannt"}
)  # fmt: skip
"""Words in small letters that stand for a gap where they stand among numbers or dates."""

FEW = 0.1
"""The largest share of the distinct values of a column that a single word may be, if it is a gap among numbers."""

KINDS = ("number", "category", "date", "text", "id", "cost")
"""The kinds that may be asked for."""


def column_of(
    name: str, cells: Cells, decimal_comma: bool = False, missing: Sequence[str] = (), kind: str | None = None
) -> Column:
    """The column for the cells of a file: the first kind that fits them all.

    Parameters
    ----------
    name : the name of the column
    cells : what the file holds
    decimal_comma : whether a comma between three digits and others is rather a decimal one
    missing : further words for gaps
    kind : the kind that is asked for, one of :data:`KINDS`; None looks for it
    """
    if kind == "cost":
        looked = column_of(name, cells, decimal_comma, missing)
        numbers = looked if isinstance(looked, Number) else column_of(name, cells, decimal_comma, missing, "number")
        return Cost(**vars(numbers))
    gaps = tuple(dict.fromkeys(missing))
    if not isinstance(cells, Texts) and kind in (None, "number"):
        return (Truth if cells.dtype.kind == "b" else Number)(name, missing=gaps)
    words = as_texts(cells).without({*WORDS, *gaps})
    if kind in ("category", "text") and words:
        return Category.of(name, words, gaps)
    found = _fitting(name, words, decimal_comma, kind)
    # A word among numbers or dates has no digits, as the codes of a category have.
    strays = () if found or kind else tuple(text for text in words if DIGIT.search(text) is None)
    few = len(strays) == 1 <= FEW * len(words)
    if 0 < len(strays) < len(words) and (few or all(text.lower() in ABSENT for text in strays)):
        found = _fitting(name, [text for text in words if text not in strays], decimal_comma, kind)
    codes = [text for text in words if text not in strays]
    # Of codes that are in fewer rows each only the order tells much.
    if kind is None and found is not None and LEAST_ROWS * len(codes) <= len(cells) and are_codes(codes):
        found = Category.of(name, codes, ())
    if found is None and kind is None:
        return Category.of(name, words, gaps)
    # What is no number or date, though it was asked for, is refused where it is read.
    asked = (Date.of(name, words[len(words) // 2 :][:1]) or Date(name)) if kind == "date" else Number(name)
    return replace(asked, missing=gaps) if found is None else replace(found, missing=(*gaps, *strays))


def _fitting(name: str, words: Sequence[str], decimal_comma: bool, kind: str | None) -> Column | None:
    """The column of numbers, truth values or dates that fits all words, of one kind where that is asked for."""
    found = None if kind == "date" else Number.of(name, words, decimal_comma, kind is None)
    if found is None and kind is None and all(text.lower() in Truth.CODES for text in words):
        return Truth(name)
    return found if found or kind == "number" else Date.of(name, words)


def is_prose(cells: Texts) -> bool:
    """Whether it is text of many words: four on average, and other words in most rows."""
    known = cells.without(WORDS)
    return 2 * len(known) > len(cells) and sum(len(text.split()) for text in known) >= 4 * len(known)


def are_codes(words: Sequence[str]) -> bool:
    """Whether all are digits alone, and some begin with 0, as postcodes do: these zeros are lost in a number."""
    return any(text[0] == "0" and len(text) > 2 for text in words) and all(map(str.isdigit, words))


def is_number(text: str) -> bool:
    """Whether a text is a number or the word of an infinite one; ``1_000`` is no number in a table."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


EXACT = 2.0**53
"""From this size on, different whole numbers become equal in float64."""


@final
@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table by name, all with ``rows`` cells, as the file holds them.

    ``cells(name)`` is a column as an array of numbers, of truth values, or as texts. ``decimal_comma`` tells whether a
    comma in a number is rather a decimal one, since it does not part the cells. ``place`` gives the words for a row in
    sentences, and ``notes`` are sentences on how the file was read. ``numbering`` is a column without a name that
    numbers the rows, as text; it is none of the columns.
    """

    path: Path
    names: tuple[str, ...]
    rows: int
    cells: Callable[[str], Cells]
    decimal_comma: bool = False
    place: Callable[[int], str] = row_words
    notes: tuple[str, ...] = ()
    numbering: tuple[str, ...] = ()

    def require(self, names: Sequence[str], what: str = "") -> None:
        """Raise ValueError if a named column is missing; ``what`` follows its name in the sentence."""
        for name in names:
            if name not in self.names:
                aside = "" if len(self.names) > 1 else " If another character parts its cells, name it by --sep."
                aside += "".join(f" {note}" for note in self.notes if " before the header " in note)
                raise ValueError(f"{self.path.name} has no column {name!r}{what}; it has {some(self.names)}.{aside}")

    def numbers(self, names: Sequence[str]) -> NDArray[np.float64]:
        """The named columns as a matrix, (n, len(names)) float64.

        Raises ValueError that names the first cell that is not a finite number.
        """
        X = self.codes([Number(name) for name in names])
        for name, column in zip(names, X.T, strict=True):
            if np.isnan(column).any():
                where = self.place(int(np.isnan(column).argmax()))
                raise ValueError(f"{self.what(name)} holds no number in {where}; fill it, or leave it out.")
        return X

    def codes(self, columns: Sequence[Column]) -> NDArray[np.float64]:
        """The numbers (n, d) of d columns of known kinds, with NaN for gaps; ValueError for what does not fit."""
        X = room_for(self.rows, len(columns), np.dtype(np.float64))
        # The words of a text are columns that stand together.
        for source, read in groupby(enumerate(columns), lambda pair: pair[1].source):
            cells = self.cells(source)
            for j, column in read:
                X[:, j] = column.codes(cells, self.path.name, self.place)
        return X

    def texts(self, name: str) -> list[str]:
        """A column as text, in which a missing number is the empty one."""
        return list(as_texts(self.cells(name)).cells)

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


SAME_VALUE = "it holds the same value in every row"
"""Why a column is left out that may still be a cost."""


def left_out(name: str, why: str) -> str:
    """The sentence on a column that is left out."""
    return f"Column {name!r} is left out: {why}."
