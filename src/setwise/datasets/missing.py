"""Missing values among labels and ids are refused, since their meaning is unknown."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
