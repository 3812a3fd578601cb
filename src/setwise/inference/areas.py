"""Losses of areas: a fractional relaxation gives the bound, rounding and local search the labeling (DD 4.1)."""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, final

import numpy as np

from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Floats, Ints, Values
from setwise.core.counts import Counts
from setwise.core.inference import Inference, Maximizer, Solutions, Takes
from setwise.inference.independent_decisions import SETS, ReducedProblem


@final
@dataclass(frozen=True)
class ByArea(Inference):
    """``max_A f(fn, fp, P, N) - m(A)`` with areas in place of counts; a bound and a labeling, exact where they meet.

    In the relaxation a part of a decision may be wrong. Then the best choice of an area takes the decisions of least
    margin per area, so the maximum is one over (fn, fp). As f is convex in fn and concave in fp, the best fn cuts no
    decision in parts, and the best fp for each fn is found by bisection: O(p log p) for a set, and at most one decision
    is cut. The labeling comes from rounding that one, then from flips of single decisions while they help.

    Source: own, for the losses of areas of DD 4.1.

    Raises
    ------
    Refusal : from :meth:`prepare`, for losses that are no quotients of areas, or not convex in fn and concave in fp,
        and for slack rescaling

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import ByArea
    >>> from setwise.losses import AreaWeightedLoss, Jaccard
    >>> loss = AreaWeightedLoss(Jaccard(), [4.0, 1.0, 3.0])
    >>> found = ByArea().prepare(loss.bind(Sets.single([1, 0, 0]))).maximize([2.0, -0.5, -0.1])
    >>> print(found.labels, found.values.round(3), found.exact)  # areas: 3 / (4 + 3) - 0.1
    [ True False  True] [0.329] [ True]
    """

    name: ClassVar[str] = "by_area"
    about: ClassVar[str] = "a relaxation of the areas, then rounding"
    approximate: ClassVar[bool] = True
    takes: ClassVar[Takes] = replace(SETS, slack=" of {loss!r}. Use GreedySearch.")

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        counts = bound_loss.split()[1].counts
        if counts is None or counts.areas is None:
            return f"ByArea refuses {bound_loss!r}: its decisions have no areas. Use CountSearch."
        if counts.quotient is None or (counts.quotient[1][:, 1] > 0).any() or (counts.quotient[1][:, 2] < 0).any():
            return f"ByArea refuses {bound_loss!r}: it is not convex in fn and concave in fp. Use GreedySearch."
        return None

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _ByArea(self, bound_loss, slack)


@final
class _ByArea(Maximizer):
    def __init__(self, method: ByArea, bound_loss: BoundLoss, slack: bool) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, slack
        self._reduced = ReducedProblem.of(bound_loss, slack)
        counts, sets = self._reduced.rest.counts, self._reduced.sets
        assert isinstance(counts, Counts)
        assert counts.areas is not None
        assert counts.quotient is not None
        formulas = (partial(counts.of, at=i) for i in range(len(sets)))
        truths, areas = np.split(sets.truth, sets.offsets[1:-1]), np.split(counts.areas, sets.offsets[1:-1])
        self._sets = [_AreaSet(*one) for one in zip(formulas, *counts.quotient, truths, areas, strict=True)]

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        sets, margins = self._reduced.sets, self._reduced.margins(scores)
        mistakes, bounds = np.zeros(sets.total, dtype=bool), np.empty(len(sets))
        for i, one in enumerate(self._sets):
            span = slice(sets.offsets[i], sets.offsets[i + 1])
            bounds[i], mistakes[span] = one.maximize(margins[span])
        return self.solved(scores, self._reduced.labels(mistakes), bounds + self._reduced.target_shift(scores))


