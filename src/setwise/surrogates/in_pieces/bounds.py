"""Upper bounds of loss minus lost score over ranges of the counts of mistakes, from a few values of the loss.

The objective of margin rescaling is ``F(a, b) = D(a, b) - A(a) - B(b)`` with the loss D of a false negatives and b false
positives, and the least scores A and B that so many mistakes lose, which are convex. Over a box of counts, a from
``a0`` to ``a1`` and b from ``b0`` to ``b1``, of widths v and w, two bounds hold, and the smaller one is taken.

**First order.** ``F <= max D - min A - min B``, with the maximum of D from :meth:`Counts.above`. A is at least its two
tangents: ``A(a0 + t) >= L(t) = max(A(a0) + low t, A(a1) - high (v - t))``, for a further mistake after the first a0
loses at least ``low``, the least margin among those in the range, and one before a1 at most ``high``. The minimum of
L is at an end, or where the tangents cross.

**Second order**, where the curvature of D along each axis is known. Let ``mix`` be at least 0 and all mixed differences
``D(a+1, b+1) - D(a+1, b) - D(a, b+1) + D(a, b)`` of the box; it is 0 for Monge losses. Their sum over the cells between
(a0, b0) and (a, b) is ``D(a, b) - D(a, b0) - D(a0, b) + D(a0, b0)``, so

    D(a, b) <= D(a, b0) + D(a0, b) - D(a0, b0) + mix v w

and F is bounded by the maxima of ``D(a, b0) - A(a)`` and of ``D(a0, b) - B(b)``, one axis each. Along an axis, a convex
D is at most its chord, and a concave one at most both lines through an end with the difference to the neighbor as
slope. So each maximum is at most that of ``U - L``, with U the smaller one of two lines and L the larger one of two.
This is concave and linear between the ends, where the lines of U cross, and where those of L cross: its maximum
is at one of these four. Chords, lines and tangents are off by the square of the width, and so is the product v w: the
bound is off by the square of the size of the box, where that of first order is off by its size. Single mistakes make
it exact.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.arrays import Values
from setwise.core.counts import Counts, Quotient

EPS = float(np.finfo(np.float64).eps)


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
        return self.last - self.first

    def lost_at(self, t: Values) -> Values:
        """L: the larger one of the tangents after t of the mistakes between."""
        return np.maximum(self.lost[0] + self.low * t, self.lost[1] - self.high * (self.width - t))

    @property
    def kink(self) -> Values:
        """The t at which the tangents cross: they share the mistakes between, whose sum is known."""
        width, spread = self.width, self.high - self.low
        mean = (self.lost[1] - self.lost[0]) / np.maximum(width, 1.0)
        share = (self.high - mean) / np.where(spread > 0, spread, 1.0)
        return np.where(spread > 0, width * np.clip(share, 0.0, 1.0), 0.0)

    @property
    def least_lost(self) -> Values:
        """The minimum of L."""
        return np.minimum(np.minimum(*self.lost), self.lost_at(self.kink))

    def most_won(self, ends: tuple[Values, Values], slopes: tuple[Values, Values]) -> Values:
        """The maximum of ``U - L`` with U the lower one of the lines through both ``ends`` with these ``slopes``."""
        width, fall = self.width, slopes[0] - slopes[1]
        cross = (ends[1] - ends[0] - slopes[1] * width) / np.where(fall > 0, fall, 1.0)
        out = np.full(len(width), -np.inf)
        for t in (np.zeros(len(width)), width, self.kink, np.clip(cross, 0.0, width)):
            lines = np.minimum(ends[0] + slopes[0] * t, ends[1] - slopes[1] * (width - t))
            out = np.maximum(out, lines - self.lost_at(t))
        return out


@final
@dataclass(frozen=True, eq=False)
class CountBound:
    """The values of a function D of counts of one set, and its bounds over boxes.

    Parameters
    ----------
    term : the function, of one set
    curves : the signs of the second differences along fn and along fp, where each has one sign: 1 is convex, 0 linear,
        -1 concave; None where they are not known
    quotient : the coefficients of its part that is no sum of costs, which tell mixed differences; None where it is none
    """

    term: Counts
    curves: tuple[int, int] | None
    quotient: Quotient | None

    def __call__(self, fn: Values, fp: Values) -> Values:
        """D, vectorized."""
        return self.term.of(fn, fp, 0)

    def above(self, x: Side, y: Side) -> Values:
        """Upper bounds of ``D - A - B`` over boxes, (m,)."""
        out = np.full(len(x.first), np.inf)
        if self.term.bounded:
            most = self.term.above((x.first, x.last), (y.first, y.last), 0)
            out = most - x.least_lost - y.least_lost
        return out if self.curves is None else np.minimum(out, self._second_order(self.curves, x, y))

    def _second_order(self, curves: tuple[int, int], x: Side, y: Side) -> Values:
        corner = self(x.first, y.first)
        won = self._along(lambda fn: self(fn, y.first), curves[0], x, corner)
        won += self._along(lambda fp: self(x.first, fp), curves[1], y, corner)
        area = x.width * y.width
        return won - corner + np.where(area > 0, self._mixed(x, y), 0.0) * area

    def _along(self, f: object, curve: int, side: Side, start: Values) -> Values:
        """The maximum of ``f - A`` along one axis."""
        end, width = f(side.last), side.width  # type: ignore[operator]
        if curve >= 0:
            chord = (end - start) / np.maximum(width, 1.0)
            return side.most_won((start, end), (chord, chord))
        after = f(np.minimum(side.first + 1.0, side.last)) - start  # type: ignore[operator]
        before = end - f(np.maximum(side.last - 1.0, side.first))  # type: ignore[operator]
        # What is rounded in a slope grows with the width.
        rounded = 8.0 * EPS * width * np.maximum(np.abs(start), np.abs(end))
        return side.most_won((start, end), (after, before)) + rounded

    def _mixed(self, x: Side, y: Side) -> Values:
        """At least 0 and all mixed differences of each box.

        A quotient n / d of linear functions has the mixed derivative ``(2 d1 d2 n - (d2 n1 + d1 n2) d) / d^3``, whose
        numerator is linear, so that it is largest at a corner. A mixed difference is the mean of it over a cell.
        """
        if self.term.monge or self.quotient is None:
            return np.zeros(len(x.first))
        (_, n1, n2), (_, d1, d2) = (part[0] for part in self.quotient)
        top, bottom = np.full(len(x.first), 0.0), np.full(len(x.first), np.inf)
        for fn in (x.first, x.last):
            for fp in (y.first, y.last):
                n, d = (part[0, 0] + part[0, 1] * fn + part[0, 2] * fp for part in self.quotient)
                top = np.maximum(top, 2.0 * d1 * d2 * n - (d2 * n1 + d1 * n2) * d)
                bottom = np.minimum(bottom, d)
        return np.where(top > 0, top / np.maximum(bottom, 0.0) ** 3, 0.0)
