"""Values of bags as users give them: for all bags, by the id of a bag, by bag in sorted order, or by row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Ints, Values
from setwise.core.checks import shown
from setwise.core.given import refuse_masked, refuse_sparse
from setwise.estimators.target import as_ids, is_missing


@final
@dataclass(frozen=True, eq=False)
class Bagging:
    """Which row is in which bag.

    Attributes
    ----------
    ids : (bags,) the sorted distinct ids
    owners : (n,) the number of the bag of each row
    sizes : (bags,) the number of rows of each bag
    """

    ids: NDArray[Any]
    owners: Ints
    sizes: Ints

    @classmethod
    def of(cls, groups: Any, n: int) -> "Bagging":
        """The bags of ``groups``, ids (n,); None makes all rows one bag, whose id is 0."""
        if groups is None:
            return cls(np.zeros(1, dtype=np.int64), np.zeros(n, dtype=np.int64), np.array([n]))
        owners = as_ids(groups, n)
        first = np.unique(owners, return_index=True)[1]
        given = np.asarray(groups)
        return cls(given[first], owners, np.bincount(owners))

    def __len__(self) -> int:
        return len(self.ids)

    def name(self, b: int) -> str:
        """The id of a bag, for a sentence."""
        return repr([self.ids[b], *_plain(self.ids[b])][-1])


def by_bag(values: Any, name: str, bags: Bagging, wide: bool = False) -> Values:
    """One number for each bag, (bags,), or several, (bags, k); NaN where nothing is known.

    Parameters
    ----------
    values : one value for all bags, a mapping from ids to values, or an array with one for each bag, in the sorted
        order of the ids, or for each row, equal within a bag. None and NaN are not known. The ids of a mapping may
        have no rows here, as in cross-validation, but not all of them
    wide : whether a value is several numbers; otherwise it is one number, or several if the array says so
    """
    # A column of pandas with gaps is no masked array, though it looks like one.
    if isinstance(values, np.ma.MaskedArray):
        refuse_masked(values, name)
    refuse_sparse(values, name)
    index = getattr(values, "index", None)
    if not callable(index) and index is not None and sorted(map(str, index)) == sorted(map(str, bags.ids)):
        # A series of pandas with the ids as its index is a mapping.
        values = dict(zip(index, np.asarray(values, dtype=object), strict=True))
    if isinstance(values, Mapping):
        return _numbers(_looked_up(values, name, bags), name)
    array = _numbers(values, name)
    if array.ndim == int(wide):
        return np.broadcast_to(array, (len(bags), *array.shape)).copy()
    n, count = len(bags.owners), len(bags)
    if not 1 <= array.ndim <= 2 or len(array) not in (n, count):
        raise ValueError(
            f"{name} must be one value for all bags, a mapping from ids, or an array with one value for each of "
            f"{count} bags or {n} rows; got shape {array.shape}."
        )
    if len(array) != n:
        return array
    first = np.unique(bags.owners, return_index=True)[1]
    found = array[first]
    other = (found[bags.owners] != array) & ~(np.isnan(found[bags.owners]) & np.isnan(array))
    if other.any():
        row = int(np.argwhere(other)[0][0])
        raise ValueError(
            f"{name} must be equal for all rows of a bag; bag {bags.name(int(bags.owners[row]))} has two values."
        )
    if count == n and not np.array_equal(found, array, equal_nan=True):
        raise ValueError(
            f"{name} may be values by row or by sorted id here, since each bag has one row: give a mapping from ids."
        )
    return found


def _looked_up(values: Mapping[Any, Any], name: str, bags: Bagging) -> list[Any]:
    """The value of each bag in a mapping, None where it has none."""
    # NumPy's ids are looked up as themselves and as plain numbers or texts.
    keys = [next((key for key in (one, *_plain(one)) if key in values), None) for one in bags.ids]
    if values and all(key is None for key in keys):
        raise ValueError(
            f"{name} must map ids of bags to values; got {shown(list(values)[:3])}, and none of them is in groups."
        )
    found: list[Any] = [None if key is None else values[key] for key in keys]
    widths = {_width(one, name) for one in found} - {0}
    if len(widths) > 1:
        raise ValueError(f"{name} must have as many numbers for each bag; got {sorted(widths)} of them.")
    blank = [None] * widths.pop() if widths else None
    return [blank if blank is not None and _width(one, name) == 0 and is_missing(one) else one for one in found]


def _width(value: Any, name: str) -> int:
    """How many numbers the value of a bag is, 0 for one that is no sequence."""
    try:
        return len(value) if np.ndim(value) == 1 else 0
    except ValueError:
        raise ValueError(f"{name} must map ids to numbers or to flat sequences of them; got {shown(value)}.") from None


def _plain(one: Any) -> list[Any]:
    """An id as a plain Python value, if it is one of NumPy."""
    return [one.item()] if isinstance(one, np.generic) else []


def _numbers(values: Any, name: str) -> Values:
    """Float64 numbers, NaN where a value is missing."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            flat = [np.nan if is_missing(value) else value for value in array.ravel().tolist()]
            if any(isinstance(value, str | bool | np.bool_) for value in flat):
                raise TypeError
            array = np.array(flat, dtype=np.float64).reshape(array.shape)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{name} must hold numbers, and None or NaN for what is not known; got {shown(values)}."
        ) from None
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold numbers, and None or NaN for what is not known; got {shown(values)}.")
    numbers = array.astype(np.float64)
    if np.isinf(numbers).any():
        raise ValueError(f"{name} must be finite; got inf.")
    return numbers