@final
@dataclass(frozen=True, eq=False)
class _AreaSet:
    """One set: its formula of (fn, fp), the coefficients (3,) of its quotient, its true labels and its areas."""

    formula: partial[Values]
    top: Values
    bottom: Values
    truth: Bools
    areas: Values

    def maximize(self, margins: Values) -> tuple[float, Bools]:
        """Returns an upper bound and the mistakes that were found."""
        # The denominator b0 of the quotient is 0 at (0, 0) only where the set has no positives.
        if self.bottom[0] == 0.0:
            return self._without_positives(margins)
        misses, alarms = (_SortedClass(np.flatnonzero(self.truth == c), margins, self.areas) for c in (True, False))
        bound, mistakes = self._relax_and_round(misses, alarms)
        return bound, self._repair(mistakes, margins)

    def _without_positives(self, margins: Values) -> tuple[float, Bools]:
        """Returns the exact maximum of a set without positives, where one mistake costs as much as many.

        The best mistakes are all those with negative margins, or else the single one of least margin.
        """
        wrong = margins < 0
        wrong[margins.argmin()] = True
        fp = np.array([0.0, self.areas[wrong].sum()])
        values = self.formula(np.zeros(2), fp) - [0.0, margins[wrong].sum()]
        return float(values.max()), wrong if values[1] > values[0] else np.zeros(len(wrong), dtype=bool)

    def _relax_and_round(self, misses: "_SortedClass", alarms: "_SortedClass") -> tuple[float, Bools]:
        """Returns the fractional maximum, and the mistakes of the best pair of whole prefixes next to it."""
        # For each fn the best whole prefix of the negatives is the one where the search ended, or one more.
        columns = self._best_columns(misses, alarms)
        after = np.minimum(columns + 1, len(alarms.price))
        best, prefixes = -np.inf, (0, 0)
        for column in (columns, after):
            values = self.formula(misses.area, alarms.area[column]) - misses.cost - alarms.cost[column]
            row = int(values.argmax())
            if values[row] > best:
                best, prefixes = float(values[row]), (row, int(column[row]))
        bound = best
        if len(alarms.price):
            # Inside the piece where the search ended, the maximum is where the slope of f equals the price.
            piece = np.minimum(columns, len(alarms.price) - 1)
            fp = self._meeting_point(misses.area, alarms.price[piece])
            fp = np.clip(fp, alarms.area[piece], alarms.area[piece + 1])
            cost = alarms.cost[piece] + (fp - alarms.area[piece]) * alarms.price[piece]
            bound = max(bound, float((self.formula(misses.area, fp) - misses.cost - cost).max()))
        mistakes = np.zeros(len(self.truth), dtype=bool)
        mistakes[misses.items[: prefixes[0]]] = True
        mistakes[alarms.items[: prefixes[1]]] = True
        return max(bound, best), mistakes

    def _best_columns(self, misses: "_SortedClass", alarms: "_SortedClass") -> Ints:
        """Returns the number of negatives that are wholly wrong at the best fp, for each prefix of the positives."""
        # Bisection, for all prefixes at once: the slope of f falls with fp, and prices rise.
        low, high = np.zeros(len(misses.area), np.int64), np.full(len(misses.area), len(alarms.price))
        while (low < high).any():
            middle = (low + high) // 2
            at = np.minimum(middle, len(alarms.price) - 1)
            # The piece is passed wholly where the slope at its end still pays its price.
            pays = self._slope(misses.area, alarms.area[at + 1]) > alarms.price[at]
            low, high = np.where((low < high) & pays, middle + 1, low), np.where((low < high) & ~pays, middle, high)
        return low

    def _slope(self, fn: Values, fp: Values) -> Values:
        """Returns the derivative of the quotient in fp."""
        top, bottom = self.top, self.bottom
        denominator = bottom[0] + bottom[1] * fn + bottom[2] * fp
        numerator = top[2] * (bottom[0] + bottom[1] * fn) - bottom[2] * (top[0] + top[1] * fn)
        return np.where(denominator > 0, numerator / np.where(denominator > 0, denominator, 1.0) ** 2, 0.0)

    def _meeting_point(self, fn: Values, price: Values) -> Values:
        """Returns the fp at which the slope is ``price``, and 0 where there is none; the caller clips it."""
        top, bottom = self.top, self.bottom
        numerator = top[2] * (bottom[0] + bottom[1] * fn) - bottom[2] * (top[0] + top[1] * fn)
        positive = (price > 0) & (numerator > 0) & (bottom[2] > 0)
        # The slope is numerator / denominator^2, and the denominator is linear in fp.
        root = np.sqrt(np.where(positive, numerator / np.where(positive, price, 1.0), 0.0))
        return np.where(positive, (root - bottom[0] - bottom[1] * fn) / np.where(bottom[2] > 0, bottom[2], 1.0), 0.0)

    def _repair(self, mistakes: Bools, margins: Values) -> Bools:
        """Flips the decision that helps most, while one helps; O(p) for a flip."""
        areas, truth = self.areas, self.truth
        P, N = areas[truth].sum(), areas[~truth].sum()
        for _ in range(4 * len(truth)):
            fn, fp = areas[mistakes & truth].sum(), areas[mistakes & ~truth].sum()
            # What each flip does: a decision enters the mistakes (+1) or leaves them (-1).
            sign = np.where(mistakes, -1.0, 1.0)
            after_fn = np.clip(np.where(truth, fn + sign * areas, fn), 0.0, P)
            after_fp = np.clip(np.where(truth, fp, fp + sign * areas), 0.0, N)
            rise = self.formula(after_fn, after_fp) - self.formula(np.asarray(fn), np.asarray(fp)) - sign * margins
            best = int(rise.argmax())
            # A rise within rounding could make the flips go round in a circle.
            if rise[best] <= 1e-13 * (1.0 + np.abs(margins).sum()):
                break
            mistakes = mistakes.copy()
            mistakes[best] ^= True
        return mistakes


@final
class _SortedClass:
    """The decisions of one class by rising margin per area, so that the least cost of an area is convex in the area.

    ``area`` and ``cost`` (k+1,) are the sums of areas and margins over the first 0, 1, ..., k decisions, ``price`` (k,)
    their margins per area, and ``items`` (k,) their places in the set.
    """

    def __init__(self, items: Ints, margins: Values, areas: Values) -> None:
        self.items = order = items[np.argsort(margins[items] / areas[items], kind="stable")]
        self.area, self.cost = (np.concatenate(([0.0], np.cumsum(x[order]))) for x in (areas, margins))
        self.price: Values = margins[order] / areas[order]
