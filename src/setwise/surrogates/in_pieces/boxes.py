"""Branch and bound over the counts of mistakes of two classes, whose margins are known as far as profiles tell."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.checks import Bools, Ints, Values
from setwise.surrogates.in_pieces.bounds import CountBound, Side
from setwise.surrogates.in_pieces.profile import Profile

ROUNDED = 64 * float(np.finfo(np.float64).eps)
"""Differences of this share of the objective are rounding."""

ROOM = 1 << 17
"""The most boxes that are kept at once; with more of them, those of several segments are not looked into further."""


@final
@dataclass(frozen=True, eq=False)
class Found:
    """The best counts seen and their value, a bound on all values, and what must be known better to close the gap.

    ``unknown`` are masks of the segments of the positives and of the negatives, in which the bound may be attained.
    """

    fn: int
    fp: int
    value: float
    upper: float
    unknown: tuple[Bools, Bools]


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


class _Best:
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


def best_counts(bound: CountBound, axes: tuple[Axis, Axis], tol: float) -> Found:
    """The best numbers of false negatives and of false positives, as far as the profiles of both classes tell.

    Boxes of counts are halved along both sides while their bound is above the best value at a corner seen so far; a
    box that cannot be halved waits for better profiles. Boxes within ``tol`` of the best value are left.
    """
    x, y = axes
    boxes, best = np.concatenate((x.whole, y.whole))[None], _Best()
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


def _waits(axes: tuple[Axis, Axis], boxes: Ints) -> Bools:
    """Which boxes are to be looked into once more is known: one side is not settled, and the other is one segment."""
    (x, y), (rows, columns) = axes, (boxes[:, :4], boxes[:, 4:])
    out = (x.open(rows) & ~y.several(columns)) | (y.open(columns) & ~x.several(rows))
    return out | (x.several(rows) | y.several(columns)) if len(boxes) > ROOM else out


def _halved(axes: tuple[Axis, Axis], boxes: Ints) -> Ints:
    """The halves along each side that has some, quarters where both have."""
    for axis, at in zip(axes, (slice(0, 4), slice(4, 8)), strict=True):
        cut = axis.splits(boxes[:, at])
        low, high = boxes[cut].copy(), boxes[cut].copy()
        low[:, at], high[:, at] = axis.halves(boxes[cut][:, at])
        boxes = np.concatenate((boxes[~cut], low, high))
    return boxes


def _found(axes: tuple[Axis, Axis], best: _Best, left: float, waiting: Ints, bounds: Values, tol: float) -> Found:
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
    return Found(best.fn, best.fp, best.value, upper, (unknown[0], unknown[1]))
