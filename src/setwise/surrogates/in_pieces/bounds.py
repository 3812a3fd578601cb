"""Upper bounds of loss minus lost score over ranges of the counts of mistakes, from a few values of the loss.

The objective of margin rescaling is ``F(a, b) = D(a, b) - A(a) - B(b)`` with the loss D of a false negatives and b
false positives, and the least scores A and B that so many mistakes lose, which are convex. Over a box of counts, a from
``a0`` to ``a1`` and b from ``b0`` to ``b1``, of widths v and w, two bounds hold, and the smaller one is taken.

**First order.** ``F <= max D - min A - min B``, with the maximum of D from :meth:`Counts.above`. A is at least its two
tangents, ``A(a0 + t) >= L(t) = max(A(a0) + low t, A(a1) - high (v - t))``: a further mistake after the first a0 loses
at least ``low``, the least margin among those in the range, and one before a1 at most ``high``, the largest. The
minimum of L is at an end, or where the tangents cross.

**Second order**, where :meth:`Counts.bent` is known: numbers ``k``, ``l`` and ``m``, all at least 0, so that no second
difference of D along fn is below -k, none along fp below -l, and no mixed difference above m. The sum of the mixed
differences ``D(i+1, j+1) - D(i+1, j) - D(i, j+1) + D(i, j)`` over the cells between (a0, b0) and (a, b) is
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
from typing import final

import numpy as np

from setwise.core.checks import Values
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
            return out if self.term.bends is None else np.fmin(out, self._second_order(x, y))

    def _second_order(self, x: Side, y: Side) -> Values:
        corner, v, w = self(x.first, y.first), x.width, y.width
        along_x, along_y, mixed = self.term.bent((x.first, x.last), (y.first, y.last), 0)
        won = x.most_won(corner, self(x.last, y.first)) + y.most_won(corner, self(x.first, y.last)) - corner
        # A side of one mistake has no second differences, and one of none no mixed ones; then bounds may be infinite.
        for extra, size, there in (
            (np.maximum(-along_x, 0.0), v * v / 8.0, v > 1),
            (np.maximum(-along_y, 0.0), w * w / 8.0, w > 1),
            (np.maximum(mixed, 0.0), v * w, v * w > 0),
        ):
            won = won + np.where(there, extra, 0.0) * np.where(there, size, 0.0)
        return won
