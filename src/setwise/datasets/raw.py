"""Features of a raw table: columns of numbers, dates, words and truth values, with gaps, as one matrix of numbers."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import shown
from setwise.datasets.columns import Category, Column, Date, DecimalComma, column_of, is_number
from setwise.datasets.missing import WORDS
from setwise.datasets.tables import Columns

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
        found = None if column is None else column.codes(cells, table.path.name, table.place)
        why = _useless(column, found)
        if not name:
            _refuse_unless_numbered(table, column, found)
            continue
        if column is None or found is None or why:
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


def _useless(column: Column | None, codes: NDArray[np.float64] | None) -> str:
    """Why a column says nothing about other rows; the empty text if it may say something."""
    if column is None or codes is None:
        return "it holds nothing"
    # NaN is neither the largest nor the smallest, so a gap beside one value is a difference.
    if codes.min() == codes.max():
        return "it holds the same value in every row"
    known = codes[~np.isnan(codes)]
    if isinstance(column, Category) and 1 < len(known) == len(column.words):
        return LIKE_AN_ID
    return ""


def _refuse_unless_numbered(table: Columns, column: Column | None, codes: NDArray[np.float64] | None) -> None:
    """Raise ValueError unless the column without a name holds nothing, or counts the rows from 0 or 1 on."""
    if column is None or codes is None:
        return
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
