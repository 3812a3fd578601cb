"""What is known of probabilities in several places, from the largest down, and what the places are asked about them."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, TypeVar, final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.checks import Bools, Ints, Values
from setwise.decisions.pmf import Pmf, convolved, count_of, trimmed
from setwise.kernels.histograms import Chances, chances
from setwise.surrogates.pieces.counts import new_edges

Asked = Callable[[Values], Any]
"""What a place computes of its probabilities (m,): a small answer of plain arrays. Questions can be pickled."""

Found = TypeVar("Found")
Talk = Generator[Asked, list[Any], Found]
"""It yields questions, is sent the answers of all places in their order, and returns what it has found."""

BINS = 1024
"""About how many bins a question asks about."""

SURE = 1.0 - 1e-16
"""Larger probabilities are taken for this one where the chance that nothing is positive is computed."""


@final
@dataclass(frozen=True, eq=False)
class InBins:
    """Asks what the bins between rising edges hold."""

    edges: Values

    def __call__(self, q: Values) -> Chances:
        """What the bins hold of the probabilities of a place."""
        return chances(q, self.edges)


def first_question() -> InBins:
    """Asks about bins of all probabilities."""
    return InBins(new_edges(0.0, 1.0, BINS, np.empty(0)))


def no_positives(q: Values) -> float:
    """The logarithm of the chance that nothing is positive."""
    return float(np.log1p(-np.minimum(q, SURE, dtype=np.float64)).sum())


def mistakes(q: Values) -> Pmf:
    """The number of mistakes where each decision takes its more probable label."""
    q = np.asarray(q, np.float64)
    return count_of(np.minimum(q, 1.0 - q))


def positives(q: Values) -> Pmf:
    """The number of positives."""
    return count_of(np.asarray(q, np.float64))


class Around(NamedTuple):
    """The numbers of probabilities above and below a range, the distributions of their positives, and the range.

    Those in the range are the sorted different ``inside`` and how many there are of each.
    """

    above: int
    hits: Pmf
    below: int
    misses: Pmf
    inside: Values
    times: Ints


@final
@dataclass(frozen=True, eq=False)
class Range:
    """Asks what lies around a range of probabilities, whose ends belong to it, and for those in it."""

    low: float
    high: float

    def __call__(self, q: Values) -> Around:
        """What lies around the range of the probabilities of a place."""
        # Beside float32 a number of Python would be rounded to it.
        low, high = np.float64(self.low), np.float64(self.high)
        above, below = (np.asarray(q[where], np.float64) for where in (q > high, q < low))
        inside = np.asarray(q[(q >= low) & (q <= high)], np.float64)
        return Around(len(above), count_of(above), len(below), count_of(below), *np.unique(inside, return_counts=True))


def together(answers: Sequence[Around]) -> Around:
    """What lies around the range in all places."""
    hits, misses = (summed([getattr(one, name) for one in answers]) for name in ("hits", "misses"))
    above, below = sum(one.above for one in answers), sum(one.below for one in answers)
    inside, places = np.unique(np.concatenate([one.inside for one in answers]), return_inverse=True)
    weights = np.concatenate([one.times for one in answers]).astype(np.float64)
    times = np.bincount(np.ravel(places), weights, len(inside)).astype(np.int64)
    return Around(above, hits, below, misses, inside, times)


def summed(counts: list[Pmf]) -> Pmf:
    """The sum of independent counts, halves first."""
    if len(counts) == 1:
        return counts[0]
    middle = len(counts) // 2
    return trimmed(convolved(summed(counts[:middle]), summed(counts[middle:])))


@final
@dataclass(frozen=True, eq=False)
class Levels:
    """Ranges of probabilities that do not overlap, downwards, but that equal ones may be divided.

    Parameters
    ----------
    counts : (k,) int64, the numbers of probabilities, at least 1
    means, variances : (k,) the sums of q and of q (1 - q)
    least, most : (k,) the least and the largest probability
    """

    counts: Ints
    means: Values
    variances: Values
    least: Values
    most: Values

    @classmethod
    def of(cls, answers: Sequence[Chances], asked: Bools | None = None) -> "Levels":
        """Those of the bins that are ``asked`` and not empty, from the answers of all places."""
        counts, means, variances = (reduce(np.add, [one[i] for one in answers])[::-1] for i in range(3))
        least = np.min([one.least for one in answers], axis=0)[::-1]
        most = np.max([one.most for one in answers], axis=0)[::-1]
        some = (counts > 0) & (True if asked is None else asked[::-1])
        return cls(counts[some], means[some], variances[some], least[some], most[some])

    @property
    def _columns(self) -> tuple[Ints, Values, Values, Values, Values]:
        return self.counts, self.means, self.variances, self.least, self.most

    @property
    def settled(self) -> Bools:
        """The ranges of equal probabilities, (k,)."""
        return np.asarray(self.least == self.most)

    @cached_property
    def ends(self) -> tuple[Ints, Values, Values]:
        """The number before each end of a range, and their sums of q and of q (1 - q), (k + 1,)."""
        columns = self.counts, self.means, self.variances
        return tuple(np.concatenate((each[:1] * 0, np.cumsum(each))) for each in columns)  # type: ignore[return-value]

    @cached_property
    def rests(self) -> tuple[Values, Values]:
        """The sums of q and of q (1 - q) after each end of a range, (k + 1,)."""
        columns = self.means, self.variances
        return tuple(np.append(np.cumsum(each[::-1])[::-1], 0.0) for each in columns)  # type: ignore[return-value]

    def take(self, where: Any) -> "Levels":
        """The chosen ranges."""
        return Levels(*(each[where] for each in self._columns))

    def joined(self, other: "Levels") -> "Levels":
        """The ranges of both, which do not overlap."""
        columns = [np.concatenate(both) for both in zip(self._columns, other._columns, strict=True)]
        # Of equal largest ones a range that goes on downwards comes last.
        order = np.lexsort((-columns[3], -columns[4]))
        return Levels(*(each[order] for each in columns))

    def divided(self, parts: int) -> "Levels":
        """Settled ranges, each in up to so many ranges of about the same number."""
        sizes = [np.diff(np.arange(0, min(parts, n) + 1) * n // min(parts, n)) for n in self.counts.tolist()]
        counts, q = np.concatenate(sizes), np.repeat(self.least, [len(each) for each in sizes])
        return Levels(counts, counts * q, counts * (q * (1.0 - q)), q, q)


def refined(levels: Levels, where: Bools) -> Talk[Levels]:
    """The levels with finer ranges in place of those ``where``: equal probabilities are divided without a question."""
    even, chosen = where & levels.settled, levels.take(where & ~levels.settled)
    rest = levels.take(~where)
    if even.any():
        rest = rest.joined(levels.take(even).divided(max(BINS // int(even.sum()), 4)))
    if not len(chosen.counts):
        return rest
    parts = max(BINS // len(chosen.counts), 4)
    ranges = zip(chosen.least[::-1].tolist(), chosen.most[::-1].tolist(), strict=True)
    edges = [new_edges(low, high, parts, np.empty(0)) for low, high in ranges]
    asked = np.concatenate([np.arange(len(each)) < len(each) - 1 for each in edges])
    return rest.joined(Levels.of((yield InBins(np.concatenate(edges))), asked[:-1]))
