"""How new rows differ from those on which a model was trained: empty columns, unknown words, other numbers and labels.

Every finding must matter, and must have a chance below :data:`CHANCE` where both come from one source: the tests are of
ranks and counts alone, and hold for any distribution.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import betaln
from scipy.stats import hypergeom

from setwise.compare.frames import FreeText
from setwise.compare.text import percent
from setwise.compare.twins import rounded
from setwise.core.checks import Ints, Values, as_count, shown
from setwise.datasets.columns import Category, Column, Date
from setwise.estimators.splits import row_keys

CHANCE = 1e-4
"""The chance that rows of the same source have a finding, over all tests of a file together."""

EMPTIER, UNKNOWN, OUTSIDE, MOVED, TIMES = 0.25, 0.1, 0.1, 0.5, 3.0
"""What matters: by how much the share of gaps rises, the share of unknown words, of numbers beyond all of the training,
of numbers beyond 95 % of it, and how many times the odds of a positive label change."""

TAIL = 0.05
"""The share of training rows beyond the inner limits."""

MOST = 5
"""So many columns are told; further ones are counted."""


@final
@dataclass(frozen=True, eq=False)
class TrainingRows:
    """What is known of training rows, of d columns that are dense; nothing is known of sparse ones.

    Attributes
    ----------
    rows, units : the number of rows, and that of their groups; of rows where there are no groups
    filled : (d,) int64, the number of rows in which a column is no gap
    limits : (4, d) float64, the least number of a column, those that a share of 5 % of its numbers lie below and above,
        and the largest number; 0 for a column without numbers
    words : (d,) int64, the number of distinct words of a category, and of a date how many rows have its most frequent
        time of day; 0 for other columns
    called : (p,) float64, the shares of rows that were called positive by models that did not see them, for each label;
        (0,) where they are not known
    keys : (n,) uint64, a number of each row, by which it is known again; None where they are not known
    """

    rows: int
    units: int
    filled: Ints
    limits: Values
    words: Ints
    called: Values
    keys: NDArray[np.uint64] | None = None

    def __post_init__(self) -> None:
        as_count(self.units, "units", high=as_count(self.rows, "rows"))
        d = len(self.filled) if isinstance(self.filled, np.ndarray) else -1
        shapes = {"filled": (d,), "limits": (4, d), "words": (d,), "called": (np.size(self.called),)}
        for name, shape in shapes.items():
            held, kind = getattr(self, name), "i" if name in ("filled", "words") else "f"
            if not isinstance(held, np.ndarray) or held.dtype.kind != kind or held.shape != shape:
                raise TypeError(f"{name} must be an array of the shape {shape}; got {shown(held)}.")
        keys = self.keys
        if keys is not None and (not isinstance(keys, np.ndarray) or keys.dtype != np.uint64 or keys.ndim != 1):
            raise TypeError(f"keys must be None or a uint64 array of shape (n,); got {shown(keys)}.")

    @classmethod
    def of(
        cls, X: Any, columns: Sequence[Column], groups: NDArray[Any] | None, called: Any, weights: Values | None = None
    ) -> Self:
        """From the table X, its columns or () where they have no names, groups, and labels out of fold.

        Of rows with weights, which are drawn unevenly, some are left out, so that the others are drawn evenly.
        """
        keys = np.sort(_keys(X))
        if weights is not None:
            kept = np.random.default_rng(0).random(len(weights)) < weights / weights.max()
            X, called = X[np.flatnonzero(kept)], called[kept]
        n, table = X.shape[0], np.zeros((X.shape[0], 0)) if issparse(X) else np.asarray(X)
        there = ~np.isnan(table)
        limits, words = np.zeros((4, table.shape[1])), np.zeros(table.shape[1], dtype=np.int64)
        for j in np.flatnonzero(there.any(axis=0)).tolist():
            numbers = table[there[:, j], j]
            beyond, last = int(TAIL * len(numbers)), len(numbers) - 1
            places = [0, beyond, last - beyond, last]
            limits[:, j] = np.partition(numbers, places)[places]
            if columns and isinstance(columns[j], Category):
                words[j] = len(np.unique(numbers))
            if columns and isinstance(columns[j], Date):
                words[j] = np.unique(_times(numbers), return_counts=True)[1].max()
        units = n if groups is None else len(np.unique(groups))
        shares = np.atleast_1d(np.asarray(called, dtype=np.float64).mean(axis=0))
        return cls(n, units, there.sum(axis=0), limits, words, shares, keys)

    def same(self, X: Any) -> tuple[int, bool] | None:
        """How many new rows are equal to a training row, and whether they are more than rows are by chance.

        By chance a new row is equal to a training row as often as a training row is equal to another one. None where
        the training rows are not known.
        """
        if self.keys is None:
            return None
        known, times = np.unique(self.keys, return_counts=True)
        found = int(np.isin(_keys(X), known).sum())
        return found, self._more(int(times[times > 1].sum()), len(self.keys), found, X.shape[0]) < CHANCE

    def differences(
        self, X: Any, columns: Sequence[Column], names: Sequence[str], labels: Any, classes: Sequence[str]
    ) -> list[str]:
        """Sentences on how new rows differ.

        Parameters
        ----------
        X : (m, d) or sparse, as the training rows were
        columns : as in ``of``
        names : the names of the d columns
        labels : (m,) or (m, p), the labels 0 and 1 that the model gives these rows
        classes : the names of the two labels, or of the p labels of a matrix
        """
        m, known = X.shape[0], not issparse(X) and X.shape[1] == len(self.filled)
        d = len(self.filled) if known else 0
        # Up to six tests of a column, and two of a label.
        level = CHANCE / max(6 * d + 2 * len(self.called), 1)
        found = []
        for j in range(d if m else 0):
            kind, cells = columns[j] if columns else None, np.asarray(X[:, j], dtype=np.float64)
            found += [f"Column {names[j]!r} {text}" for text in islice(self._of_column(j, kind, cells, level), 1)]
        if found:
            more = len(found) - MOST
            return [*found[:MOST], *([f"{more} further columns differ."] if more > 0 else [])]
        return list(self._of_labels(np.atleast_2d(np.asarray(labels).T), classes, level)) if m else []

    def _of_column(self, j: int, kind: Column | None, cells: Values, level: float) -> Iterator[str]:
        """What is to be said of a column, the first of which is enough."""
        n, m, old = self.rows, len(cells), int(self.filled[j])
        numbers = cells[~np.isnan(cells)]
        gaps, new = m - len(numbers), len(numbers)
        if gaps / m >= 1.0 - old / n + EMPTIER and self._more(n - old, n, gaps, m) < level:
            yield f"is empty in {percent(gaps / m)} of the rows, and in {percent(1 - old / n)} of the training."
        if not old or not new or isinstance(kind, FreeText):
            return
        if isinstance(kind, Category):
            unknown = int((numbers >= len(kind.words)).sum())
            if unknown >= UNKNOWN * new and self._unseen(old, unknown, new, int(self.words[j])) < level:
                yield f"holds words in {percent(unknown / new)} of its cells that the training does not have."
            return
        low, inner_low, inner_high, high = self.limits[:, j].tolist()
        # New dates are later than those of the training; what matters is how much.
        room = high - low if isinstance(kind, Date) else 0.0
        sides = (1.0, high, inner_high, "above", "largest"), (-1.0, low, inner_low, "below", "least")
        for sign, end, inner, word, last in sides:
            beyond = int((sign * (numbers - end) > room).sum())
            if beyond >= OUTSIDE * new and self._more(0, old, beyond, new) < level:
                share, far = percent(beyond / new), ", by more than the whole range of these" if room else ""
                yield f"is {word} {_number(end, kind)}, the {last} of the training, in {share} of its cells{far}."
            moved = int((sign * (numbers - inner) > 0).sum())
            if not room and moved >= MOVED * new and self._more(int(TAIL * old), old, moved, new) < level:
                few = f"at most {percent(TAIL)} of those of the training"
                yield f"is {word} {_number(inner, kind)} in {percent(moved / new)} of its cells, and in {few}."
        if isinstance(kind, Date):
            yield from self._of_times(numbers, low, old, int(self.words[j]), level)

    def _of_times(self, days: Values, low: float, old: int, usual: int, level: float) -> Iterator[str]:
        """What is to be said of times of day, of which at most ``usual`` of the training rows have the same one."""
        times, new, first = _times(days), len(days), _times(np.array([low]))[0]
        cut_off = 0 < usual <= (1.0 - EMPTIER) * old and (times == times[0]).all()
        if cut_off and self._more(usual, old, new, new) < level:
            what, share = f"has the time {_clock(times[0])} in all of its cells", percent(1 - usual / old)
            yield f"{what}, and other times in at least {share} of the training."
        other = int((times != first).sum())
        if usual == old and other >= OUTSIDE * new and self._more(0, old, other, new) < level:
            share = percent(other / new)
            yield f"has the time {_clock(first)} in all of the training, and other times in {share} of its cells."

    def _of_labels(self, labels: NDArray[Any], classes: Sequence[str], level: float) -> Iterator[str]:
        """What is to be said of the shares of the labels (p, m)."""
        names = classes if len(labels) > 1 else classes[1:]
        for share, new, name in zip(self.called.tolist(), labels, names, strict=False):
            k, m, n = int(new.sum()), len(new), self.rows
            old = round(share * n)
            ratio = max(k * (n - old), 0.5) / max((m - k) * old, 0.5)
            chance = self._more(old, n, k, m) if ratio > 1 else self._more(n - old, n, m - k, m)
            if max(ratio, 1 / ratio) >= TIMES and chance < level:
                yield f"{percent(k / m)} of the rows are labelled {name}, and {percent(share)} were in the training."

    def _counts(self, *rows: int) -> list[int]:
        """Numbers of rows as numbers of groups, which are independent of each other where rows are not."""
        return [row * self.units // self.rows for row in rows]

    def _more(self, old: int, n: int, new: int, m: int) -> float:
        """The chance of so many of m new rows, given how many of n training rows and new ones there are together."""
        old, n, new, m = self._counts(old, n, new, m)
        return float(hypergeom.sf(new - 1, n + m, old + new, m))

    def _unseen(self, n: int, new: int, m: int, words: int) -> float:
        """A bound of the chance that so many of m new words are none of the distinct words that n of the training are.

        That n drawn rows are among given words, which ``new`` of all rows are not, has a hypergeometric chance. Which
        of all words are these is one of ``choose(words + new, words)`` ways at most.
        """
        n, new, m = self._counts(n, new, m)
        ways = -np.log(words + new + 1) - betaln(words + 1, new + 1)
        return float(np.exp(min(hypergeom.logpmf(0, n + m, new, n) + ways, 0.0)))


def _keys(X: Any) -> NDArray[np.uint64]:
    """A number of each row, (n,); all gaps are equal, and so are decimals that agree in seven digits."""
    if issparse(X):
        return row_keys(X)
    # Readers of decimals differ in the last digit.
    cells = np.array(X, dtype=np.float64, order="F")
    for column in cells.T:
        column[:] = rounded(np.where(np.isnan(column), np.inf, column), 29)
    return row_keys(cells)


def _times(days: Values) -> Values:
    """The seconds of the day that are over."""
    return np.asarray(np.round(days * 86_400.0) % 86_400.0)


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 3600:02}:{int(seconds) // 60 % 60:02}"


def _number(value: float, kind: Column | None) -> str:
    """A number of a column in words; a date as one."""
    return str(np.datetime64(int(value // 1), "D")) if isinstance(kind, Date) else f"{value:.6g}"
