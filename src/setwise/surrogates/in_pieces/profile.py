"""What is known of the sorted margins of one class: exact sums at some counts, and the range of margins between."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.checks import Bools, Ints, Values


@final
@dataclass(frozen=True, eq=False)
class Profile:
    """Segments of the margins of a class, sorted upwards: no margin of one is above a margin of the next.

    With ``A(a)`` the sum of the a least margins less the sum of the negative ones, A is convex, and known where a
    segment begins or ends. In a segment that holds ``least`` and ``most`` margins, the slopes of A lie between the two.
    A segment is *settled* where these are equal: then A is known at all its counts.

    Parameters
    ----------
    counts, totals, least, most : (k,) the number of margins of each segment, at least 1, their sum and their range
    """

    counts: Ints
    totals: Values
    least: Values
    most: Values

    @classmethod
    def of(cls, counts: Ints, totals: Values, least: Values, most: Values) -> "Profile":
        """The profile of the bins that are not empty."""
        some = counts > 0
        counts, totals, least, most = counts[some], totals[some], least[some], most[some]
        # Rounded sums of equal margins are replaced by their product.
        return cls(counts, np.where(least == most, counts * least, totals), least, most)

    @cached_property
    def ends(self) -> Ints:
        """The counts at which segments begin, and the number of all, (k + 1,)."""
        return np.concatenate(([0], np.cumsum(self.counts)))

    @cached_property
    def base(self) -> float:
        """The sum of the negative margins."""
        return float(self.totals[: self._first].sum())

    @cached_property
    def sums(self) -> Values:
        """A where segments begin, and of all margins, (k + 1,): 0 where the margins begin to be 0 or more."""
        # Both directions begin at 0, so that huge negative margins do not swamp the digits of small ones.
        down, up = self.totals[: self._first][::-1], self.totals[self._first :]
        return np.concatenate((-np.cumsum(down)[::-1], [0.0], np.cumsum(up)))

    @property
    def _first(self) -> int:
        """The first segment without negative margins; 0 lies in no segment but between two, or is settled."""
        return int(np.searchsorted(self.least, 0.0))

    @cached_property
    def settled(self) -> Bools:
        """The segments inside of which A is known, (k,)."""
        return np.asarray(self.least == self.most)

    def split(self, where: Ints, parts: "list[Profile]") -> "Profile":
        """The profile with segments ``where`` replaced by what they hold."""
        found, start = [], 0
        for at, part in zip(where, parts, strict=True):
            found += [self._between(start, int(at)), part]
            start = int(at) + 1
        found.append(self._between(start, len(self.counts)))
        return Profile(
            np.concatenate([each.counts for each in found]),
            np.concatenate([each.totals for each in found]),
            np.concatenate([each.least for each in found]),
            np.concatenate([each.most for each in found]),
        )

    def _between(self, start: int, end: int) -> "Profile":
        """Some consecutive segments."""
        return Profile(*(each[start:end] for each in (self.counts, self.totals, self.least, self.most)))  # type: ignore[arg-type]

    def level(self, count: int) -> tuple[float, int]:
        """The margin below which all are among the ``count`` least, and how many of those that equal it are too."""
        at = int(np.searchsorted(self.ends, count, side="right")) - 1
        if at == len(self.counts):
            return np.inf, 0
        return float(self.least[at]), count - int(self.ends[at])


def new_edges(low: float, high: float, parts: int, hints: Values) -> Values:
    """Rising edges of bins that hold all margins from ``low`` to ``high``, with ``parts`` cuts or a few more between.

    Half of the cuts are even; the others are even among the floats, so that a bin holds about ``2 / parts`` of the
    floats between the ends or less, however the margins are spread: no more than ``64 / log2(parts / 2)`` rounds lead
    to single floats. Both ends have bins of their own, for ties, and ``hints`` that lie between are cuts.
    """
    half = max(parts // 2, 2)
    share = np.arange(1, half) / half
    # The width of the range may leave float64.
    even = low * (1.0 - share) + high * share
    ends = np.array([low, np.nextafter(low, np.inf), high, np.nextafter(high, np.inf)])
    cuts = np.concatenate((ends, even, between_floats(low, high, half), hints))
    return np.unique(cuts[(cuts >= low) & (cuts <= ends[-1])])


def between_floats(low: float, high: float, parts: int) -> Values:
    """``parts - 1`` floats that divide those from ``low`` to ``high`` into parts of about equally many floats."""
    first, last = (_rank(x) for x in (low, high))
    ranks = [first + (last - first) * i // parts for i in range(1, parts)]
    return _float(np.array(ranks, dtype=np.int64))


def _rank(x: float) -> int:
    """The position of a float among all floats: 0 has 0, and its neighbors have 1 and -1."""
    bits = int(np.float64(abs(x)).view(np.int64))
    return bits if x >= 0 else -bits


def _float(ranks: Ints) -> Values:
    """The floats of these positions."""
    return np.copysign(np.abs(ranks).view(np.float64), ranks.astype(np.float64))
