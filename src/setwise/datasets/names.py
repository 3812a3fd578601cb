"""Names of columns, which are made on demand, and words for names and values in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final, overload

import numpy as np

from setwise.core.checks import shown


@final
@dataclass(frozen=True)
class Numbered(Sequence[str]):
    """The names ``"feature j"`` for each j in ``places``, made on demand, so that they take no memory."""

    places: range

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> "Numbered": ...

    def __getitem__(self, place: int | slice) -> "str | Numbered":
        if isinstance(place, slice):
            return Numbered(self.places[place])
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
