"""Thresholds of the columns of a label matrix for a loss of all its decisions as one set."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Ints, Values
from setwise.core.counts import Counts
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import THRESHOLDS_REFUSE
from setwise.core.structure import Structure
from setwise.decisions.columns import LARGEST_ROUNDS, Columns
from setwise.decisions.sweep import Falling, bound
from setwise.kernels.segments import running_sums
from setwise.kernels.thresholds import EQUAL

ROUNDING = 1e-15
"""The values of a sum over columns are exact up to this, relative to the largest of them."""

DIRECTIONS = 2.0 ** np.arange(-4, 5)
"""Costs of a miss against those of a false alarm, as shares of the rate at which both classes weigh the same."""


@final
@dataclass(frozen=True, eq=False)
class Tally:
    """A sum of mistakes along each column, (m,), and its values where none is predicted, (p,)."""

    along: Values
    start: Values

    @classmethod
    def of(cls, order: Falling, each: Values, missed: bool, alarms: bool) -> "Tally":
        """The sum of ``each`` (m,) over the positives not predicted, and over the negatives predicted."""
        found = np.where(order.labels, each if missed else 0.0, 0.0)
        wrong = np.where(order.labels, 0.0, each if alarms else 0.0)
        start = np.add.reduceat(np.append(found, 0.0), order.offsets[:-1]) * (np.diff(order.offsets) > 0)
        left = np.repeat(start, np.diff(order.offsets)) - running_sums(found, order.offsets)
        # A positive sum can't fall below 0; what is left of it is rounding.
        return cls(np.maximum(left, 0.0) + running_sums(wrong, order.offsets), start)


@final
@dataclass(frozen=True, eq=False)
class Pool:
    """``counts(fn, fp) + cost`` of the columns of a matrix, whose mistakes are summed.

    Parameters
    ----------
    order : the columns in falling order
    counts : a function of the sums of fn and fp over the columns, or None
    fn, fp, cost : the numbers, or areas, of false negatives and false positives, and the costs of mistakes
    """

    order: Falling
    counts: Counts | None
    fn: Tally
    fp: Tally
    cost: Tally

    @classmethod
    def of(cls, columns: Columns, loss: Loss) -> "Pool":
        """The loss of all decisions of the matrix as one set."""
        whole = Sets(columns.rows.labels, np.array([0, columns.rows.total], dtype=np.int64))
        structure = bound(loss, whole, "label_thresholds")
        counts, costs = _parts(structure)
        order, none = columns.order, np.zeros(len(columns.order.items))
        area = np.ones(len(none)) if counts is None or counts.areas is None else counts.areas[columns.places]
        cost = none if costs is None else costs[columns.places]
        tallies = Tally.of(order, area, True, False), Tally.of(order, area, False, True)
        return cls(order, counts, *tallies, Tally.of(order, cost, True, True))

    def value(self, cuts: Ints) -> float:
        """The loss at one cut of each column."""
        fn, fp, cost = (float(self.order.at(t.along, t.start, cuts).sum()) for t in (self.fn, self.fp, self.cost))
        return float(self._of(np.array([fn]), np.array([fp]), np.array([cost]))[0])

    def _of(self, fn: Values, fp: Values, cost: Values) -> Values:
        if self.counts is None:
            return cost
        # Rounded sums of areas may leave the range of the totals, outside of which the formula is not defined.
        return self.counts.of(np.clip(fn, 0.0, self.counts.P), np.clip(fp, 0.0, self.counts.N)) + cost

    def weighted(self, miss: float, alarm: float, cost: float) -> Ints:
        """The cut of each column that minimizes ``miss * fn + alarm * fp + cost * costs``, (p,)."""
        along, start = (
            miss * fn + alarm * fp + cost * paid
            for fn, fp, paid in zip(*((t.along, t.start) for t in (self.fn, self.fp, self.cost)), strict=True)
        )
        return self.order.best(along, start, ROUNDING)

    def column(self, cuts: Ints, c: int) -> int:
        """The best cut of one column while the others stay."""
        a, b = self.order.offsets[c], self.order.offsets[c + 1]
        along, start = [], []
        for t in (self.fn, self.fp, self.cost):
            here = self.order.at(t.along, t.start, cuts)
            others = here.sum() - here[c]
            along.append(others + t.along[a:b])
            start.append(np.array([others + t.start[c]]))
        return int(self.order.segment(c).best(self._of(*along), self._of(*start))[0])


def _parts(structure: Structure) -> tuple[Counts | None, Values | None]:
    """The function of counts and the costs that the loss is the sum of."""
    if structure.counts is not None and structure.counts.predicted is None:
        return structure.counts, None
    costs, rest = structure.split()
    if len(rest.terms) > 1 or not all(isinstance(t, Counts) and t.predicted is None for t in rest.terms):
        raise Refusal(
            f"average='micro' refuses {structure!r}: it is neither a function of counts nor a sum of costs. Use "
            "average='samples'.",
            THRESHOLDS_REFUSE,
        )
    return (rest.terms[0] if rest.terms else None), costs  # type: ignore[return-value]


def best_of_pool(columns: Columns, loss: Loss) -> tuple[Values, float, bool]:
    """The thresholds of least loss of all decisions as one set, this loss, and whether it is the least."""
    pool = Pool.of(columns, loss)
    counts = pool.counts
    if counts is None:
        cuts, exact = pool.weighted(0.0, 0.0, 1.0), True
    elif not counts.formulas and counts.linear is not None:
        cuts, exact = pool.weighted(counts.linear[0, 0], counts.linear[0, 1], 0.0), True
    elif counts.quotient is not None and not pool.cost.start.any() and not pool.cost.along.any():
        cuts, exact = _of_quotient(pool, counts.quotient[0][0], counts.quotient[1][0]), True
    else:
        cuts, exact = _one_by_one(pool, counts), columns.shape[1] == 1
    return columns.order.between(cuts), float(pool.value(cuts)), exact


def _of_quotient(pool: Pool, top: Values, bottom: Values) -> Ints:
    """The cuts that minimize a quotient of linear functions of the counts (Dinkelbach 1967)."""
    cuts = np.zeros(len(pool.fn.start), dtype=np.int64)
    # The denominator vanishes only without mistakes, which is then best: the loss increases.
    if bottom[0] <= 0.0:
        return cuts
    value = pool.value(cuts)
    while True:
        # All quotients are at least v where min (numerator - v denominator) is 0, and that is a sum over columns.
        found = pool.weighted(top[1] - value * bottom[1], top[2] - value * bottom[2], 0.0)
        lower = pool.value(found)
        if lower >= value:
            return found if lower == value else cuts
        cuts, value = found, lower


def _one_by_one(pool: Pool, counts: Counts) -> Ints:
    """Cuts that no change of a single column makes better, from the best weighting of misses and false alarms."""
    rate = max(float(counts.N[0]), 1.0) / max(float(counts.P[0]), 1.0)
    starts = [pool.weighted(rate * share, 1.0, 1.0) for share in DIRECTIONS]
    value, cuts = min(((pool.value(cuts), i) for i, cuts in enumerate(starts)))
    best = starts[cuts]
    for _ in range(LARGEST_ROUNDS):
        before = value
        for c in range(len(best)):
            changed = best.copy()
            changed[c] = pool.column(best, c)
            lower = pool.value(changed)
            if lower < value:
                best, value = changed, lower
        if value >= before - EQUAL * abs(before):
            break
    return best
