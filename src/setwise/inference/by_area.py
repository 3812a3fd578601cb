"""Losses of areas: the fractional relaxation above, rounding and local repair below (DD 4.1)."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Bools, Floats, Ints, Values
from setwise.core.counts import Counts
from setwise.core.inference import Inference, Maximizer, Solutions
from setwise.core.structure import Structure
from setwise.inference.binary import Reduced, unfit


@final
@dataclass(frozen=True)
class ByArea(Inference):
    """``max_A f(fn, fp, P, N) - m(A)`` with areas for counts; a bound and a labeling, exact where they meet.

    Where parts of decisions may be wrong, the best choice of an area takes the cheapest margins per area, so the
    maximum is one over (fn, fp). f is convex in fn and concave in fp: the best fn cuts no decision, and for each the
    best fp is found by a search: O(p log p) for a set, and at most one decision is cut. The labeling comes from
    rounding that one, then from flips of one decision while they help.
    """

    name: ClassVar[str] = "by_area"
    about: ClassVar[str] = "a relaxation of the areas, then rounding"
    approximate: ClassVar[bool] = True

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        why = unfit(self, structure, slack)
        if why is not None:
            return why
        if slack:
            return f"ByArea refuses slack rescaling of {structure!r}. Use Greedy."
        counts = structure.split()[1].counts
        if counts is None or counts.areas is None:
            return f"ByArea refuses {structure!r}: its decisions have no areas. Use CountSearch."
        if counts.quotient is None or (counts.quotient[1][:, 1] > 0).any() or (counts.quotient[1][:, 2] < 0).any():
            return f"ByArea refuses {structure!r}: it is not convex in fn and concave in fp. Use Greedy."
        return None

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return _ByArea(self, structure, slack)


@final
class _ByArea(Maximizer):
    def __init__(self, method: ByArea, structure: Structure, slack: bool) -> None:
        self.method, self.structure, self.slack = method, structure, slack
        self._reduced = Reduced.of(structure, slack)
        counts, sets = self._reduced.rest.counts, self._reduced.sets
        assert isinstance(counts, Counts)
        assert counts.areas is not None
        spans = zip(sets.offsets[:-1], sets.offsets[1:], strict=True)
        self._sets = [_AreaSet.of(counts, i, sets.truth[a:b], counts.areas[a:b]) for i, (a, b) in enumerate(spans)]

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        sets, margins = self._reduced.sets, self._reduced.margins(scores)
        mistakes, bounds = np.zeros(sets.total, dtype=bool), np.empty(len(sets))
        for i, one in enumerate(self._sets):
            span = slice(sets.offsets[i], sets.offsets[i + 1])
            bounds[i], mistakes[span] = one.maximize(margins[span])
        return self.solved(scores, self._reduced.labels(mistakes), bounds + self._reduced.lift(scores))


@final
@dataclass(frozen=True, eq=False)
class _AreaSet:
    """One set: its formula of (fn, fp), the coefficients (3,) of its quotient, its labels and areas."""

    formula: partial[Values]
    top: Values
    bottom: Values
    truth: Bools
    areas: Values

    @classmethod
    def of(cls, counts: Counts, i: int, truth: Bools, areas: Values) -> "_AreaSet":
        assert counts.quotient is not None
        return cls(partial(counts.of, at=i), counts.quotient[0][i], counts.quotient[1][i], truth, areas)

    def maximize(self, margins: Values) -> tuple[float, Bools]:
        """An upper bound and the mistakes found."""
        if self.bottom[0] == 0.0:
            return self._without_positives(margins)
        misses, alarms = (_SortedClass.of(np.flatnonzero(self.truth == c), margins, self.areas) for c in (True, False))
        bound, mistakes = self._relax_and_round(misses, alarms)
        return bound, self._repair(mistakes, margins)

    def _without_positives(self, margins: Values) -> tuple[float, Bools]:
        """The loss leaps at the first mistake and is flat beyond it: any mistake costs the same. Exact.

        The best mistakes have negative margins, or the one of least margin pays alone.
        """
        some = margins < 0
        some[margins.argmin()] = True
        fp = np.array([0.0, self.areas[some].sum()])
        values = self.formula(np.zeros(2), fp) - [0.0, margins[some].sum()]
        return float(values.max()), some if values[1] > values[0] else np.zeros(len(some), dtype=bool)

    def _relax_and_round(self, misses: "_SortedClass", alarms: "_SortedClass") -> tuple[float, Bools]:
        """The fractional maximum, and the mistakes of the best pair of whole prefixes next to it."""
        columns = self._best_columns(misses, alarms)
        after = np.minimum(columns + 1, len(alarms.price))
        best, at = -np.inf, (0, 0)
        for column in (columns, after):
            values = self.formula(misses.area, alarms.area[column]) - misses.cost - alarms.cost[column]
            k = int(values.argmax())
            if values[k] > best:
                best, at = float(values[k]), (k, int(column[k]))
        bound = best
        if len(alarms.price):
            # Inside the piece where the search ended, the slope of f meets the price of the piece.
            piece = np.minimum(columns, len(alarms.price) - 1)
            fp = self._meeting_point(misses.area, alarms.price[piece])
            fp = np.clip(fp, alarms.area[piece], alarms.area[piece + 1])
            cost = alarms.cost[piece] + (fp - alarms.area[piece]) * alarms.price[piece]
            bound = max(bound, float((self.formula(misses.area, fp) - misses.cost - cost).max()))
        mistakes = np.zeros(len(self.truth), dtype=bool)
        mistakes[misses.items[: at[0]]] = True
        mistakes[alarms.items[: at[1]]] = True
        return max(bound, best), mistakes

    def _best_columns(self, misses: "_SortedClass", alarms: "_SortedClass") -> Ints:
        """For each prefix of the positives the number of negatives wholly wrong at the best fp, by bisection."""
        low, high = np.zeros(len(misses.area), np.int64), np.full(len(misses.area), len(alarms.price))
        while (low < high).any():
            middle = (low + high) // 2
            at = np.minimum(middle, len(alarms.price) - 1)
            # The piece is passed wholly where the slope at its end still pays its price.
            pays = self._slope(misses.area, alarms.area[at + 1]) > alarms.price[at]
            low, high = np.where((low < high) & pays, middle + 1, low), np.where((low < high) & ~pays, middle, high)
        return low

    def _slope(self, fn: Values, fp: Values) -> Values:
        """The derivative of the quotient in fp."""
        top, bottom = self.top, self.bottom
        rest = bottom[0] + bottom[1] * fn + bottom[2] * fp
        rise = top[2] * (bottom[0] + bottom[1] * fn) - bottom[2] * (top[0] + top[1] * fn)
        return np.where(rest > 0, rise / np.where(rest > 0, rest, 1.0) ** 2, 0.0)

    def _meeting_point(self, fn: Values, price: Values) -> Values:
        """The fp at which the slope is ``price``; 0 or inf where there is none."""
        top, bottom = self.top, self.bottom
        rise = top[2] * (bottom[0] + bottom[1] * fn) - bottom[2] * (top[0] + top[1] * fn)
        positive = (price > 0) & (rise > 0) & (bottom[2] > 0)
        root = np.sqrt(np.where(positive, rise / np.where(positive, price, 1.0), 0.0))
        return np.where(positive, (root - bottom[0] - bottom[1] * fn) / np.where(bottom[2] > 0, bottom[2], 1.0), 0.0)

    def _repair(self, mistakes: Bools, margins: Values) -> Bools:
        """Flip the one decision that helps most, while one helps."""
        areas, truth = self.areas, self.truth
        P, N = areas[truth].sum(), areas[~truth].sum()
        for _ in range(4 * len(truth)):
            fn, fp = areas[mistakes & truth].sum(), areas[mistakes & ~truth].sum()
            sign = np.where(mistakes, -1.0, 1.0)
            after_fn = np.clip(np.where(truth, fn + sign * areas, fn), 0.0, P)
            after_fp = np.clip(np.where(truth, fp, fp + sign * areas), 0.0, N)
            rise = self.formula(after_fn, after_fp) - self.formula(np.asarray(fn), np.asarray(fp)) - sign * margins
            best = int(rise.argmax())
            if rise[best] <= 1e-13 * (1.0 + np.abs(margins).sum()):
                break
            mistakes = mistakes.copy()
            mistakes[best] ^= True
        return mistakes


@final
@dataclass(frozen=True, eq=False)
class _SortedClass:
    """The decisions of one class by rising margin per area: what an area of them costs at least is convex in the area.

    ``area``, ``cost`` (k+1,) are sums over the cheapest 0, 1, ..., k; ``price`` (k,) margins per area; ``items`` (k,)
    places.
    """

    area: Values
    cost: Values
    price: Values
    items: NDArray[np.int64]

    @classmethod
    def of(cls, items: Ints, margins: Values, areas: Values) -> "_SortedClass":
        """Sort ``items`` by margin per area."""
        order = items[np.argsort(margins[items] / areas[items], kind="stable")]
        area, cost = (np.concatenate(([0.0], np.cumsum(x[order]))) for x in (areas, margins))
        return cls(area, cost, margins[order] / areas[order], order)
