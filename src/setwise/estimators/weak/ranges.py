"""The range of numbers of positives of each bag, from all that is said of it."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from setwise.core.checks import Bools, Ints, Values
from setwise.estimators.weak.bag_values import Bagging, by_bag

ROUNDING = 1e-9
"""A share times the size of its bag is a whole number if it is one up to this factor of the size."""

TOTAL = 1e-6
"""Shares of all classes may miss the sum 1 by so much."""


@final
@dataclass(frozen=True, eq=False)
class Ranges:
    """Values of bags as they were given, checked: (bags,) each, or (bags, k) with a column for each class, or None.

    Attributes
    ----------
    bags : the rows of each bag
    counts, proportions, at_least : numbers or shares of positives, NaN where nothing is known
    between : (bags, 2) the least and the largest number
    """

    bags: Bagging
    counts: Values | None
    proportions: Values | None
    at_least: Values | None
    between: Values | None

    @classmethod
    def of(
        cls, bags: Bagging, counts: Any, proportions: Any, at_least: Any, between: Any, classes: int | None = None
    ) -> "Ranges":
        """The values that a user gives, for so many classes if that is known; None says nothing."""
        columns = {"counts": counts, "proportions": proportions}
        found = {name: None if v is None else by_bag(v, name, bags, classes=classes) for name, v in columns.items()}
        found["at_least"] = None if at_least is None else by_bag(at_least, "at_least", bags)
        pairs = None if between is None else by_bag(between, "between", bags, wide=True)
        if pairs is not None and (pairs.ndim != 2 or pairs.shape[1] != 2):
            raise ValueError(f"between must be pairs (low, high); got values of shape {pairs.shape[1:]}.")
        ranges = cls(bags, between=pairs, **found)
        for name in ("counts", "at_least", "between"):
            ranges._check_whole(name)
        ranges._check_shares()
        if ranges.at_least is not None and ranges.at_least.ndim > 1:
            raise ValueError("at_least must be one number for each bag; it is for two classes.")
        for name in ("counts", "proportions"):
            ranges._check_sums(name)
        return ranges

    @property
    def width(self) -> int | None:
        """The number of columns of the values of several classes, or None if there are none."""
        widths = {one.shape[1] for one in (self.counts, self.proportions) if one is not None and one.ndim == 2}
        if len(widths) > 1:
            raise ValueError(f"counts and proportions must have as many columns; got {sorted(widths)}.")
        return widths.pop() if widths else None

    @property
    def empty(self) -> bool:
        """Whether nothing is known of any bag."""
        sizes = self.bags.sizes
        if all(one is None for one in (self.counts, self.proportions, self.at_least, self.between)):
            return True
        low, high = self.of_class(1, self.width or 2)
        return self.width is None and bool(((low == 0) & (high == sizes)).all())

    def of_class(self, column: int, classes: int) -> tuple[Ints, Ints]:
        """The least and the largest number of rows of a class in each bag, (bags,) each."""
        sizes = self.bags.sizes
        low, high = np.zeros(len(sizes), dtype=np.int64), sizes.astype(np.int64)
        for name in ("counts", "proportions", "at_least", "between"):
            given = getattr(self, name)
            if given is None:
                continue
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
                    f"{name} must agree with what else is known of bag {self.bags.name(b)}: it says {least[b]} to "
                    f"{most[b]} positives, and the others {before[0][b]} to {before[1][b]}."
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

    def _check_whole(self, name: str) -> None:
        given = getattr(self, name)
        if given is None:
            return
        sizes = self.bags.sizes if given.ndim == 1 else self.bags.sizes[:, None]
        odd = (given < 0) | (given != np.floor(given)) & ~np.isnan(given) | (given > sizes)
        if odd.any():
            b = int(np.argwhere(odd)[0][0])
            raise ValueError(
                f"{name} must hold whole numbers from 0 to the number of rows of the bag; bag {self.bags.name(b)} of "
                f"{self.bags.sizes[b]} rows has {np.atleast_1d(given[b])[np.atleast_1d(odd[b])][0]:g}."
            )
        if name == "between" and (given[:, 0] > given[:, 1]).any():
            b = int(np.flatnonzero(given[:, 0] > given[:, 1])[0])
            raise ValueError(
                f"between must be pairs (low, high) with low <= high; bag {self.bags.name(b)} has {given[b, 0]:g} and "
                f"{given[b, 1]:g}."
            )

    def _check_shares(self) -> None:
        given = self.proportions
        if given is not None and ((given < 0) | (given > 1)).any():
            b = int(np.argwhere((given < 0) | (given > 1))[0][0])
            worst = np.atleast_1d(given[b])
            raise ValueError(
                f"proportions must be shares in [0, 1]; bag {self.bags.name(b)} has "
                f"{worst[(worst < 0) | (worst > 1)][0]:g}."
            )

    def _check_sums(self, name: str) -> None:
        """All classes together must make up the bag."""
        given = getattr(self, name)
        if given is None or given.ndim == 1:
            return
        if given.shape[1] < 2:
            raise ValueError(f"{name} must have a column for each of two classes or more; got {given.shape[1]}.")
        wanted = self.bags.sizes if name == "counts" else np.ones(len(self.bags))
        total, gaps = np.nansum(given, axis=1), np.isnan(given).any(axis=1)
        excess = np.where(gaps, total - wanted, np.abs(total - wanted))
        over = excess > (0.0 if name == "counts" else TOTAL)
        if over.any():
            b = int(np.flatnonzero(over)[0])
            known, most = (" that are known", "at most ") if gaps[b] else (" of all classes", "")
            raise ValueError(
                f"{name}{known} must add up to {most}{wanted[b]:g} in bag {self.bags.name(b)}; got {total[b]:g}."
            )


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
