"""Decisions for small sets, from the table of all values of a function of counts."""

from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.checks import Bools, Ints, Values
from setwise.decisions.formula import Formula
from setwise.decisions.rule import Decided, Rule, falling, of_first
from setwise.kernels.poisson_binomial import expected_by_table, least_by_table
from setwise.kernels.threads import available, map_units

SMALL = 128
"""Tables are made for sets of at most this number of decisions; they have about p^3 / 6 cells."""


@final
@dataclass(frozen=True, eq=False)
class ByTable(Rule):
    """``min_k sum_(t, f) Pr(tp = t) Pr(fn = f) f(k, t, f)``, where the k most probable decisions are predicted.

    O(p^3 / 6) for a set. tp and fn are the numbers of positives among the predicted decisions and among the others.
    """

    formula: Formula

    @cached_property
    def _table(self) -> tuple[Values, Ints]:
        """The values at all (k, tp, fn), flat, and where those of each k begin."""
        p = self.formula.size
        low, high = self.formula.numbers
        cells: list[Values] = []
        for k in range(p + 1):
            shape = (k + 1, p - k + 1)
            # Other numbers are never predicted, so the loss need not be defined there.
            tp, fn = (x.astype(np.float64) for x in np.ogrid[: shape[0], : shape[1]])
            inside = low <= k <= high
            cells.append(np.broadcast_to(self.formula.at(k, tp, fn), shape) if inside else np.full(shape, np.inf))
        starts = np.concatenate(([0], np.cumsum([cell.size for cell in cells[:-1]])))
        return np.concatenate([cell.ravel() for cell in cells]), starts

    def misses_cost(self) -> bool:
        """Whether at each k and P the loss grows with fn, so that the k most probable decisions are the best k."""
        table, starts = self._table
        p, (low, high) = self.formula.size, self.formula.numbers
        slack = 1e-12 * float(np.abs(table[np.isfinite(table)]).max())
        for k in range(low, high + 1):
            cell = table[starts[k] : starts[k] + (k + 1) * (p - k + 1)].reshape(k + 1, p - k + 1)
            # From (tp, fn) to (tp - 1, fn + 1) the number of positives does not change.
            if (cell[:-1, 1:] < cell[1:, :-1] - slack).any():
                return False
        return True

    def affine(self) -> bool:
        """Whether at each k and P the loss is affine in tp."""
        table, starts = self._table
        p, (low, high) = self.formula.size, self.formula.numbers
        slack = 1e-11 * float(np.abs(table[np.isfinite(table)]).max())
        for k in range(low, high + 1):
            cell = table[starts[k] : starts[k] + (k + 1) * (p - k + 1)].reshape(k + 1, p - k + 1)
            # From tp - 1 to tp and to tp + 1, with as many positives in all.
            if (np.abs(cell[:-2, 2:] - 2.0 * cell[1:-1, 1:-1] + cell[2:, :-2]) > slack).any():
                return False
        return True

    def decide(self, q: Values) -> Decided:
        order, ordered = falling(q)
        table, starts = self._table
        values, sizes = np.empty(len(q)), np.empty(len(q), dtype=np.int64)
        low, high = self.formula.numbers

        def fill(part: slice) -> None:
            least_by_table(ordered[part], table, starts, low, high, sizes[part], values[part])

        map_units(fill, _blocks(len(q)))
        return Decided(of_first(order, sizes), values, values)

    def expect(self, q: Values, labels: Bools) -> Values:
        self.formula.check_labels(labels)
        values = np.empty(len(q))
        expected_by_table(q, labels, *self._table, values)
        return values


def _blocks(n: int) -> list[slice]:
    """The rows in as many blocks as there are threads."""
    edges = np.linspace(0, n, available() + 1).astype(int)
    return [slice(a, b) for a, b in pairwise(edges) if b > a]
