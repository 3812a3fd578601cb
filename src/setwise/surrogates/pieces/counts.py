"""Branch and bound over the counts of mistakes of two classes, whose margins are known as far as profiles tell.

A profile holds what is known of the sorted margins of one class: exact sums at some counts, and the range of margins
between. Loss minus lost score is bounded over ranges of the counts, from a few values of the loss.

The objective of margin rescaling is ``F(a, b) = D(a, b) - A(a) - B(b)`` with the loss D of a false negatives and b
false positives, and the least scores A and B that so many mistakes lose, which are convex. Over a box of counts, a from
``a0`` to ``a1`` and b from ``b0`` to ``b1``, of widths v and w, two bounds hold, and the smaller one is taken.

**First order.** ``F <= max D - min A - min B``, with the maximum of D from :meth:`Counts.above`. A is at least its two
tangents, ``A(a0 + t) >= L(t) = max(A(a0) + low t, A(a1) - high (v - t))``: a further mistake after the first a0 loses
at least ``low``, the least margin among those in the range, and one before a1 at most ``high``, the largest. The
minimum of L is at an end, or where the tangents cross.

**Second order**, where :meth:`Counts.curvature` is known: numbers ``k``, ``l`` and ``m``, all at least 0, so that no
second difference of D along fn is below -k, none along fp below -l, and no mixed difference above m. The sum of the
mixed differences ``D(i+1, j+1) - D(i+1, j) - D(i, j+1) + D(i, j)`` over the cells between (a0, b0) and (a, b) is
``D(a, b) - D(a, b0) - D(a0, b) + D(a0, b0)``, so

    D(a, b) <= D(a, b0) + D(a0, b) - D(a0, b0) + m v w

and F is bounded by the maxima of ``D(a, b0) - A(a)`` and of ``D(a0, b) - B(b)``, one axis each. Along fn,
``D(a0 + t, b0) + k t^2 / 2`` has second differences of at least 0, so it lies at or below its chord. So D is at most
its own chord plus ``k t (v - t) / 2 <= k v^2 / 8``, and along fp alike. The chord minus L is concave, and linear but
where the tangents cross, so its maximum is there or at an end: three values.

D is off its chord by the square of the width times k, the tangents are off A by the width times the range of the
margins, and ``m v w`` is a product too: the bound is off by the square of the size of the box, where that of first
order is off by its size. In boxes of at most one mistake of each class no bound is needed, for the corners are all.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.checks import Bools, Ints, Values
from setwise.core.counts import Counts


@final
@dataclass(frozen=True, eq=False)
class Side:
    """Ranges of the counts of one class, (m,) each: ``first`` to ``last``, with the scores ``lost`` at both ends.

    ``low`` and ``high`` are the least and the largest margin of the mistakes between; they are not read in a range of
    one count.
    """

    first: Values
    last: Values
    lost: tuple[Values, Values]
    low: Values
    high: Values

    @property
    def width(self) -> Values:
        """The number of mistakes between."""
        return self.last - self.first

    def lost_at(self, t: Values) -> Values:
        """L: the larger one of the tangents after t of the mistakes between."""
        return np.maximum(self.lost[0] + self.low * t, self.lost[1] - self.high * (self.width - t))

    @property
    def crossing(self) -> Values:
        """The t at which the tangents cross, with a mean margin that is that of all mistakes between."""
        width, spread = self.width, self.high - self.low
        mean = (self.lost[1] - self.lost[0]) / np.maximum(width, 1.0)
        share = (self.high - mean) / np.where(spread > 0, spread, 1.0)
        return np.where(spread > 0, width * np.clip(share, 0.0, 1.0), 0.0)

    @property
    def least_lost(self) -> Values:
        """The minimum of L."""
        return np.minimum(np.minimum(*self.lost), self.lost_at(self.crossing))

    def most_won(self, start: Values, end: Values) -> Values:
        """The maximum of the line from ``start`` to ``end`` minus L."""
        cross = self.crossing
        between = start + (end - start) / np.maximum(self.width, 1.0) * cross - self.lost_at(cross)
        return np.maximum(np.maximum(start - self.lost[0], end - self.lost[1]), between)


@final
@dataclass(frozen=True, eq=False)
class CountBound:
    """The values of a function D of counts of one set, the ``term``, and its bounds over boxes."""

    term: Counts

    def __call__(self, fn: Values, fp: Values) -> Values:
        """D, vectorized."""
        return self.term.of(fn, fp, 0)

    def above(self, x: Side, y: Side) -> Values:
        """Upper bounds of ``D - A - B`` over boxes, (m,)."""
        out = np.full(len(x.first), np.inf)
        # Of huge margins the tangents may leave float64, and the bound is NaN, which is none.
        with np.errstate(over="ignore", invalid="ignore"):
            if self.term.bounded:
                most = self.term.above((x.first, x.last), (y.first, y.last), 0)
                out = np.fmin(out, most - x.least_lost - y.least_lost)
            return out if self.term.curvatures is None else np.fmin(out, self._second_order(x, y))

    def _second_order(self, x: Side, y: Side) -> Values:
        corner, v, w = self(x.first, y.first), x.width, y.width
        along_x, along_y, mixed = self.term.curvature((x.first, x.last), (y.first, y.last), 0)
        won = x.most_won(corner, self(x.last, y.first)) + y.most_won(corner, self(x.first, y.last)) - corner
        # A side of one mistake has no second differences, and one of none no mixed ones; then bounds may be infinite.
        for extra, size, there in (
            (np.maximum(-along_x, 0.0), v * v / 8.0, v > 1),
            (np.maximum(-along_y, 0.0), w * w / 8.0, w > 1),
            (np.maximum(mixed, 0.0), v * w, v * w > 0),
        ):
            won = won + np.where(there, extra, 0.0) * np.where(there, size, 0.0)
        return won


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
        return Profile(*(np.concatenate(parts) for parts in zip(*(each._arrays for each in found), strict=True)))

    def _between(self, start: int, end: int) -> "Profile":
        """Some consecutive segments."""
        return Profile(*(each[start:end] for each in self._arrays))

    @property
    def _arrays(self) -> tuple[Any, ...]:
        return self.counts, self.totals, self.least, self.most

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


ROUNDED = 64 * float(np.finfo(np.float64).eps)
"""Differences of this share of the objective are rounding."""

ROOM = 1 << 17
"""The most boxes that are kept at once; with more of them, those of several segments are not looked into further."""


@final
@dataclass(frozen=True, eq=False)
class BestCounts:
    """The best counts seen and their value, a bound on all values, and what must be known better to close the gap.

    ``unknown`` are masks of the segments of the positives and of the negatives, in which the bound may be attained.
    """

    fn: int
    fp: int
    value: float
    upper: float
    unknown: list[Bools]


@final
class Axis:
    """The segments of one class as sides of boxes: a range of segments, or of counts in one settled segment.

    A range is (first segment, end of segments, first count, last count).
    """

    def __init__(self, profile: Profile, scale: float) -> None:
        self.counts, self.settled = profile.ends, np.append(profile.settled, True)
        self.sums, self.low = profile.sums / scale, np.append(profile.least, 0.0) / scale
        self.high = np.insert(profile.most, 0, 0.0) / scale

    @property
    def whole(self) -> Ints:
        """The range of all counts."""
        return np.array([0, len(self.counts) - 1, 0, self.counts[-1]])

    def side(self, ranges: Ints) -> Side:
        """The side of boxes with these ranges (m, 4)."""
        start, end, first, last = ranges.T
        lost = self.sums[start] + self.low[start] * (first - self.counts[start])
        until = self.sums[end] - self.high[end] * (self.counts[end] - last)
        # Inside a segment that is not settled no count is an end, so both sums are exact.
        return Side(first.astype(float), last.astype(float), (lost, until), self.low[start], self.high[end])

    def several(self, ranges: Ints) -> Bools:
        """Which ranges hold several segments."""
        return np.asarray(ranges[:, 1] - ranges[:, 0] > 1)

    def open(self, ranges: Ints) -> Bools:
        """Which ranges are one segment that is not settled, and has counts between its ends."""
        inside = ranges[:, 3] - ranges[:, 2] > 1
        return np.asarray(~self.several(ranges) & ~self.settled[ranges[:, 0]] & inside)

    def splits(self, ranges: Ints) -> Bools:
        """Which ranges can be halved: several segments, or several counts in a settled one."""
        several = ranges[:, 3] - ranges[:, 2] > 1
        return np.asarray(self.several(ranges) | (self.settled[ranges[:, 0]] & several))

    def halves(self, ranges: Ints) -> tuple[Ints, Ints]:
        """The lower and the upper halves of ranges."""
        several, low, high = self.several(ranges), ranges.copy(), ranges.copy()
        middle = (ranges[:, 0] + ranges[:, 1]) // 2
        count = np.where(several, self.counts[middle], (ranges[:, 2] + ranges[:, 3]) // 2)
        low[:, 1], high[:, 0] = np.where(several, middle, low[:, 1]), np.where(several, middle, high[:, 0])
        low[:, 3], high[:, 2] = count, count
        return low, high


class _BestCorner:
    """The best corner of all boxes seen."""

    def __init__(self) -> None:
        self.fn, self.fp, self.value, self.rounded = 0, 0, -np.inf, 0.0

    def look(self, bound: CountBound, x: Side, y: Side) -> None:
        """Looks at the four corners of boxes."""
        for i, fn in enumerate((x.first, x.last)):
            for j, fp in enumerate((y.first, y.last)):
                loss, lost = bound(fn, fp), x.lost[i] + y.lost[j]
                at = int(np.argmax(loss - lost))
                if loss[at] - lost[at] > self.value:
                    self.fn, self.fp, self.value = int(fn[at]), int(fp[at]), float(loss[at] - lost[at])
                    self.rounded = ROUNDED * float(abs(loss[at]) + abs(x.lost[i][at]) + abs(y.lost[j][at]))


def best_counts(bound: CountBound, axes: list[Axis], tol: float) -> BestCounts:
    """The best numbers of false negatives and of false positives, as far as the profiles of both classes tell.

    Boxes of counts are halved along both sides while their bound is above the best value at a corner seen so far; a
    box that cannot be halved waits for better profiles. Boxes within ``tol`` of the best value are left.
    """
    x, y = axes
    boxes, best = np.concatenate((x.whole, y.whole))[None], _BestCorner()
    waiting, bounds, left = np.empty((0, 8), np.int64), np.empty(0), -np.inf
    while len(boxes):
        xs, ys = x.side(boxes[:, :4]), y.side(boxes[:, 4:])
        best.look(bound, xs, ys)
        above = bound.above(xs, ys)
        near = above <= best.value + max(tol, best.rounded)
        left = max(left, float(above[near].max(initial=-np.inf)))
        boxes, above = boxes[~near], above[~near]
        waits = _waits(axes, boxes)
        waiting, bounds = np.concatenate((waiting, boxes[waits])), np.concatenate((bounds, above[waits]))
        # Where both sides are single mistakes the corners are all there is.
        boxes = _halved(axes, boxes[~waits & (x.splits(boxes[:, :4]) | y.splits(boxes[:, 4:]))])
    return _found(axes, best, left, waiting, bounds, tol)


def _waits(axes: list[Axis], boxes: Ints) -> Bools:
    """Which boxes are to be looked into once more is known: one side is not settled, and the other is one segment."""
    (x, y), (rows, columns) = axes, (boxes[:, :4], boxes[:, 4:])
    out = (x.open(rows) & ~y.several(columns)) | (y.open(columns) & ~x.several(rows))
    return out | (x.several(rows) | y.several(columns)) if len(boxes) > ROOM else out


def _halved(axes: list[Axis], boxes: Ints) -> Ints:
    """The halves along each side that has some, quarters where both have."""
    for axis, at in zip(axes, (slice(0, 4), slice(4, 8)), strict=True):
        cut = axis.splits(boxes[:, at])
        low, high = boxes[cut].copy(), boxes[cut].copy()
        low[:, at], high[:, at] = axis.halves(boxes[cut][:, at])
        boxes = np.concatenate((boxes[~cut], low, high))
    return boxes


def _found(axes: list[Axis], best: _BestCorner, left: float, waiting: Ints, bounds: Values, tol: float) -> BestCounts:
    """The best counts, and the segments of the boxes that wait and may still hold better ones."""
    alive = bounds > best.value + max(tol, best.rounded)
    # Boxes that waited while a better value was found elsewhere count as left now.
    left = max(left, float(bounds[~alive].max(initial=-np.inf)))
    waiting, bounds = waiting[alive], bounds[alive]
    upper = max(left, float(bounds.max(initial=-np.inf)))
    # What exceeds the value by rounding alone is the value.
    upper = best.value if upper <= best.value + best.rounded else upper
    unknown = []
    for axis, at in zip(axes, (slice(0, 4), slice(4, 8)), strict=True):
        seen = np.zeros(len(axis.counts), dtype=np.int64)
        np.add.at(seen, waiting[:, at][:, 0], 1)
        np.add.at(seen, waiting[:, at][:, 1], -1)
        unknown.append((np.cumsum(seen)[:-1] > 0) & ~axis.settled[:-1] & (np.diff(axis.counts) > 1))
    return BestCounts(best.fn, best.fp, best.value, upper, unknown)
