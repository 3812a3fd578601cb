"""Sentences on columns of a table that may be read in another way than they are."""

import re
from collections.abc import Sequence
from dataclasses import replace
from shlex import quote

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import shown
from setwise.datasets.columns import (
    CURRENCY,
    DIGIT,
    FEW,
    GROUPED,
    UNIX,
    WORDS,
    Category,
    Cells,
    Column,
    Cost,
    Date,
    Number,
    Texts,
    are_codes,
    as_options,
    is_number,
    some,
    word,
    written,
)  # fmt: skip

THOUSANDS = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
"""What may be thousands, or a number with decimals."""

ORDERS = {"m": ("month before day", "months"), "d": ("day before month", "days"), "y": ("year before month", "years")}
"""The words for the order of a date, by what comes first."""


LISTED = re.compile(r"[\[{]|\W*\w+\W+\w")
"""What begins as a list does, or as several words."""

SEVERAL = 30
"""Of more than so many words that begin like numbers or dates, or are durations, it is said how these are written."""

DATED = re.compile(
    r"(?![\[{])(?:[^\w]*\d|v\d+\.\d+\.\d|[^\W\d_]{3,9}[.,]? +\d|P(?:T?[\d.,]+[YMWDHS])+$)"
    r"|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)-\d"
)

BEFORE = re.compile(r"(?![\[{])\D*[^\w./#-](?=\d)")
"""What is before a number, up to a blank or a sign; what joins letters and digits of a code is no such sign."""

IDENTIFIER = re.compile(
    r"(?i:phone|mobile|number|account|code|serial|(?:^|[\W_])(?:ids?|tel|no|nr|num|key)(?:$|[\W_\d]))|[a-z]I[dD]\b"
)
"""The names of columns whose numbers are hardly times."""


