"""Values of bags as users give them, and the range of numbers of positives of each bag that follows from all of them.

A value is for all bags, by the id of a bag, by bag in sorted order, or by row.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Bools, Ints, Values, refuse_masked, refuse_sparse, shown
from setwise.core.pages import BAGS
from setwise.estimators.sets import as_ids, is_missing
from setwise.kernels.jit import outside


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

    @property
    def order(self) -> Ints:
        """(n,) the rows, bag by bag, in their own order inside of a bag."""
        return np.argsort(self.owners, kind="stable")

    @property
    def offsets(self) -> Ints:
        """(bags + 1,) where each bag begins in that order, and n."""
        return np.concatenate(([0], np.cumsum(self.sizes))).astype(np.int64)

    def name(self, b: int) -> str:
        """The id of a bag, for a sentence."""
        return repr([self.ids[b], *_plain(self.ids[b])][-1])


def by_bag(values: Any, name: str, bags: Bagging, wide: bool = False, classes: int | None = None) -> Values:
    """One number for each bag, (bags,), or several, (bags, k); NaN where nothing is known.

    Parameters
    ----------
    values : one value for all bags, a mapping from ids to values, or an array with one for each bag, in the sorted
        order of the ids, or for each row, equal within a bag. A series of pandas that has the ids as its index is a
        mapping. None and NaN are not known. The ids of a mapping may have no rows here, as in cross-validation, but
        not all of them; a warning tells where there are bags without a value too
    wide : whether a value is two numbers, and never one; otherwise it is one number, or several if the array says so
    classes : k, if an array (k,) may be the value of all bags, which (1, k) is anyway
    """
    # A column of pandas with gaps is no masked array, though it looks like one.
    if isinstance(values, np.ma.MaskedArray):
        refuse_masked(values, name)
    refuse_sparse(values, name)
    columns = getattr(values, "columns", None)
    if columns is not None and not wide and list(columns) != list(range(len(columns))):
        raise ValueError(
            f"{name} must be an array, whose columns are in the order of the classes; got a table with the columns "
            f"{shown(list(columns)[:3])}: give its to_numpy() with the columns in that order."
        )
    if _has_ids(values, bags):
        return _by_index(values, name, bags, wide)
    if isinstance(values, Mapping):
        if values and not any(_key(one, values) for one in bags.ids):
            raise ValueError(
                f"{name} must map ids of bags to values; got {shown(list(values)[:3])}, and none of them is in groups."
            )
        _warn_of_strangers(values, name, bags)
        return _looked_up(values, name, bags, wide)
    n, count = len(bags.owners), len(bags)
    array = _numbers(_listed(values, name, wide, (n, count)), name)
    if array.ndim == int(wide):
        return np.broadcast_to(array, (count, *array.shape)).copy()
    if not wide and array.ndim == 1 and len(array) == classes and classes not in (n, count):
        array = array[None]
    if not wide and array.ndim == 2 and len(array) == 1:
        return np.repeat(array, count, axis=0)
    if not 1 <= array.ndim <= 2 or len(array) not in (n, count):
        raise ValueError(
            f"{name} must be one value for all bags, a mapping from ids, or an array with one value for each of "
            f"{count} bags or {n} rows; got shape {array.shape}{_HINT if not wide and array.ndim == 1 else ''}."
        )
    return array if len(array) != n else _by_row(array, name, bags, _index(values) not in (None, list(range(n))))


def _warn_of_strangers(values: Mapping[Any, Any], name: str, bags: Bagging) -> None:
    """Warn where bags have no value and ids of the mapping have no bag: one of the two may be misspelled."""
    keys = [_key(one, values) for one in bags.ids]
    without, known = [b for b, key in enumerate(keys) if not key], {key[0] for key in keys if key}
    strangers = [key for key in values if key not in known]
    if without and strangers:
        warnings.warn(
            f"{name} has no value for {len(without)} of {len(bags)} bags, such as {bags.name(without[0])}, which count "
            f"as unknown, and {len(strangers)} of its {len(values)} ids have no bag, such as {strangers[0]!r}: check "
            f"the spelling, or give None for bags of which nothing is known.{BAGS.see}",
            UserWarning,
            stacklevel=outside(),
        )


_HINT = " (write [[...]] if these are the numbers of several classes, for all bags)"


def _index(values: Any) -> list[Any] | None:
    """The index of a series or a table of pandas."""
    index = getattr(values, "index", None)
    return None if callable(index) or index is None else list(index)


def _has_ids(values: Any, bags: Bagging) -> bool:
    """Whether this is a series or a table that is read by its index: one for bags with an index of its own."""
    index = _index(values)
    if index is None or len(index) != len(bags):
        return False
    of_bags = len(bags) != len(bags.owners) and index != list(range(len(index)))
    return of_bags or sorted(map(str, index)) == sorted(map(str, bags.ids))


def _by_index(values: Any, name: str, bags: Bagging, wide: bool) -> Values:
    """The values of a series with the ids as its index, which must not be those of the rows in another order."""
    given = list(np.asarray(values, dtype=object))
    places = values.index.get_indexer(bags.ids) if values.index.is_unique else np.full(len(bags), -1)
    if (places < 0).any():
        raise ValueError(
            f"{name} must have the ids of bags as its index, since a Series is read by its index; got "
            f"{shown(list(values.index)[:3])}, where groups has {shown(bags.ids[places < 0][:3].tolist())}: make both "
            "of one type, and each id once."
        )
    found = _numbers(_evened([given[place] for place in places], name, wide), name)
    if len(bags) == len(bags.owners):
        by_row = _looked_up(dict(zip(bags.ids[bags.owners], given, strict=True)), name, bags, wide)
        if not np.array_equal(found, by_row, equal_nan=True):
            raise ValueError(
                f"{name} may be values by row or by its index here, since each bag has one row and the index of the "
                "Series holds the ids: give a mapping from ids, as its to_dict() if the index is meant."
            )
    return found


def _by_row(array: Values, name: str, bags: Bagging, sure: bool) -> Values:
    """The value of each bag where each of its rows has it; ``sure`` if the order cannot be that of the ids."""
    first = np.unique(bags.owners, return_index=True)[1]
    found = array[first]
    other = (found[bags.owners] != array) & ~(np.isnan(found[bags.owners]) & np.isnan(array))
    if other.any():
        row = int(np.argwhere(other)[0][0])
        raise ValueError(
            f"{name} must be equal for all rows of a bag; bag {bags.name(int(bags.owners[row]))} has two values."
        )
    if not sure and len(bags) == len(array) and not np.array_equal(found, array, equal_nan=True):
        raise ValueError(
            f"{name} may be values by row or by sorted id here, since each bag has one row: give a mapping from ids."
        )
    return found


def _looked_up(values: Mapping[Any, Any], name: str, bags: Bagging, wide: bool) -> Values:
    """The value of each bag in a mapping, NaN where it has none."""
    keys = [_key(one, values) for one in bags.ids]
    found = [values[key[0]] if key else None for key in keys]
    return _numbers(_evened(found, name, wide), name)


def _key(one: Any, values: Mapping[Any, Any]) -> list[Any]:
    """The key of an id in a mapping, in a list that is empty if there is none."""
    # NumPy's ids are looked up as themselves and as plain numbers or texts.
    return [key for key in (one, *_plain(one)) if key in values][:1]


def _listed(values: Any, name: str, wide: bool, lengths: tuple[int, int]) -> Any:
    """Values that may be given as a list of numbers, or of flat sequences and None."""
    try:
        array = np.asarray(values)
    except ValueError:
        # A list of sequences and None is ragged.
        array = None
    if not isinstance(values, list | tuple) and (array is None or array.dtype.kind != "O" or array.ndim != 1):
        return values
    if array is not None and array.dtype.kind != "O" and not wide:
        return array
    return _evened(list(values), name, wide and len(values) in lengths)


def _evened(found: list[Any], name: str, wide: bool) -> list[Any]:
    """The values with as many None for one that is missing as the others have numbers, two if ``wide`` and all are."""
    widths = {_width(one, name) for one in found} - {0}
    if len(widths) > 1:
        raise ValueError(f"{name} must have equally many numbers for each bag; got {sorted(widths)} of them.")
    gaps = [np.ndim(one) == 0 and is_missing(one) for one in found]
    width = widths.pop() if widths else 2 if wide and all(gaps) else 0
    blank = [None] * width if width else None
    return [blank if gap else one for one, gap in zip(found, gaps, strict=True)]


def _width(value: Any, name: str) -> int:
    """How many numbers the value of a bag is, 0 for one that is no sequence."""
    try:
        return len(value) if np.ndim(value) == 1 else 0
    except ValueError:
        raise ValueError(f"{name} must hold numbers, or flat sequences of them; got {shown(value)}.") from None


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
        if array.dtype.kind not in "iuf":
            raise TypeError
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{name} must hold numbers, and None or NaN for unknown values; got {shown(values)}."
        ) from None
    numbers = array.astype(np.float64)
    if np.isinf(numbers).any():
        raise ValueError(f"{name} must be finite; got inf.")
    return numbers


ROUNDING = 1e-9
"""A share times the size of its bag is a whole number if it is one up to this factor of the size."""

TOTAL = 1e-6
"""Shares of all classes may miss the sum 1 by so much."""


@final
@dataclass(frozen=True, eq=False)
class Ranges:
    """Values of bags as they were given, checked: (bags,) each, or (bags, k) with a column for each class.

    Attributes
    ----------
    bags : the rows of each bag
    values : those that were given, by name, NaN where nothing is known: "counts", "proportions" and "at_least" are
        numbers or shares of positives, and "between" (bags, 2) the least and the largest number
    """

    bags: Bagging
    values: dict[str, Values]

    @classmethod
    def of(
        cls, bags: Bagging, counts: Any, proportions: Any, at_least: Any, between: Any, classes: int | None = None
    ) -> "Ranges":
        """The values that a user gives, for so many classes if that is known; None says nothing."""
        user = {"counts": counts, "proportions": proportions, "at_least": at_least, "between": between}
        found = {
            name: by_bag(given, name, bags, name == "between", classes if name in ("counts", "proportions") else None)
            for name, given in user.items()
            if given is not None
        }
        pairs = found.get("between")
        if pairs is not None and (pairs.ndim != 2 or pairs.shape[1] != 2):
            raise ValueError(f"between must be pairs (low, high); got values of shape {pairs.shape[1:]}.")
        ranges = cls(bags, found)
        for name, given in found.items():
            if name == "proportions":
                ranges._check_shares(given)
            else:
                ranges._check_whole(name, given)
            if name in ("counts", "proportions") and given.ndim == 2:
                ranges._check_sums(name, given)
        if "at_least" in found and found["at_least"].ndim > 1:
            raise ValueError("at_least must be one number for each bag; it is for two classes.")
        return ranges

    @property
    def width(self) -> int | None:
        """The number of columns of the values of several classes, or None if there are none."""
        widths = {one.shape[1] for name, one in self.values.items() if name != "between" and one.ndim == 2}
        if len(widths) > 1:
            raise ValueError(f"counts and proportions must have equally many columns; got {sorted(widths)}.")
        return widths.pop() if widths else None

    @property
    def empty(self) -> bool:
        """Whether nothing is known of any bag."""
        if not self.values:
            return True
        low, high = self.of_class(1, self.width or 2)
        return self.width is None and bool(((low == 0) & (high == self.bags.sizes)).all())

    def warn_of_zeros(self, labeled: Bools) -> None:
        """Warn of bags with ``at_least`` of 0 and nothing else known; ``labeled`` (n,) are rows with a label."""
        zero = self.values.get("at_least", np.nan) == 0
        if not np.any(zero):
            return
        low, high = self.of_class(1, 2)
        some = np.bincount(self.bags.owners[labeled], minlength=len(self.bags)) > 0
        count = int((zero & (low == 0) & (high == self.bags.sizes) & ~some).sum())
        if count:
            warnings.warn(
                f"at_least=0 says nothing of a bag, so {count} of {len(self.bags)} bags are not used; for bags without "
                f"positives give counts=0 and None in at_least.{BAGS.see}",
                UserWarning,
                stacklevel=outside(),
            )

    def of_class(self, column: int, classes: int) -> tuple[Ints, Ints]:
        """The least and the largest number of rows of a class in each bag, (bags,) each."""
        sizes = self.bags.sizes
        low, high = np.zeros(len(sizes), dtype=np.int64), sizes.astype(np.int64)
        for name, given in self.values.items():
            if classes > 2 and (given.ndim == 1 or name == "between"):
                raise ValueError(
                    f"{name} must say of which of {classes} classes it is: give counts or proportions as (bags, "
                    f"{classes}), with a column for each class, or as [[...]] for all bags."
                )
            least, most = self._bounds(name, given, column)
            before = low.copy(), high.copy()
            low, high = np.maximum(low, least), np.minimum(high, most)
            if (low > high).any():
                b = int(np.flatnonzero(low > high)[0])
                raise ValueError(
                    f"{name} must agree with what else is known of bag {self.bags.name(b)}: it says "
                    f"{span(least[b], most[b])} positives, and the others {span(before[0][b], before[1][b])}."
                )
        return low, high

    def _bounds(self, name: str, given: Values, column: int) -> tuple[Ints, Ints]:
        """The range that one argument gives a class in each bag, all numbers where it says nothing."""
        sizes = self.bags.sizes
        if name == "between":
            low, high = given[:, 0], given[:, 1]
        elif name == "at_least":
            low, high = given, np.full(len(sizes), np.nan)
        elif name == "counts":
            low, high = _of_column(given, column, sizes.astype(np.float64))
        else:
            least, most = (share * sizes for share in _of_column(given, column, np.ones(len(sizes))))
            low = np.where(_whole(least, sizes), np.rint(least), np.floor(least))
            high = np.where(_whole(most, sizes), np.rint(most), np.ceil(most))
        from_none = np.where(np.isnan(low), 0.0, low).astype(np.int64)
        return from_none, np.where(np.isnan(high), sizes, high).astype(np.int64)

    def _check_whole(self, name: str, given: Values) -> None:
        sizes = self.bags.sizes if given.ndim == 1 else self.bags.sizes[:, None]
        odd = (given < 0) | (given != np.floor(given)) & ~np.isnan(given) | (given > sizes)
        if odd.any():
            b = int(np.argwhere(odd)[0][0])
            raise ValueError(
                f"{name} must hold whole numbers from 0 to the number of rows of the bag; bag {self.bags.name(b)} of "
                f"{self.bags.sizes[b]} rows has {given[odd][0]:g}."
            )
        if name == "between" and (given[:, 0] > given[:, 1]).any():
            b = int(np.flatnonzero(given[:, 0] > given[:, 1])[0])
            raise ValueError(
                f"between must be pairs (low, high) with low <= high; bag {self.bags.name(b)} has {given[b, 0]:g} and "
                f"{given[b, 1]:g}."
            )

    def _check_shares(self, given: Values) -> None:
        odd = (given < 0) | (given > 1)
        if odd.any():
            name = self.bags.name(int(np.argwhere(odd)[0][0]))
            raise ValueError(f"proportions must be shares in [0, 1]; bag {name} has {given[odd][0]:g}.")

    def _check_sums(self, name: str, given: Values) -> None:
        """All classes together must make up the bag."""
        if given.shape[1] < 2:
            raise ValueError(f"{name} must have a column for each of two classes or more; got {given.shape[1]}.")
        wanted = self.bags.sizes if name == "counts" else np.ones(len(self.bags))
        total, gaps = np.nansum(given, axis=1), np.asarray(np.isnan(given).any(axis=1))
        excess = np.where(gaps, total - wanted, np.abs(total - wanted))
        over = excess > (0.0 if name == "counts" else TOTAL)
        if over.any():
            b = int(np.flatnonzero(over)[0])
            known, most = (" that are known", "at most ") if gaps[b] else (" of all classes", "")
            raise ValueError(
                f"{name}{known} must add up to {most}{wanted[b]:g} in bag {self.bags.name(b)}; got {total[b]:g}."
            )


def span(low: int, high: int) -> str:
    """The numbers from ``low`` to ``high``, in words."""
    return f"{low}" if low == high else f"{low} to {high}"


def _whole(numbers: Values, sizes: Ints) -> Bools:
    """Which numbers are whole, up to rounding."""
    return np.asarray(np.abs(numbers - np.rint(numbers)) <= ROUNDING * sizes)


def _of_column(given: Values, column: int, totals: Values) -> tuple[Values, Values]:
    """The least and the largest value of a class, (bags,) each, of values (bags,) or of columns with sums (bags,).

    An unknown column is what the known ones leave of the sum, or at most that where there are others.
    """
    if given.ndim == 1:
        return given, given
    unknown, value = np.isnan(given), given[:, column]
    rest = np.maximum(totals - np.nansum(given, axis=1), 0.0)
    least = np.where(unknown.sum(axis=1) == 1, rest, 0.0)
    return np.where(unknown[:, column], least, value), np.where(unknown[:, column], rest, value)
