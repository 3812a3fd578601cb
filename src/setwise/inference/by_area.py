"""Losses of areas: the fractional relaxation above, rounding and local repair below (DD 4.1)."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from setwise.core.counts import CountBased
from setwise.core.inference import Inference, Problem, Solutions
from setwise.core.loss import Values
from setwise.core.sets import Bools


@final
@dataclass(frozen=True, eq=False)
class Side:
    """The decisions of one class by rising margin per area: what an area of them costs at least is convex in the area.

    ``area``, ``cost`` (k+1,) are sums over the cheapest 0, 1, ..., k; ``price`` (k,) margins per area; ``items`` (k,)
    places.
    """

    area: Values
    cost: Values
    price: Values
    items: NDArray[np.int64]

    @classmethod
    def of(cls, items: NDArray[np.int64], margins: Values, areas: Values) -> "Side":
        """Sort ``items`` by margin per area."""
        order = items[np.argsort(margins[items] / areas[items], kind="stable")]
        area, cost = (np.concatenate(([0.0], np.cumsum(x[order]))) for x in (areas, margins))
        return cls(area, cost, margins[order] / areas[order], order)


@final
@dataclass(frozen=True)
class ByArea(Inference):
    """``max_A f(fn, fp, P, N) - m(A)`` with areas for counts; a bound and a labeling, exact where they meet.

    Where parts of decisions may be wrong, the best choice of an area takes the cheapest margins per area, so the
    maximum is one over (fn, fp). f is convex in fn and concave in fp: the best fn cuts no decision, and for each the
    best fp is found by a search: O(p log p) for a set, and at most one decision is cut. The labeling comes from
    rounding that one, then from flips of one decision while they help.
    """

    def refuses(self, problem: Problem) -> str | None:
        bare = problem.bare()
        if bare.loss.by_area is None:
            return f"ByArea refuses {bare.loss!r}: its decisions have no areas. Use CountSearch."
        if problem.slack:
            return f"ByArea refuses slack rescaling of {bare.loss!r}. Use Greedy."
        inner, _ = bare.loss.by_area
        found = inner.quotient(np.ones(1), np.ones(1))
        if found is None or found[1][0, 1] > 0 or found[1][0, 2] < 0:
            return f"ByArea refuses {inner!r}: it is not convex in fn and concave in fp. Use Greedy."
        return None

    def maximize(self, problem: Problem) -> Solutions:
        bare, sets = problem.bare(), problem.sets
        loss, areas = bare.loss.by_area
        mistakes, bounds = np.zeros(sets.total, dtype=bool), np.empty(len(sets))
        for i, (a, b) in enumerate(zip(sets.offsets[:-1], sets.offsets[1:], strict=True)):
            labels, margins = sets.labels[a:b], bare.margins[a:b]
            sides = [Side.of(np.flatnonzero(labels == c), margins, areas) for c in (True, False)]
            if not labels.any() and _jumps(loss, areas.sum(keepdims=True)):
                bounds[i], mistakes[a:b] = _without_positives(loss, margins, areas)
                continue
            bounds[i], found = _relax_and_round(loss, *sides)
            mistakes[a:b] = _repair(loss, found, labels, margins, areas)
        return problem.solved(mistakes, bounds)


def _jumps(loss: CountBased, N: Values) -> bool:
    """Whether the loss of a set without positives leaps at the first mistake, and is flat beyond it."""
    found = loss.quotient(np.zeros(1), N)
    return found is None or bool(found[1][0, 0] == 0)


def _without_positives(loss: CountBased, margins: Values, areas: Values) -> tuple[float, Bools]:
    """Any mistake costs the same: the best ones have negative margins, or the one of least margin pays alone. Exact."""
    some = margins < 0
    some[margins.argmin()] = True
    P, N = np.zeros(1), areas.sum(keepdims=True)
    values = loss.of_counts(P, np.array([0.0, areas[some].sum()]), P, N) - [0.0, margins[some].sum()]
    return float(values.max()), some if values[1] > values[0] else np.zeros(len(some), dtype=bool)


def _relax_and_round(loss: CountBased, wrong: Side, alarm: Side) -> tuple[float, Bools]:
    """The fractional maximum, and the mistakes of the best pair of whole prefixes next to it."""
    P, N = wrong.area[-1:], alarm.area[-1:]
    columns = _best_columns(loss, wrong, alarm)
    after = np.minimum(columns + 1, len(alarm.price))
    best, at = -np.inf, (0, 0)
    for column in (columns, after):
        values = loss.of_counts(wrong.area, alarm.area[column], P, N) - wrong.cost - alarm.cost[column]
        k = int(values.argmax())
        if values[k] > best:
            best, at = float(values[k]), (k, int(column[k]))
    bound = best
    if len(alarm.price):
        # Inside the piece where the search ended, the slope of f meets the price of the piece.
        top, bottom = (c[0] for c in loss.quotient(P, N))
        piece = np.minimum(columns, len(alarm.price) - 1)
        fp = _meeting_point(top, bottom, wrong.area, alarm.price[piece])
        fp = np.clip(fp, alarm.area[piece], alarm.area[piece + 1])
        cost = alarm.cost[piece] + (fp - alarm.area[piece]) * alarm.price[piece]
        bound = max(bound, float((loss.of_counts(wrong.area, fp, P, N) - wrong.cost - cost).max()))
    mistakes = np.zeros(len(wrong.items) + len(alarm.items), dtype=bool)
    mistakes[wrong.items[: at[0]]] = True
    mistakes[alarm.items[: at[1]]] = True
    return max(bound, best), mistakes


def _best_columns(loss: CountBased, wrong: Side, alarm: Side) -> NDArray[np.int64]:
    """For each prefix of the positives the number of negatives that are wholly wrong at the best fp, by bisection."""
    top, bottom = (c[0] for c in loss.quotient(wrong.area[-1:], alarm.area[-1:]))
    low, high = np.zeros(len(wrong.area), np.int64), np.full(len(wrong.area), len(alarm.price))
    while (low < high).any():
        middle = (low + high) // 2
        at = np.minimum(middle, len(alarm.price) - 1)
        # The piece is passed wholly where the slope at its end still pays its price.
        pays = _slope(top, bottom, wrong.area, alarm.area[at + 1]) > alarm.price[at]
        low, high = np.where((low < high) & pays, middle + 1, low), np.where((low < high) & ~pays, middle, high)
    return low


def _slope(top: Values, bottom: Values, fn: Values, fp: Values) -> Values:
    """The derivative of the quotient in fp."""
    rest = bottom[0] + bottom[1] * fn + bottom[2] * fp
    rise = top[2] * (bottom[0] + bottom[1] * fn) - bottom[2] * (top[0] + top[1] * fn)
    return np.where(rest > 0, rise / np.where(rest > 0, rest, 1.0) ** 2, 0.0)


def _meeting_point(top: Values, bottom: Values, fn: Values, price: Values) -> Values:
    """The fp at which the slope is ``price``; 0 or inf where there is none."""
    rise = top[2] * (bottom[0] + bottom[1] * fn) - bottom[2] * (top[0] + top[1] * fn)
    positive = (price > 0) & (rise > 0) & (bottom[2] > 0)
    root = np.sqrt(np.where(positive, rise / np.where(positive, price, 1.0), 0.0))
    return np.where(positive, (root - bottom[0] - bottom[1] * fn) / np.where(bottom[2] > 0, bottom[2], 1.0), 0.0)


def _repair(loss: CountBased, mistakes: Bools, labels: Bools, margins: Values, areas: Values) -> Bools:
    """Flip the one decision that helps most, while one helps."""
    P, N = areas[labels].sum(), areas[~labels].sum()
    for _ in range(4 * len(labels)):
        fn, fp = areas[mistakes & labels].sum(), areas[mistakes & ~labels].sum()
        sign = np.where(mistakes, -1.0, 1.0)
        after_fn = np.clip(np.where(labels, fn + sign * areas, fn), 0.0, P)
        after_fp = np.clip(np.where(labels, fp, fp + sign * areas), 0.0, N)
        rise = (
            loss.of_counts(after_fn, after_fp, P, N)
            - loss.of_counts(np.asarray(fn), np.asarray(fp), P, N)
            - sign * margins
        )
        best = int(rise.argmax())
        if rise[best] <= 1e-13 * (1.0 + np.abs(margins).sum()):
            break
        mistakes = mistakes.copy()
        mistakes[best] ^= True
    return mistakes
