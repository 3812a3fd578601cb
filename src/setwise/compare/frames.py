"""Data frames of pandas: the kinds of their columns, and a frame of the rows of a file for a model that reads one."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Bools, as_text, shown
from setwise.datasets.columns import WORDS, Category, Cells, Column, Columns, Number, Truth, as_texts, optional, some


@final
@dataclass(frozen=True)
class FreeText(Column):
    """A column of text that a model reads as it stands; the number of a text only tells it from other ones.

    Attributes
    ----------
    known : words that stand for a gap in other tables, and for themselves here
    """

    known: tuple[str, ...] = ()

    kind: ClassVar[str] = "text"

    def __post_init__(self) -> None:
        as_text(self.name, "name")
        odd = [text for text in self.known if text not in WORDS]
        if not isinstance(self.known, tuple) or odd:
            raise ValueError(f"known must be a tuple of words for gaps, as ('?',); got {shown(self.known)}.")

    def gaps(self, texts: NDArray[np.object_]) -> Bools:
        """Whether each text is a gap, (k,)."""
        return np.array([text in WORDS and text not in self.known for text in texts.tolist()], dtype=np.bool_)

    def of_texts(self, texts: NDArray[np.object_]) -> NDArray[np.float64]:
        """A number of 48 bits for each text."""
        hashes = (blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).digest() for text in texts.tolist())
        return np.array([float(int.from_bytes(one)) for one in hashes], dtype=np.float64)


def columns_of(table: Any, names: Sequence[str]) -> tuple[Column, ...]:
    """The columns of a data frame with these names, in this order; ValueError for one that a file does not hold so."""
    pandas = optional("pandas", "to read a table")
    if not isinstance(table, pandas.DataFrame):
        raise TypeError(f"table must be the data frame of pandas that the model was fitted to; got {shown(table)}.")
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise ValueError(f"table must have the columns that the model was fitted to; it has no {some(missing)}.")
    if not len(table):
        raise ValueError("table must have one row or more; got none.")
    return tuple(_column_of(name, table[name], pandas) for name in names)


def _column_of(name: str, held: Any, pandas: Any) -> Column:
    """The kind of one column."""
    types, there = pandas.api.types, held[held.notna()]
    if types.is_bool_dtype(held.dtype):
        return Truth(name)
    if types.is_numeric_dtype(held.dtype) and not types.is_complex_dtype(held.dtype):
        return Number(name)
    words = held.cat.categories if isinstance(held.dtype, pandas.CategoricalDtype) else there.unique()
    texts = [text for text in words.tolist() if isinstance(text, str)]
    if len(texts) < len(words) or any(cell is None for cell in held.tolist()):
        odd = next((one for one in words.tolist() if not isinstance(one, str)), None)
        wanted = "numbers, truth values, or text with NaN for gaps"
        raise ValueError(f"column {name!r} of table must hold {wanted}; it holds {odd!r}.")
    # The readers of files take blanks away, and the model would not know the word again.
    blank = [text for text in texts if text != text.strip()]
    if blank:
        wanted, held_one = "texts without blanks around them, which files are read without", f"it holds {blank[0]!r}"
        raise ValueError(f"column {name!r} of table must hold {wanted}; {held_one}: strip the column and fit again.")
    if isinstance(held.dtype, pandas.CategoricalDtype):
        return Category(name, tuple(texts))
    return FreeText(name, tuple(sorted(WORDS.intersection(texts))))


def table_of(table: Any) -> Columns:
    """A data frame as the readers of files give theirs."""
    pandas = optional("pandas", "to read a table")
    if not isinstance(table, pandas.DataFrame):
        raise TypeError(f"data must be the path of a file or a data frame of pandas; got {shown(table)}.")
    types = pandas.api.types

    def cells(name: str) -> Cells:
        held = table[name]
        if types.is_bool_dtype(held.dtype) and not held.isna().any():
            return held.to_numpy(dtype=np.bool_)  # type: ignore[no-any-return]
        if types.is_numeric_dtype(held.dtype):
            return held.to_numpy(dtype=np.float64, na_value=np.nan)  # type: ignore[no-any-return]
        return as_texts(held.astype(object).where(held.notna(), "").to_numpy())

    return Columns(Path("data"), tuple(map(str, table.columns)), len(table), cells)


def frame_of(table: Columns, columns: Sequence[Column]) -> Any:
    """The data frame of these columns: numbers, with NaN for gaps, truth values, categories and texts."""
    pandas = optional("pandas", "to read a table")
    return pandas.DataFrame({column.name: _series(table, column, pandas) for column in columns})


def _series(table: Columns, column: Column, pandas: Any) -> Any:
    cells = table.cells(column.name)
    if isinstance(column, FreeText | Category):
        texts = as_texts(cells)
        values = texts.values.copy()
        if isinstance(column, FreeText):
            values[column.gaps(values)] = np.nan
            return pandas.Series(values[texts.places], dtype=object)
        # A dtype of categories has no place for other words.
        values[[text not in column.words for text in values.tolist()]] = np.nan
        return pandas.Series(pandas.Categorical(values[texts.places], categories=list(column.words)))
    numbers = column.codes(cells, table.path.name, table.place)
    return numbers.astype(np.bool_) if isinstance(column, Truth) and not np.isnan(numbers).any() else numbers