def maybe_times(column: Column, codes: NDArray[np.float64]) -> list[str]:
    """A sentence on numbers that may be dates in digits, or Unix times from 2000 to 2035 and within 20 years."""
    # A zero is no time, and may be meant as a gap.
    known = codes[codes > 0]
    if type(column) is not Number or known.min(initial=np.inf) < 1e7:
        return []
    known = np.unique(known)
    texts = np.array([word(number) for number in known[:: len(known) // 1000 + 1].tolist()], dtype=object)
    date = Date.of(column.name, texts.tolist()) if len(texts) >= 5 else None
    if date is None:
        return []
    days = date.of_texts(texts)
    within = days[0] >= 10_957 and days[-1] < 23_741 and 1 < days[-1] - days[0] < 7305
    if date.form == UNIX and (IDENTIFIER.search(column.name) or not within):
        return []
    time, adds = str(np.datetime64(int(days[0] * 1440), "m")).replace("T", " "), "weekday and hour"
    time, adds = (time, adds) if (days % 1.0).any() else (time[:10], "weekday")
    kind = f"write --kind {quote(f'{column.name}=date')}, which adds its {adds}."
    return [f"Column {column.name!r} is read as numbers. If {texts[0]} is {time}, {kind}"]


def doubts(column: Column, cells: Cells, missing: Sequence[str]) -> list[str]:
    """Sentences on a column that may be read in another way."""
    if not isinstance(cells, Texts):
        return []
    words, begin = cells.without({*WORDS, *column.missing}), f"Column {column.name!r} is read as"
    notes = list[str]()
    if isinstance(column, Number | Category) and are_codes(words):
        as_words, code = isinstance(column, Category), next(text for text in words if text[0] == "0")
        kinds = ("words", "numbers", "number") if as_words else ("numbers", "words", "category")
        option = f"--kind {quote(f'{column.name}={kinds[2]}')}"
        notes = [f"{begin} {kinds[0]}, and {code} in it begins with 0. If these are {kinds[1]}, write {option}."]
    elif isinstance(column, Category):
        return _stray_words(column.name, f"{begin} text: it holds", column.words) or _parts(column, cells)
    gaps = [text for text in column.missing if text not in missing]
    what = "dates" if isinstance(column, Date) else "words" if isinstance(column, Category) else "numbers"
    notes += [f"{begin} {what}, and {some(gaps)} in it as a gap."] if gaps else []
    if isinstance(column, Date):
        texts = np.array(words, dtype=object)
        if others := [ORDERS[one.form[1]][1] for one in column.orders(texts) if one != column]:
            aside = f"If {' or '.join(others)} come first, write them as 2024-12-31."
            notes.append(f"{begin} {ORDERS[column.form[1]][0]}: no date in it tells the order. {aside}")
        if column.until:
            last = int(np.argmax(replace(column, until="").of_texts(texts)))
            year = str(column.of_texts(texts)[last].astype("M8[D]"))[:4]
            aside = f"If it is in {int(year) + 100}, write years with four digits."
            notes.append(f"{begin} dates up to {column.until}, and {shown(words[last])} is in {year}. {aside}")
    if isinstance(column, Number):
        mark, call = (".", "point") if all(map(GROUPED.fullmatch, words)) else (",", "comma")
        decimal, marked = column.decimal == mark, sorted(text for text in words if mark in text)
        # If all numbers have a point, they are decimals.
        sure = call == "point" and decimal and len(marked) == len(words) and re.search(CURRENCY, words[0]) is None
        marked = [] if sure else marked
        parted = [found[1] for text in marked if (found := written(text)) is not None and mark in found[1]]
        # Of three digits behind each one nobody can tell.
        if parted and all(map(THOUSANDS.fullmatch, parted)):
            how = f"with a decimal {call}" if decimal else f"with {call}s between thousands"
            option = "a fourth digit" if isinstance(column, Cost) else f"--kind {quote(f'{column.name}=number')}"
            aside = "a point" if mark == "," else option
            aside = "parts thousands, take it out" if decimal else f"is a decimal one, write {aside}"
            notes.append(f"{begin} numbers {how}. If the {call} of {shown(parted[0])} {aside}.")
    return notes


def _parts(column: Category, cells: Texts) -> list[str]:
    """A sentence on words of several parts, most of which are there once, so that only their parts tell anything."""
    rows, words = int((~column.gaps(cells.values))[cells.places].sum()), len(column.words)
    if not max(SEVERAL, rows / 2) < words < rows or 2 * sum(map(bool, map(LISTED.match, column.words))) <= words:
        return []
    aside = f"If their parts matter, write --kind {quote(f'{column.name}=text')}, which counts their words"
    begin = f"Column {column.name!r} is read as words like {shown(column.words[0])}, most of which are there once."
    return [f"{begin} {aside}, or give each part a column."]


def _stray_words(name: str, begin: str, words: Sequence[str]) -> list[str]:
    """A sentence on a column of text that may be one of numbers or dates."""
    # A thousand of the words show what they are.
    every, words = words, words[:: 1 + len(words) // 1000]
    middle = words[len(words) // 2]
    date = None if is_number(middle) else Date.of("", [middle])

    def odd_ones(texts: Sequence[str]) -> list[str]:
        if date is None:
            return [text for text in texts if not is_number(text) and Number.of("", [text]) is None]
        days = date.of_texts(np.array(texts, dtype=object))
        return [text for text, is_odd in zip(texts, np.isnan(days), strict=True) if is_odd]

    strays = odd_ones(words)
    few = len(strays) <= FEW * len(words)
    strays = odd_ones(every) if few else strays
    if date is None:
        units = [found[2] for text in words if (found := written(text)) is not None]
        if not strays and not any(unit[:1].isalpha() for unit in units):
            text = next((text for text in words if not is_number(text)), words[0])
            aside = "with nothing between thousands, and with the same unit as the others."
            return [f"{begin} {shown(text)}. If that is a number, write it with a decimal point, {aside}"]
    if few and 0 < len(strays) <= FEW * len(every):
        what = "number" if date is None else "time" if date.clock else "date"
        be, a, s, it = ("that is a", "a ", "", "it") if len(strays) == 1 else ("these are", "", "s", "them")
        begin, options = f"{begin} {some(strays)} among its {what}s. If {be}", as_options(strays)
        if not any(map(DIGIT.search, strays)):
            return [f"{begin} gap{s}, write {options}."]
        # A time of day is below 24:00, a duration may be longer.
        how = "and the others as numbers" if what == "time" else "like the others"
        return [f"{begin} {what}{s}, write {it} {how}; if {a}gap{s}, {options}."]
    # Words of codes are many.
    few = len({head[0] for text in words if (head := BEFORE.match(text))}) <= 3
    like = [text for text in words if DATED.match(text) or (few and BEFORE.match(text))]
    if len(words) > SEVERAL and len(like) > (1.0 - FEW) * len(words):
        aside = "If these are dates or numbers, write them as 1234.5, 2024-12-31 or, below 24:00, 17:05"
        odd_one = next((text for text in like if not is_number(text)), like[0])
        return [f"{begin} words like {shown(odd_one)}. {aside}; if not, --kind {quote(f'{name}=category')}."]
    return []
